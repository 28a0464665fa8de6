"""Reads a stream by polling (GetRecords), which shares the throughput of each shard with the stream's other pollers.

    python examples/polling.py                                      # on a local Kinesis server
    python examples/polling.py --stream orders --region eu-west-1   # on AWS

docs/polling-or-fan-out.md tells when to choose what.
"""

from __future__ import annotations

from tempfile import TemporaryDirectory

from orders import show, show_metrics, source

from kinesis_spark import Polling, read_stream, session


def main() -> None:
    """Print what is in the stream, and end."""
    spark = session.builder("polling", "local[2]").config("spark.ui.enabled", "false").getOrCreate()
    with source("Reads a stream by polling.") as options, TemporaryDirectory() as checkpoint:
        query = (
            read_stream(spark, options.replace(record_publisher=Polling(), max_records_per_trigger=12))
            .writeStream.foreachBatch(show)
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        show_metrics(query, "records", "bytesPerRead", "maxMillisBehindLatest")
    spark.stop()


if __name__ == "__main__":
    main()
