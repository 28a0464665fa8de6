"""Exact places in the shards of streams: to hand over from a batch to a stream, or to read again what a query read.

What is before positions and what comes from them on are all of a stream, and no record is in both. They are found in a
stream (`latest`, `at`), in a query's checkpoint or progress, or written by hand (`of`, `after_number`, `at_number`),
and go into `KinesisOptions.starting_position` and `ending_position`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from kinesis_spark._jvm import call, jvm_of, scala_session
from kinesis_spark._kinds import EPOCH, MILLISECOND, MOST_LONG, count, require
from kinesis_spark._signature import takes_fields_of
from kinesis_spark.errors import InvalidOptionError
from kinesis_spark.options import KinesisOptions, SourceArguments, source_options
from kinesis_spark.position import Position, Positions, is_json_object

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from typing_extensions import Unpack

_BATCH = count(least=0, most=MOST_LONG)
_INSTEAD = "Use a classic session, or write the positions by hand (positions.of)."


@takes_fields_of(KinesisOptions)
def latest(
    spark: SparkSession, options: KinesisOptions | None = None, **arguments: Unpack[SourceArguments]
) -> Positions:
    """After the newest record of each shard: what was in the streams before the call is before them.

    Args:
        spark: a session with the connector on its class path; not one of Spark Connect, whose JVM is out of reach.
        options: which streams, where, in whose name; other options are ignored.
        arguments: the same by keyword; beside `options` they replace some of them.

    Raises:
        InvalidOptionError: if an option can't be right.
        JarMissingError: if the session's JVM doesn't have the connector.
        KinesisCallError: if there is no such stream, or Kinesis refuses a call.
        SparkConnectError: if the session has no JVM in this process.
    """
    return _found(_scala(spark).latest, _handed(options, arguments))


@takes_fields_of(KinesisOptions)
def at(
    spark: SparkSession,
    moment: datetime,
    options: KinesisOptions | None = None,
    **arguments: Unpack[SourceArguments],
) -> Positions:
    """Before the first record of each shard that arrived at a moment or later; if that is still to come, as `latest`.

    Args:
        spark: as for `latest`.
        moment: a datetime with a time zone; a naive one is refused.
        options: as for `latest`.
        arguments: as for `latest`.

    Raises:
        InvalidOptionError: for a naive datetime, and as `latest`.
        JarMissingError: as `latest`.
        KinesisCallError: if the moment is past a stream's retention, and as `latest`.
        SparkConnectError: as `latest`.
    """
    Position.at(moment)
    millis = (moment - EPOCH) // MILLISECOND
    return _found(_scala(spark).at, _handed(options, arguments), millis)


def save(spark: SparkSession, positions: Positions, path: str | PurePath) -> Positions:
    """Write positions to a file, on any file system that Spark writes, and return them.

    A failure on the way leaves no file, or the one that was there, where Hadoop has an AbstractFileSystem for the path.
    An object store without one shows a file once it is written.

        point = positions.load(spark, path) or positions.save(spark, positions.latest(spark, options), path)

    Raises:
        JarMissingError: if the session's JVM doesn't have the connector.
        KinesisCallError: if the file can't be written.
        SparkConnectError: if the session has no JVM in this process.
    """
    call(_scala(spark).save, scala_session(spark), str(positions), str(path))
    return positions


def load(spark: SparkSession, path: str | PurePath) -> Positions | None:
    """The positions that `save` wrote to a file; None if there is no such file.

    Raises:
        InvalidOptionError: if the file holds no positions.
        JarMissingError: if the session's JVM doesn't have the connector.
        KinesisCallError: if the file is empty, or can't be read.
        SparkConnectError: if the session has no JVM in this process.
    """
    text = call(_scala(spark).load, scala_session(spark), str(path))
    return Positions(text) if text else None


def after_batch(
    spark: SparkSession, checkpoint: str | PurePath, batch: int | None = None, source: int | str | None = None
) -> Positions:
    """Where a micro-batch of a query ended.

    Args:
        spark: as for `latest`.
        checkpoint: the query's `checkpointLocation`, on any file system that Spark reads.
        batch: its number; None for the last one that is committed. One that is planned and not committed may not have
            come to the query's sink, so it has to be named.
        source: which of the query's sources: its name (`DataStreamReader.name`), or else its number from 0; needed only
            if several of them are of Kinesis.

    Raises:
        InvalidOptionError: for a number below 0.
        JarMissingError: as `latest`.
        KinesisCallError: if the checkpoint has no such batch, or none that is committed, or no such source, or several
            of Kinesis and none is named.
    """
    number = -1 if batch is None else _BATCH.read("batch", batch)
    return _found(_scala(spark).afterBatch, scala_session(spark), str(checkpoint), number, named(source))


def before_batch(
    spark: SparkSession, checkpoint: str | PurePath, batch: int, source: int | str | None = None
) -> Positions:
    """Where a micro-batch of a query began. Up to `after_batch` of the same number it is what the batch read.

    Raises:
        InvalidOptionError: as `after_batch`.
        JarMissingError: as `latest`.
        KinesisCallError: as `after_batch`.
    """
    number = _BATCH.read("batch", batch)
    return _found(_scala(spark).beforeBatch, scala_session(spark), str(checkpoint), number, named(source))


def after_progress(progress: StreamingQueryProgress | Mapping[str, Any], source: int = 0) -> Positions:
    """Where the micro-batch ended that a query's progress reports.

    Args:
        progress: such as `query.lastProgress`, or one of `query.recentProgress`.
        source: which of the query's sources, from 0.

    Raises:
        InvalidOptionError: if that source isn't one of this connector, or had no batch yet.
    """
    return Positions(_source(progress, source)["endOffset"])


def before_progress(
    spark: SparkSession, progress: StreamingQueryProgress | Mapping[str, Any], source: int = 0
) -> Positions:
    """Where the micro-batch began that a query's progress reports.

    Raises:
        InvalidOptionError: as `after_progress`.
        JarMissingError: as `latest`.
    """
    found = _source(progress, source)
    start = found["startOffset"]
    return _found(_scala(spark).before, start if _is_offset(start) else "", found["endOffset"])


def of(streams: Mapping[str, Position | Mapping[str, str | Position]]) -> Positions:
    """Positions written by hand.

    Args:
        streams: by name or ARN, a position that is the same for all shards, or one for each shard by its id:
            `after_number`, `at_number`, `"SHARD_END"`, `Position.trim_horizon()` or `Position.at(...)`.
            Parents and children of shards that are named need not be.
    """
    written = {
        stream: str(told) if isinstance(told, Position) else {shard: str(at) for shard, at in told.items()}
        for stream, told in streams.items()
    }
    return Positions(json.dumps(written))


def after_number(sequence_number: str) -> str:
    """What follows the record with this sequence number, for `of`."""
    return _number(sequence_number)


def at_number(sequence_number: str) -> str:
    """The record with this sequence number and what follows it, for `of`."""
    return f"AT_SEQUENCE_NUMBER:{_number(sequence_number)}"


def _number(text: str) -> str:
    valid = isinstance(text, str) and text.isascii() and text.isdigit()
    require(valid, "sequence_number", text, "a sequence number as Kinesis gives it, a text of digits")
    return text


def _scala(spark: SparkSession) -> Any:  # noqa: ANN401  (py4j's view of a Scala object)
    return jvm_of(spark, "Positions", _INSTEAD).io.github.kinesisspark.StreamPositionsJson


def _handed(options: KinesisOptions | None, arguments: SourceArguments) -> dict[str, str]:
    return source_options(options, arguments).to_dict()


def _found(method: Any, *arguments: object) -> Positions:  # noqa: ANN401  (py4j's view of a method)
    return Positions(call(method, *arguments))


def named(source: int | str | None) -> str:
    """A source of a checkpoint as the JVM takes it: by name or number, empty for the only one."""
    return "" if source is None else str(source)


def progress_of(progress: Any) -> dict[str, Any]:  # noqa: ANN401  (Spark's progress, as an object, a dict or JSON)
    """A progress as a dict, in which offsets are texts; None has no sources.

    Its JSON counts where PySpark has it: listeners of 3.5 get an object that is no dict, and Spark Connect of 4.0
    a dict with offsets as Python shows them.
    """
    text = progress if isinstance(progress, str) else getattr(progress, "json", None)
    found = (progress or {}) if text is None else json.loads(text)
    return {**found, "sources": [_with_texts(source) for source in found.get("sources", ())]}


def offsets_of(progress: Any) -> dict[int, str]:  # noqa: ANN401
    """The ends of those sources of a progress that are of this connector, by the source's number."""
    ends = [source["endOffset"] for source in progress_of(progress)["sources"]]
    return {number: end for number, end in enumerate(ends) if _is_offset(end)}


def _with_texts(source: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has offsets that are JSON themselves as objects."""
    offsets = {name: source.get(name) for name in ("startOffset", "endOffset")}
    return {**source, **{name: json.dumps(at) if isinstance(at, dict) else at for name, at in offsets.items()}}


def _source(progress: Any, number: int) -> dict[str, Any]:  # noqa: ANN401
    """A source of a progress, which has to be one of this connector that has had a batch."""
    sources: list[dict[str, Any]] = progress_of(progress)["sources"]
    if number >= len(sources):
        raise InvalidOptionError(f"source={number} is not valid: the progress has {len(sources)} sources")
    end = sources[number]["endOffset"]
    if not _is_offset(end):
        raise InvalidOptionError(f"source={number} of the progress has no offset of a Kinesis source: {end!r}")
    return sources[number]


def _is_offset(text: object) -> bool:
    return isinstance(text, str) and is_json_object(text) and {"version", "streams"} <= json.loads(text).keys()


__all__ = [
    "Positions",
    "after_batch",
    "after_number",
    "after_progress",
    "at",
    "at_number",
    "before_batch",
    "before_progress",
    "latest",
    "load",
    "of",
    "save",
]
