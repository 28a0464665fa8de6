"""A program for `spark-submit --packages ... --py-files <wheel>`: counts the records of the stream in a query."""

import json
import os

from pyspark.sql import SparkSession

import kinesis_spark
from kinesis_spark import KinesisOptions, read_stream

spark = SparkSession.builder.getOrCreate()
options = KinesisOptions.from_dict(json.loads(os.environ["OPTIONS"]))
query = (
    read_stream(spark, options.replace(starting_position="TRIM_HORIZON"))
    .writeStream.option("checkpointLocation", "checkpoint")
    .trigger(availableNow=True)
    .start("rows", format="parquet")
)
query.awaitTermination()
print(f"package: {kinesis_spark.__file__}")  # noqa: T201
print(f"records: {spark.read.parquet('rows').count()}")  # noqa: T201
spark.stop()
