"""Reading a Kinesis stream in one line."""

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
