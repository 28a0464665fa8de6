"""A pipeline as most are: a function from rows to rows, with a source and a sink. Its test is test_pipeline.py.

python examples/pipeline.py --stream orders --region eu-west-1 --target spending --checkpoint s3a://bucket/spending
"""

from __future__ import annotations

from orders import SCHEMA, Arguments, service
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.query import StreamingQuery

from kinesis_spark import KinesisOptions, KinesisSinkOptions, read_stream, session, write_stream


def large_orders(records: DataFrame) -> DataFrame:
    """The orders above 5, as records to write."""
    order = F.from_json(F.col("data").cast("string"), SCHEMA)
    return records.withColumn("order", order).where("order.total > 5").select("data", "partitionKey")


def start(spark: SparkSession, source: KinesisOptions, target: KinesisSinkOptions, checkpoint: str) -> StreamingQuery:
    """Write the large orders of one stream to another, up to what is there."""
    writer = write_stream(large_orders(read_stream(spark, source)), target)
    return writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()


def main() -> None:
    """Run the pipeline."""
    parser = Arguments(__doc__)
    parser.add_argument("--target", default="large-orders", help="the stream to write to")
    given = parser.parse()
    spark = session.builder("pipeline").getOrCreate()
    with service(given, given.target) as kinesis:
        query = start(spark, kinesis.source, kinesis.sink(given.target), kinesis.state)
        query.awaitTermination()
        print(f"{sum(progress['numInputRows'] for progress in query.recentProgress)} records read")
    spark.stop()


if __name__ == "__main__":
    main()
