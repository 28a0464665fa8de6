"""Reading a Kinesis stream in one line, as a stream or as a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinesis_spark.jars import require_jar
from kinesis_spark.options import KinesisSourceOptions, SourceArguments, source_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Unpack

FORMAT = "kinesis"


def read_stream(
    spark: SparkSession, options: KinesisSourceOptions | None = None, **arguments: Unpack[SourceArguments]
) -> DataFrame:
    """A streaming DataFrame of the streams that the options name.

        orders = read_stream(spark, stream_name="orders", region="eu-west-1", starting_position="TRIM_HORIZON")

    Its columns: `data` binary, `partitionKey` and `explicitHashKey` string, `sequenceNumber` string,
    `subSequenceNumber` long, `approximateArrivalTimestamp` timestamp, `streamName` and `shardId` string.

    Args:
        spark: the session, with the connector on its class path.
        options: what to read, from where, in whose name.
        arguments: the same by keyword; beside `options` they replace some of them.

    Raises:
        InvalidOptionError: for a value that can't be right.
        JarMissingError: if the session doesn't have the connector.
    """
    chosen = source_options(options, arguments)
    require_jar(spark)
    return spark.readStream.format(FORMAT).options(**chosen.to_dict()).load()


def read_batch(
    spark: SparkSession, options: KinesisSourceOptions | None = None, **arguments: Unpack[SourceArguments]
) -> DataFrame:
    """A DataFrame of what the streams hold between two positions, with the columns of `read_stream`.

    It goes from `starting_position` (or the oldest record) to `ending_position` (or what is in the stream when the
    DataFrame is first used). Both are fixed then, to the record: every action on it reads the same.

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
    return spark.read.format(FORMAT).options(**chosen.to_dict()).load()


__all__ = ["read_batch", "read_stream"]
