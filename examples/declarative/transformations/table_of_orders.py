"""Orders of a Kinesis stream as a table that grows, and a view of how many each customer has."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from kinesis_spark import read_stream

spark = SparkSession.active()
STREAM = spark.conf.get("orders.stream")
REGION = spark.conf.get("orders.region")
# Of a local server; AWS's own without it.
ENDPOINT = spark.conf.get("orders.endpoint", "") or None


@dp.table
def orders() -> DataFrame:
    """Each record once, over all runs."""
    records = read_stream(spark, stream_name=STREAM, region=REGION, endpoint=ENDPOINT, starting_position="TRIM_HORIZON")
    return records.selectExpr("partitionKey AS customer", "CAST(data AS STRING) AS json", "sequenceNumber")


@dp.materialized_view
def orders_of_customers() -> DataFrame:
    """Computed anew in each run."""
    return spark.read.table("orders").groupBy("customer").count()
