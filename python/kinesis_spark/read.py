"""Reading a Kinesis stream in one line, as a stream or as a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinesis_spark._kinds import require
from kinesis_spark._signature import takes_fields_of
from kinesis_spark.jars import FORMAT, is_classic, missing_on_server, require_jar
from kinesis_spark.options import KinesisOptions, SourceArguments, source_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Unpack


@takes_fields_of(KinesisOptions)
def read_stream(
    spark: SparkSession,
    options: KinesisOptions | None = None,
    *,
    name: str | None = None,
    **arguments: Unpack[SourceArguments],
) -> DataFrame:
    """A streaming DataFrame of the streams that the options name.

        orders = read_stream(spark, stream_name="orders", region="eu-west-1", starting_position="TRIM_HORIZON")

    Its columns: `data` binary, `partitionKey` and `explicitHashKey` string, `sequenceNumber` string,
    `subSequenceNumber` long, `approximateArrivalTimestamp` timestamp, `streamName` and `shardId` string.

    Args:
        spark: the session, with the connector on its class path.
        options: what to read, from where, in whose name.
        name: the source's name in the query, with Spark 4.2 or later and its settings
            `spark.sql.streaming.queryEvolution.enableSourceEvolution` = `true` and
            `spark.sql.streaming.offsetLog.formatVersion` = `2`: sources with names can be added, removed and reordered
            between two runs of a query.
        arguments: the same as `options` by keyword; beside `options` they replace some of them.

    Raises:
        InvalidOptionError: for a value that can't be right, or a name where Spark has none for sources.
        JarMissingError: if the session doesn't have the connector.
    """
    chosen = source_options(options, arguments)
    require_jar(spark)
    reader: Any = spark.readStream.format(FORMAT).options(**chosen.to_dict())
    if name is not None:
        require(hasattr(reader, "name"), "name", name, "left out: sources have names from Spark 4.2 on")
        reader = reader.name(name)
    return _loaded(spark, reader)


@takes_fields_of(KinesisOptions)
def read_batch(
    spark: SparkSession, options: KinesisOptions | None = None, **arguments: Unpack[SourceArguments]
) -> DataFrame:
    """A DataFrame of what the streams hold between two positions, with the columns of `read_stream`.

    It goes from `starting_position` (or the oldest record) to `ending_position` (or what is in the stream when the
    DataFrame is first used). Both are fixed then, to the record: every action on it reads the same. With Spark Connect
    the end is fixed only for as long as the server caches the plan.

    Args:
        spark: the session, with the connector on its class path.
        options: what to read, between which positions, in whose name. Micro-batch options are ignored.
        arguments: the same by keyword; beside `options` they replace some of them.

    Raises:
        InvalidOptionError: for a value that can't be right.
        JarMissingError: if the session doesn't have the connector.
    """
    chosen = source_options(options, arguments)
    require_jar(spark)
    return _loaded(spark, spark.read.format(FORMAT).options(**chosen.to_dict()))


def _loaded(spark: SparkSession, reader: Any) -> DataFrame:  # noqa: ANN401  (of a stream or of a batch)
    """What a reader loads. Spark Connect would look for the connector, and at the options, at the first action."""
    frame: DataFrame = reader.load()
    if not is_classic(spark):
        from pyspark.errors import PySparkException

        try:
            _ = frame.schema
        except PySparkException as refused:
            # The error's class may be in the message alone.
            if "DATA_SOURCE_NOT_FOUND" in str(refused):
                raise missing_on_server() from None
            # A function of Declarative Pipelines may not look at what it defines: Spark does later.
            if "ATTEMPT_ANALYSIS_IN_PIPELINE" not in str(refused):
                raise
    return frame


__all__ = ["read_batch", "read_stream"]
