"""What the examples read: orders on a Kinesis server of their own, or a stream of yours on AWS."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from kinesis_spark import KinesisSourceOptions, LocalKinesis, Position
from kinesis_spark.local import KinesisClient, Record

ORDERS = [Record(f"customer-{n % 7}", json.dumps({"order": n}).encode()) for n in range(1, 21)]
LATER = [Record(f"customer-{n % 7}", json.dumps({"order": n}).encode()) for n in range(21, 31)]
MOST_SHOWN = 50


@contextmanager
def source(description: str) -> Iterator[KinesisSourceOptions]:
    """The options of the stream on AWS that the command line names; of one on a local server, where it names none."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--stream", help="a stream on AWS; its last five minutes are read, nothing is written")
    parser.add_argument("--region", help="the stream's region, like eu-west-1")
    given = parser.parse_args()
    if given.stream is None and given.region is not None:
        parser.error("--region goes with --stream")
    if given.stream is not None:
        recently = datetime.now(timezone.utc) - timedelta(minutes=5)
        yield KinesisSourceOptions(
            stream_name=given.stream, region=given.region, starting_position=Position.at(recently)
        )
    else:
        with LocalKinesis({"orders": 2}) as kinesis:
            kinesis.put_records("orders", ORDERS)
            yield kinesis.options("orders")


def come(options: KinesisSourceOptions) -> None:
    """More orders come to the local server; nothing is written to AWS."""
    if options.endpoint is not None:
        client = KinesisClient(options.endpoint)
        client.put_records("orders", LATER)
        client.close()


def show_all(batch: DataFrame, number: int) -> None:
    """Print each record, however many there are."""
    for row in batch.selectExpr("shardId", "partitionKey", "CAST(data AS STRING) AS text").toLocalIterator():
        print(f"batch {number}: {row['shardId']} {row['partitionKey']} {row['text']}")


def show(batch: DataFrame, number: int) -> None:
    """One micro-batch, for foreachBatch."""
    show_all(batch.limit(MOST_SHOWN), number)


def show_metrics(query: StreamingQuery, *names: str) -> None:
    """What the source told of each micro-batch that had records."""
    for progress in query.recentProgress:
        if progress.numInputRows > 0:
            metrics = progress.sources[0].metrics
            print(f"metrics {progress.batchId}:", *(f"{name}={metrics[name]}" for name in names))
