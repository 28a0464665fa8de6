"""Reading a Kinesis stream in one line, as a stream or as a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinesis_spark.jars import require_jar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kinesis_spark.options import KinesisOptions

FORMAT = "kinesis"


def read_stream(spark: SparkSession, options: KinesisOptions) -> DataFrame:
    """A streaming DataFrame of the streams that the options name.

    Its columns: `data` binary, `partitionKey` and `explicitHashKey` string, `sequenceNumber` string,
    `subSequenceNumber` long, `approximateArrivalTimestamp` timestamp, `streamName` and `shardId` string.

    Args:
        spark: the session, with the connector on its class path.
        options: what to read, from where, in whose name.

    Raises:
        JarMissingError: if the session doesn't have the connector.
    """
    require_jar(spark)
    return spark.readStream.format(FORMAT).options(**options.to_dict()).load()


def read_batch(spark: SparkSession, options: KinesisOptions) -> DataFrame:
    """A DataFrame of what the streams hold between two positions, with the columns of `read_stream`.

    It goes from `starting_position` (or the oldest record) to `ending_position` (or what is in the stream when the
    DataFrame is first used). Both are fixed then, to the record: every action on it reads the same.

    Args:
        spark: the session, with the connector on its class path.
        options: what to read, between which positions, in whose name. Those of micro-batches don't matter.

    Raises:
        JarMissingError: if the session doesn't have the connector.
    """
    require_jar(spark)
    return spark.read.format(FORMAT).options(**options.to_dict()).load()
