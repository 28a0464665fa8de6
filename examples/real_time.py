"""A pipeline from Kinesis to Kinesis in Spark's real-time mode: each record is written milliseconds after it came.

    python examples/real_time.py

Orders come into one stream of a local Kinesis server; those with even numbers are written to another, while one and
the same batch lasts. Needs Spark 4.2. docs/how-to/real-time.md says what the mode can do and what it can't.
"""

from __future__ import annotations

import base64
import json
import statistics
import time
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kinesis_spark import KinesisOptions, KinesisSinkOptions, LocalKinesis, read_stream, session, write_stream
from kinesis_spark.local import KinesisClient, Record

ROUNDS = 4
ORDERS_A_ROUND = 10
# Spark's list for this mode has the console, foreach and Kafka. Others run as well, once the check is off.
ANY_SINK = "spark.sql.streaming.realTimeMode.allowlistCheck"


def pipeline(
    spark: SparkSession, source: KinesisOptions, target: KinesisSinkOptions, checkpoint: str
) -> StreamingQuery:
    """Write even orders. Every five minutes the query stores how far it is, and pauses for a moment."""
    spark.conf.set(ANY_SINK, "false")
    orders = read_stream(spark, source).selectExpr("data", "partitionKey")
    even = orders.where("get_json_object(CAST(data AS STRING), '$.order') % 2 = 0")
    writer = write_stream(even, target).outputMode("update").option("checkpointLocation", checkpoint)
    query: StreamingQuery = writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload]  # not in PySpark's overloads
    return query


def require_active(query: StreamingQuery) -> None:
    """Raise what a query has ended with."""
    if not query.isActive:
        raise query.exception() or RuntimeError("The query was stopped")


class Reader:
    """What a query has written to a stream, without Spark."""

    def __init__(self, client: KinesisClient, stream: str, query: StreamingQuery) -> None:
        self._client = client
        self._query = query
        shards = client.call("ListShards", StreamName=stream)["Shards"]
        self._places = [self._beginning(stream, shard["ShardId"]) for shard in shards]

    def _beginning(self, stream: str, shard: str) -> str:
        answer = self._client.call(
            "GetShardIterator", StreamName=stream, ShardId=shard, ShardIteratorType="TRIM_HORIZON"
        )
        return str(answer["ShardIterator"])

    def take(self, count: int) -> dict[int, float]:
        """The next orders: each one's number, and the milliseconds from its put to its arrival in this stream."""
        found: dict[int, float] = {}
        while len(found) < count:
            require_active(self._query)
            time.sleep(0.2)
            for i, place in enumerate(self._places):
                answer = self._client.call("GetRecords", ShardIterator=place)
                self._places[i] = answer["NextShardIterator"]
                for record in answer["Records"]:
                    order = json.loads(base64.b64decode(record["Data"]))
                    found[order["order"]] = (record["ApproximateArrivalTimestamp"] - order["put"]) * 1000
        return found


def main() -> None:
    """Print which orders came through, and how long after they were put."""
    spark = session.builder("real-time").getOrCreate()
    with LocalKinesis({"orders": 2, "even": 1}) as kinesis, TemporaryDirectory() as checkpoint:
        query = pipeline(spark, kinesis.options("orders"), kinesis.sink_options("even"), checkpoint)
        # The first batch only stores where the query begins.
        while query.isActive and not query.recentProgress:
            time.sleep(0.1)
        require_active(query)
        reader = Reader(kinesis.client, "even", query)
        for first in range(1, ROUNDS * ORDERS_A_ROUND, ORDERS_A_ROUND):
            numbers = range(first, first + ORDERS_A_ROUND)
            orders = [{"order": n, "put": time.time()} for n in numbers]
            kinesis.put_records("orders", [Record(f"customer-{o['order']}", json.dumps(o).encode()) for o in orders])
            found = reader.take(ORDERS_A_ROUND // 2)
            print(f"{', '.join(map(str, sorted(found)))}: {statistics.median(found.values()):.0f} ms")
        query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
