"""Compares the connector with AWS's Python aggregation modules: each reads the other's records, with the same bytes."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pytest
from aws_kinesis_agg.aggregator import RecordAggregator
from aws_kinesis_agg.deaggregator import iter_deaggregate_records
from pyspark.sql import Row, SparkSession

from kinesis_spark import KinesisOptions, KinesisSinkOptions, LocalKinesis, Record, read_batch, write_batch

pytestmark = pytest.mark.jvm

SCHEMA = "partitionKey string, explicitHashKey string, data binary"
RECORD_SIZE = 20 * 1024


class UserRecord(NamedTuple):
    partition_key: str
    hash_key: str
    data: bytes


@pytest.fixture
def one_shard(kinesis: LocalKinesis) -> LocalKinesis:
    kinesis.client.delete_stream("events")
    kinesis.create_stream("events")
    return kinesis


@pytest.fixture
def user_records() -> list[UserRecord]:
    """Keys that come back, and data of all kinds of length."""
    chance = random.Random(1)  # noqa: S311
    hash_keys = [str(chance.randrange(2**128)) for _ in range(200)]
    return [
        UserRecord(
            chance.choice(["a", "käse-", "x" * 250]) + str(chance.randrange(200)),
            chance.choice(hash_keys),
            chance.randbytes(chance.choice([0, 1, 127, 128, 1_000])),
        )
        for _ in range(3_000)
    ]


def write(spark: SparkSession, records: Iterable[UserRecord], options: KinesisSinkOptions) -> None:
    """In order, by one task."""
    write_batch(spark.createDataFrame([tuple(record) for record in records], SCHEMA).coalesce(1), options)


def read(spark: SparkSession, options: KinesisOptions) -> list[Row]:
    return read_batch(spark, options).orderBy("sequenceNumber", "subSequenceNumber").collect()


def packed_by_aws(records: Iterable[UserRecord], size: int) -> Iterator[UserRecord]:
    aggregator = RecordAggregator(size)
    full = [aggregator.add_user_record(record.partition_key, record.data, record.hash_key) for record in records]
    yield from (UserRecord(*record.get_contents()) for record in [*full, aggregator.clear_and_get()] if record)


def read_by_aws(row: Row) -> Iterator[UserRecord]:
    wire = {
        "Data": bytes(row.data),
        "PartitionKey": row.partitionKey,
        "SequenceNumber": row.sequenceNumber,
        "ApproximateArrivalTimestamp": row.approximateArrivalTimestamp,
    }
    for record in iter_deaggregate_records(wire, data_format="Boto3"):
        fields = record["kinesis"]
        yield UserRecord(fields["partitionKey"], fields["explicitHashKey"], base64.b64decode(fields["data"]))


def test_rows_aggregated_by_the_aws_module_are_read_as_user_records(
    spark: SparkSession, one_shard: LocalKinesis, user_records: list[UserRecord]
) -> None:
    packed = list(packed_by_aws(user_records, RECORD_SIZE))
    assert 1 < len(packed) < len(user_records) / 5
    one_shard.put_records("events", [Record(r.partition_key, r.data, r.hash_key) for r in packed])
    rows = read(spark, one_shard.options("events"))
    assert [(row.partitionKey, bytes(row.data)) for row in rows] == [(r.partition_key, r.data) for r in user_records]


def test_rows_aggregated_by_the_sink_equal_those_of_the_aws_module_and_are_read_by_it(
    spark: SparkSession, one_shard: LocalKinesis, user_records: list[UserRecord]
) -> None:
    sink = one_shard.sink_options("events").replace(ordered=True, aggregate=True, aggregate_size=RECORD_SIZE)
    write(spark, user_records, sink)
    packed = read(spark, one_shard.options("events").replace(deaggregate=False))
    apart = [list(read_by_aws(row)) for row in packed]
    assert [record for records in apart for record in records] == user_records
    for row, records in zip(packed, apart, strict=True):
        assert [bytes(row.data)] == [record.data for record in packed_by_aws(records, 2 * RECORD_SIZE)]
