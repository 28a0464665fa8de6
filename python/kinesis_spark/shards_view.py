"""The shards of streams, as a table and as a picture: parents, times, hash keys, and where a query is."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from kinesis_spark._jvm import call, jvm_of, scala_session
from kinesis_spark._kinds import EPOCH
from kinesis_spark._signature import takes_fields_of
from kinesis_spark.errors import InvalidOptionError
from kinesis_spark.options import KinesisOptions, SourceArguments, source_options
from kinesis_spark.positions import named, offsets_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from typing_extensions import Unpack

_SCHEMA = (
    "streamArn string, streamName string, shardId string, parents array<string>, startingHashKey string, "
    "endingHashKey string, open boolean, openedAt timestamp, closedAt timestamp, position string, "
    "millisBehindLatest bigint"
)
_KEYS = 2**128
# Light enough for the dark text in them, whatever style the reader has chosen for the figure.
_OPEN, _CLOSED, _TEXT = "#8fd19e", "#d5d8dc", "#1f2328"


@takes_fields_of(KinesisOptions)
def shards(  # noqa: PLR0913  (each is one thing to ask by, and at most one of the three is given)
    spark: SparkSession,
    options: KinesisOptions | None = None,
    *,
    query: StreamingQuery | None = None,
    checkpoint: str | PurePath | None = None,
    offset: str | None = None,
    source: int | str | None = None,
    **arguments: Unpack[SourceArguments],
) -> DataFrame:
    """The shards that Kinesis still lists of some streams, as they are now; a row for each.

        shards(spark, stream_name="orders", query=query).show()

    With a query, its checkpoint or an offset, the rows have its position in each shard, and how far that is behind the
    newest record; this takes one of the five reads a second of the shard. Without, nothing is read.

    The columns are `streamArn`, `streamName`, `shardId`, `parents` (none, one after a split, two after a merge; a
    parent past retention is not listed itself), `startingHashKey` and `endingHashKey` (numbers of 128 bits, as
    texts), `open`,
    `openedAt` and `closedAt` (to the second, or coarser after more than 30 reshards; null for what was open already
    when retention begins, or still is),
    `position` (`TRIM_HORIZON`, `AT_TIMESTAMP:<ms>`, a sequence number, or `SHARD_END`; null where the query is not in
    the shard) and `millisBehindLatest`.

    Args:
        spark: a session with the connector on its class path; not one of Spark Connect, whose JVM is out of reach.
        options: which streams, where, in whose name.
        query: a running query that reads the streams.
        checkpoint: the checkpoint location of a stopped query, whose last committed batch counts.
        offset: an offset, such as `positions.after_progress(progress).json`.
        source: which of the query's sources, by its number from 0, or with `checkpoint` by its name if it has one
            (`DataStreamReader.name`); needed only if several of them read one of the streams, as in a self-join.
        arguments: the options by keyword; beside `options` they replace some of them.

    Raises:
        InvalidOptionError: if an option can't be right, or it isn't clear which source of the query is meant.
        JarMissingError: if the session's JVM doesn't have the connector.
        KinesisCallError: if there is no such stream, Kinesis refuses to list it, or the checkpoint is none.
        SparkConnectError: if the session has no JVM in this process.

    https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ListShards.html
    """
    if sum(given is not None for given in (query, checkpoint, offset)) > 1:
        raise InvalidOptionError("query, checkpoint and offset: give one of them at most.")
    chosen = source_options(options, arguments)
    jvm = jvm_of(spark, "Shards", "Use a classic session or the AWS CLI (`aws kinesis list-shards`).")
    front = jvm.io.github.kinesisspark.StreamShardsJson
    handed = chosen.to_dict()
    if checkpoint is not None:
        found = call(front.listFrom, scala_session(spark), handed, str(checkpoint), named(source))
    else:
        at = offset if query is None else _offset_of(query, chosen, source)
        found = call(front.list, handed, at or "")
    return spark.createDataFrame([_row(shard) for shard in json.loads(found)], _SCHEMA)


def plot_shards(frame: DataFrame, axes: Axes | None = None) -> Axes:
    """Draw the shards of one stream over time: each is a rectangle, as high as its share of the hash keys.

    A split is a rectangle followed by two, a merge two followed by one. Open shards are green and reach the right
    edge, which is the time of drawing; how far a query is behind is written into them.

    Args:
        frame: as `shards` gives it, of one stream.
        axes: where to draw; None for a new figure.

    Raises:
        ModuleNotFoundError: without matplotlib (`pip install matplotlib`).
        ValueError: if the frame holds no shard, or those of several streams.
    """
    from matplotlib import pyplot as plt
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    rows = sorted(frame.collect(), key=lambda row: row.shardId)
    streams = {row.streamArn for row in rows}
    if len(streams) != 1:
        raise ValueError(f"The picture is of one stream; the frame holds the shards of {len(streams)}.")
    where: Any = axes if axes is not None else plt.subplots(figsize=(10, 5), layout="constrained")[1]
    now = datetime.now()  # noqa: DTZ005  (Spark gives timestamps in local time, without a zone)
    known = [time for row in rows for time in (row.openedAt, row.closedAt) if time is not None]
    oldest = min(known, default=now)
    start = oldest - max((now - oldest) * 0.1, timedelta(seconds=1))
    for row in rows:
        left, right = row.openedAt or start, row.closedAt or now
        low, high = int(row.startingHashKey) / _KEYS, (int(row.endingHashKey) + 1) / _KEYS
        where.barh(
            y=low,
            left=left,
            width=right - left,
            height=high - low,
            align="edge",
            color=_OPEN if row.open else _CLOSED,
            edgecolor="white",
        )
        middle = left + (right - left) / 2, (low + high) / 2
        where.text(*middle, _label(row), ha="center", va="center", fontsize="small", color=_TEXT)
    dates = AutoDateLocator()  # type: ignore[no-untyped-call]
    where.xaxis.set_major_locator(dates)
    where.xaxis.set_major_formatter(ConciseDateFormatter(dates))  # type: ignore[no-untyped-call]
    where.set_xlim(start, now)
    where.set_ylim(0, 1)
    where.set_ylabel("share of the hash keys")
    where.set_title(f"Shards of {rows[0].streamName}")
    drawn: Axes = where
    return drawn


def _offset_of(query: StreamingQuery, options: KinesisOptions, source: int | str | None) -> str:
    """Where a query is in the streams of some options, as an offset; empty if it has had no batch yet."""
    ends = offsets_of(query.lastProgress)
    if source is not None:
        # Spark's progress has the sources' numbers, and not their names.
        if isinstance(source, str) or (query.lastProgress and source not in ends):
            raise InvalidOptionError(
                f"source={source!r} is not valid: the query's sources of Kinesis are {sorted(ends) or 'none'}"
            )
        return ends.get(source, "")
    wanted = {name for given in (options.stream_name, options.stream_arn) for name in _names(given)}
    streams: dict[str, Any] = {}
    version: Any = None
    for end in ends.values():
        offset = json.loads(end)
        version = offset["version"]
        read = {arn: at for arn, at in offset["streams"].items() if wanted & {arn, arn.rpartition("/")[2]}}
        twice = sorted(streams.keys() & read.keys())
        if twice:
            raise InvalidOptionError(
                f"Several sources of the query read {', '.join(twice)}: name one of them by source=, of {sorted(ends)}"
            )
        streams.update(read)
    return json.dumps({"version": version, "streams": streams}) if streams else ""


def _names(given: Any) -> tuple[str, ...]:  # noqa: ANN401  (one name, several, or none)
    return (given,) if isinstance(given, str) else tuple(given or ())


def _row(shard: dict[str, Any]) -> tuple[Any, ...]:
    names = ("streamArn", "streamName", "shardId", "parents", "startingHashKey", "endingHashKey", "open")
    times = (_time(shard[name]) for name in ("openedMillis", "closedMillis"))
    behind = shard["millisBehind"]
    return (*(shard[n] for n in names), *times, shard["position"], None if behind is None else int(behind))


def _time(millis: float | None) -> datetime | None:
    return None if millis is None else EPOCH + timedelta(milliseconds=millis)


def _label(row: Any) -> str:  # noqa: ANN401  (a Row's fields are named at runtime)
    name = str(row.shardId).rpartition("-")[2].lstrip("0") or "0"
    return (
        name
        if row.millisBehindLatest is None or not row.open
        else f"{name}\n{row.millisBehindLatest / 1000:.0f} s behind"
    )


__all__ = ["plot_shards", "shards"]
