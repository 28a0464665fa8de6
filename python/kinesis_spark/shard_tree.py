"""The shards of streams, as a table and as a picture: who descends from whom, since when, and where a query is."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from kinesis_spark._front import call, error_of, jvm_of
from kinesis_spark.errors import ShardListError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from kinesis_spark.options import KinesisOptions

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SCHEMA = (
    "streamArn string, streamName string, shardId string, parents array<string>, startingHashKey string, "
    "endingHashKey string, open boolean, openedAt timestamp, closedAt timestamp, position string, "
    "millisBehindLatest bigint"
)
_KEYS = 2**128


def shards(
    spark: SparkSession, options: KinesisOptions, offset: StreamingQuery | str | PurePath | None = None
) -> DataFrame:
    """The shards that Kinesis still lists of the streams of some options, as they are now; a row for each.

    With a query (or its checkpoint, or an offset) it tells where that is in each shard, and how far behind the newest
    record; this takes one of the five reads a second of the shard. Without, nothing is read.

    The columns are `streamArn`, `streamName`, `shardId`, `parents` (none, one after a split, two after a merge; a
    parent past retention is not listed itself), `startingHashKey` and `endingHashKey` (numbers of 128 bits, as
    texts), `open`,
    `openedAt` and `closedAt` (to the second; null for what was open already when retention begins, or still is),
    `position` (`TRIM_HORIZON`, `AT_TIMESTAMP:<ms>`, a sequence number, or `SHARD_END`; null where the query is not in
    the shard) and `millisBehindLatest`.

    Args:
        spark: a session with the connector on its class path; not one of Spark Connect, whose JVM is out of reach.
        options: which streams, where, in whose name.
        offset: a running query that reads the streams; the checkpoint location of a stopped one, whose last committed
            batch counts; or an offset, as a query's progress tells it (`sources[0].endOffset`, a text that begins
            with `{`).

    Raises:
        InvalidOptionError: if an option can't be right.
        JarMissingError: if the session's JVM doesn't have the connector, or can't be reached.
        ShardListError: if there is no such stream, Kinesis refuses to tell, or the checkpoint is none.

    https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ListShards.html
    """
    from py4j.protocol import Py4JJavaError

    jvm = jvm_of(spark, "Shards", "Use a classic session or the AWS CLI (`aws kinesis list-shards`).")
    front = jvm.io.github.kinesisspark.StreamShardsJson
    try:
        found = _list(front, dict(options.to_dict()), offset)
    except Py4JJavaError as failed:
        raise ShardListError(*error_of(failed.java_exception)) from failed
    return spark.createDataFrame([_row(shard) for shard in found], _SCHEMA)


def plot_shards(frame: DataFrame, axes: Axes | None = None) -> Axes:
    """Draw the shards of one stream over time: each is a rectangle, as high as its share of the hash keys.

    A split is a rectangle followed by two, a merge two followed by one. Open shards are green and go on to the right
    edge, which is the time of drawing; what a query is behind is written into them.

    Args:
        frame: as `shards` gives it, of one stream.
        axes: where to draw; None for a new figure.

    Raises:
        ModuleNotFoundError: without matplotlib (`pip install kinesis-spark[plot]`).
        ValueError: if the frame holds no shard, or those of several streams.
    """
    from matplotlib import pyplot as plt

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
            color="#8fd19e" if row.open else "#d5d8dc",
            edgecolor="white",
        )
        where.text(left + (right - left) / 2, (low + high) / 2, _label(row), ha="center", va="center", fontsize="small")
    where.xaxis_date()
    where.set_xlim(start, now)
    where.set_ylim(0, 1)
    where.set_ylabel("share of the hash keys")
    where.set_title(f"Shards of {rows[0].streamName}")
    drawn: Axes = where
    return drawn


def _list(front: Any, options: dict[str, str], where: StreamingQuery | str | PurePath | None) -> Any:  # noqa: ANN401
    if where is None:
        return call(front.list, options, "")
    if not isinstance(where, str | PurePath):
        return call(front.list, options, _newest_offset(where))
    text = str(where)
    return call(front.list if text.startswith("{") else front.listFrom, options, text)


def _newest_offset(query: StreamingQuery) -> str:
    progress: Any = query.lastProgress
    # A query over several sources has one offset of ours at least, or none yet.
    ends = [source["endOffset"] for source in progress["sources"]] if progress else []
    return next((end for end in ends if end and '"streams"' in end), "")


def _row(shard: dict[str, Any]) -> tuple[Any, ...]:
    names = ("streamArn", "streamName", "shardId", "parents", "startingHashKey", "endingHashKey", "open")
    times = (_time(shard[name]) for name in ("openedMillis", "closedMillis"))
    behind = shard["millisBehind"]
    return (*(shard[n] for n in names), *times, shard["position"], None if behind is None else int(behind))


def _time(millis: float | None) -> datetime | None:
    return None if millis is None else _EPOCH + timedelta(milliseconds=millis)


def _label(row: Any) -> str:  # noqa: ANN401  (a Row's fields are named at runtime)
    name = str(row.shardId).rpartition("-")[2].lstrip("0") or "0"
    return (
        name
        if row.millisBehindLatest is None or not row.open
        else f"{name}\n{row.millisBehindLatest / 1000:.0f} s behind"
    )


__all__ = ["plot_shards", "shards"]
