"""Reads a stream by enhanced fan-out (SubscribeToShard), which gives this query the throughput of each shard to itself.

    python examples/fan_out.py                                      # on a local Kinesis server
    python examples/fan_out.py --stream orders --region eu-west-1   # on AWS, which charges for the consumer

The consumer is registered before the query and deregistered after it by hand, to show how. A query does both by itself
with `EnhancedFanOut("kinesis-spark-example")`. docs/polling-or-fan-out.md tells when to choose what.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from orders import show, show_metrics, source

from kinesis_spark import EnhancedFanOut, StreamConsumers, read_stream, session

CONSUMER = "kinesis-spark-example"


@contextmanager
def registered(consumers: StreamConsumers) -> Iterator[EnhancedFanOut]:
    """A consumer that is there as long as the block runs."""
    try:
        consumers.register(CONSUMER)
        arns = tuple(consumer.arn for consumer in consumers.await_active(CONSUMER))
        for consumer in consumers.list():
            print(f"consumer {consumer.name} is {consumer.status}")
        yield EnhancedFanOut(registration="none", consumer_arns=arns)
    finally:
        for consumer in consumers.deregister(CONSUMER):
            print(f"consumer {consumer.name} is deregistered")


def main() -> None:
    """Print what is in the stream, and end."""
    spark = session.builder("fan-out", "local[2]").config("spark.ui.enabled", "false").getOrCreate()
    with (
        source("Reads a stream by enhanced fan-out.") as options,
        registered(StreamConsumers(spark, options)) as fan_out,
        TemporaryDirectory() as checkpoint,
    ):
        query = (
            read_stream(spark, options.replace(record_publisher=fan_out, max_records_per_trigger=12))
            .writeStream.foreachBatch(show)
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        show_metrics(query, "records", "subscriptionsLive", "resubscriptions", "millisSinceLastEvent")
    spark.stop()


if __name__ == "__main__":
    main()
