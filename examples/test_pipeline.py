"""Tests the pipeline of pipeline.py with the fixtures of kinesis_spark. `pytest examples/test_pipeline.py` runs it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pipeline import start
from pyspark.sql import SparkSession

from kinesis_spark import LocalKinesis, Record


@pytest.fixture
def streams(kinesis: LocalKinesis) -> LocalKinesis:
    kinesis.create_stream("orders", shards=2)
    kinesis.create_stream("large-orders")
    return kinesis


def order(number: int, total: float) -> Record:
    return Record(f"customer-{number}", f'{{"order": {number}, "total": {total}}}'.encode())


def run(spark: SparkSession, kinesis: LocalKinesis, checkpoint: Path) -> list[bytes]:
    """Runs the pipeline to the end of the stream, and returns all that it has written so far."""
    query = start(spark, kinesis.options("orders"), kinesis.sink_options("large-orders"), str(checkpoint))
    assert query.awaitTermination(60)
    return [record.data for record in kinesis.read_records("large-orders")]


def test_large_orders_are_passed_on(kinesis_session: SparkSession, streams: LocalKinesis, tmp_path: Path) -> None:
    streams.put_records("orders", [order(1, 4.0), order(2, 6.0)])
    assert run(kinesis_session, streams, tmp_path) == [order(2, 6.0).data]


def test_throttling_and_a_split_lose_nothing(
    kinesis_session: SparkSession, streams: LocalKinesis, tmp_path: Path
) -> None:
    streams.put_records("orders", [order(number, 6.0) for number in range(50)])
    streams.add_fault("ProvisionedThroughputExceededException", action="GetRecords", first=2)
    streams.split("orders", "shardId-000000000000")
    streams.put_records("orders", [order(number, 6.0) for number in range(50, 100)])
    run(kinesis_session, streams, tmp_path)
    # With `availableNow`, shards that are opened by a reshard may be left to the next run.
    written = run(kinesis_session, streams, tmp_path)
    assert sorted(written) == sorted(order(number, 6.0).data for number in range(100))


def test_a_restart_after_an_hour_goes_on_where_it_was(
    kinesis_session: SparkSession, streams: LocalKinesis, tmp_path: Path
) -> None:
    streams.put_records("orders", [order(1, 6.0)])
    assert len(run(kinesis_session, streams, tmp_path)) == 1
    streams.advance_clock(timedelta(hours=1))
    streams.put_records("orders", [order(2, 6.0)])
    assert sorted(run(kinesis_session, streams, tmp_path)) == [order(1, 6.0).data, order(2, 6.0).data]
