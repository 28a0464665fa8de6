"""A program that reads and writes where there are two versions of the connector; prints how each attempt ends."""

import json
import os

from pyspark.sql import DataFrame, SparkSession

from kinesis_spark import KinesisOptions, KinesisSinkOptions, read_batch, read_stream, write_batch

spark = SparkSession.builder.getOrCreate()
options = KinesisOptions.from_dict(json.loads(os.environ["OPTIONS"])).replace(starting_position="TRIM_HORIZON")
sink = KinesisSinkOptions.from_dict(json.loads(os.environ["SINK_OPTIONS"]))


def stream() -> None:
    """A query over what there is."""
    writer = read_stream(spark, options).writeStream.format("noop").option("checkpointLocation", "checkpoint")
    writer.trigger(availableNow=True).start().awaitTermination()


def batch() -> None:
    """A batch read of what there is."""
    rows: DataFrame = read_batch(spark, options)
    rows.count()


def write() -> None:
    """A batch of five records."""
    write_batch(spark.range(5).selectExpr("CAST(id AS STRING) AS data"), sink)


for attempt in (stream, batch, write):
    error = ""
    try:
        attempt()
    except Exception as failure:  # noqa: BLE001  (whatever it is, the test wants to see it)
        error = str(failure)
    print(json.dumps({"attempt": attempt.__name__, "error": error}))  # noqa: T201
spark.stop()
