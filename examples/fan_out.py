"""Reads a stream by enhanced fan-out (SubscribeToShard), which gives this query the throughput of each shard to itself.

    python examples/fan_out.py --stream orders --region eu-west-1 --checkpoint s3a://bucket/fan-out
    python examples/fan_out.py --stream orders --region eu-west-1 --checkpoint s3a://bucket/fan-out --registration none

AWS charges for the consumer. With `lazy`, the query registers it and deregisters it at its end. With `none`, it is
given one that is registered before, here by this program. docs/how-to/polling-or-fan-out.md says when to choose what.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from orders import Arguments, service, show_metrics
from pyspark.sql import DataFrame, SparkSession

from kinesis_spark import EnhancedFanOut, KinesisOptions, StreamConsumers, read_stream, session

CONSUMER = "kinesis-spark-example"


@contextmanager
def publisher(spark: SparkSession, options: KinesisOptions, registration: str) -> Iterator[EnhancedFanOut]:
    """How the query gets its consumer."""
    if registration == "lazy":
        yield EnhancedFanOut(CONSUMER)
        return
    consumers = StreamConsumers(spark, options)
    try:
        consumers.register(CONSUMER)
        yield EnhancedFanOut(registration="none", consumer_arns=[c.arn for c in consumers.await_active(CONSUMER)])
    finally:
        for consumer in consumers.deregister(CONSUMER):
            print(f"consumer {consumer.name} is deregistered")


def show(batch: DataFrame, number: int) -> None:
    """Print each record."""
    for row in batch.selectExpr("shardId", "partitionKey", "CAST(data AS STRING) AS text").collect():
        print(f"batch {number}: {row['shardId']} {row['partitionKey']} {row['text']}")


def read(spark: SparkSession, options: KinesisOptions, checkpoint: str) -> None:
    """Print what is in the stream."""
    query = (
        read_stream(spark, options)
        .writeStream.foreachBatch(show)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    show_metrics(query, "records", "subscriptionsLive", "resubscriptions", "millisSinceLastEvent")


def main() -> None:
    """Print what is in the stream, and end."""
    parser = Arguments(__doc__)
    parser.add_argument("--registration", choices=["lazy", "none"], default="lazy")
    given = parser.parse()
    spark = session.builder("fan-out").getOrCreate()
    with service(given) as kinesis, publisher(spark, kinesis.source, given.registration) as fan_out:
        read(spark, kinesis.source.replace(record_publisher=fan_out, max_records_per_trigger=12), kinesis.state)
    spark.stop()


if __name__ == "__main__":
    main()
