"""A Kinesis source in Python over boto3, as one writes it for PySpark: what `make bench-peers` compares with.

Offsets are arrival times, because Kinesis has no call for the end of a shard. A batch has a partition for each
shard, which reads the records that arrived in the batch's span of time, and yields them as Arrow batches.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import boto3
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import BinaryType, StructField, StructType

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.datasource import ReadLimit

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
SCHEMA = StructType([StructField("data", BinaryType())])
# Shards share 5 calls a second each among all who poll them.
LEAST_SPAN_MS = 250


@lru_cache
def client(endpoint: str, region: str) -> Any:  # noqa: ANN401
    """One for each Python worker, which Spark keeps from batch to batch."""
    return boto3.client(
        "kinesis",
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id="test",
        aws_secret_access_key="test",  # noqa: S106
    )


class Boto3Source(DataSource):
    """`format("boto3-kinesis")`, with the options `stream`, `endpoint` and `region`."""

    @classmethod
    def name(cls) -> str:
        """What `format` takes."""
        return "boto3-kinesis"

    def schema(self) -> StructType:
        """The data alone."""
        return SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
        """For a query."""
        return Reader(self.options["stream"], self.options["endpoint"], self.options["region"])


class Span(InputPartition):
    """What arrived in a shard within a span of time, in ms: from its start until before its end."""

    def __init__(self, shard: str, start: int, end: int) -> None:
        super().__init__(None)
        self.shard, self.start, self.end = shard, start, end


class Reader(DataSourceStreamReader):
    """Reads spans of arrival times."""

    def __init__(self, stream: str, endpoint: str, region: str) -> None:
        self._stream, self._endpoint, self._region = stream, endpoint, region

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Before all records."""
        return {"arrived": 0}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: ARG002, N802
        """Now."""
        now = time.time_ns() // 1_000_000
        return {"arrived": now} if now - start["arrived"] >= LEAST_SPAN_MS else start

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """One for each shard."""
        pages = self._client().get_paginator("list_shards").paginate(StreamName=self._stream)
        shards = [shard["ShardId"] for page in pages for shard in page["Shards"]]
        return [Span(shard, start["arrived"], end["arrived"]) for shard in shards]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A batch for each answer of GetRecords."""
        import pyarrow as pa

        span = cast("Span", partition)
        begin, end = (EPOCH + timedelta(milliseconds=at) for at in (span.start, span.end))
        kinesis = self._client()
        position: dict[str, Any] = {"ShardIteratorType": "TRIM_HORIZON"}
        if span.start:
            position = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": begin}
        iterator = kinesis.get_shard_iterator(StreamName=self._stream, ShardId=span.shard, **position)["ShardIterator"]
        while iterator:
            answer = kinesis.get_records(ShardIterator=iterator)
            arrived = [(record["ApproximateArrivalTimestamp"], record["Data"]) for record in answer["Records"]]
            # boto3 may leave milliseconds out of the time that the iterator begins at.
            data = [each for at, each in arrived if begin <= at < end]
            yield pa.RecordBatch.from_arrays([pa.array(data, pa.binary())], names=["data"])
            is_over = answer["MillisBehindLatest"] == 0 or any(at >= end for at, _ in arrived[-1:])
            iterator = None if is_over else answer.get("NextShardIterator")

    def _client(self) -> Any:  # noqa: ANN401
        return client(self._endpoint, self._region)
