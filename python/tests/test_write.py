"""Tests writes from PySpark to local streams, and the options and columns that are refused."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from kinesis_spark import (
    AssumedRole,
    InvalidOptionError,
    KinesisSinkOptions,
    LocalKinesis,
    ProfileCredentials,
    Record,
    StaticCredentials,
    read_stream,
    write_batch,
    write_stream,
)

ROLE = "arn:aws:iam::123456789012:role/writer"


def test_every_sink_option_is_passed_to_spark() -> None:
    options = KinesisSinkOptions(
        stream_name="orders",
        region="eu-west-1",
        endpoint="http://127.0.0.1:4567",
        ordered=True,
        aggregate=True,
        aggregate_size=200 * 1024,
        bad_records="skip",
        max_retry_duration=timedelta(hours=1),
        writer_buffer_size=64 * 1024 * 1024,
        max_in_flight_calls=16,
        linger=timedelta(milliseconds=5),
        credentials=ProfileCredentials("production"),
        role=AssumedRole(ROLE),
    )
    assert options.to_dict() == {
        "streamName": "orders",
        "region": "eu-west-1",
        "endpoint": "http://127.0.0.1:4567",
        "ordered": "true",
        "aggregate": "true",
        "aggregateSize": str(200 * 1024),
        "badRecords": "skip",
        "maxRetryDuration": "3600s",
        "writerBufferSize": str(64 * 1024 * 1024),
        "maxInFlightCalls": "16",
        "linger": "5ms",
        "profile": "production",
        "roleArn": ROLE,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"stream_name": "a,b"},
        {"stream_name": "a", "stream_arn": "arn:aws:kinesis:eu-west-1:123456789012:stream/a"},
        {"stream_arn": "a"},
        {"bad_records": "drop"},
        {"ordered": "yes"},
        {"aggregate": "yes"},
        {"aggregate_size": 100, "aggregate": True},
        {"aggregate_size": 2 * 1024 * 1024, "aggregate": True},
        {"aggregate_size": 100 * 1024},
        {"max_retry_duration": timedelta(milliseconds=-1)},
        {"writer_buffer_size": 1000},
        {"max_in_flight_calls": 0},
        {"linger": timedelta(0)},
        {"region": "Ireland"},
    ],
    ids=str,
)
def test_an_invalid_sink_option_is_refused_when_it_is_set(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidOptionError, match=next(iter(wrong))):
        KinesisSinkOptions(**wrong)


def test_repr_of_sink_options_contains_no_secrets() -> None:
    options = KinesisSinkOptions(stream_name="a", credentials=StaticCredentials("AKIAPLANTED", "planted-secret"))
    assert options.to_dict()["secretAccessKey"] == "planted-secret"
    assert "planted" not in (repr(options) + repr(options.to_dict())).lower()


def read_all(spark: SparkSession, kinesis: LocalKinesis, stream: str, tmp_path: Path) -> list[tuple[str, str]]:
    """Data and partition key of each record."""
    read: dict[int, list[tuple[str, str]]] = {}

    def add(batch: DataFrame, batch_id: int) -> None:
        read[batch_id] = [(bytes(row["data"]).decode(), row["partitionKey"]) for row in batch.collect()]

    query = (
        read_stream(spark, kinesis.options(stream))
        .writeStream.foreachBatch(add)
        .option("checkpointLocation", str(tmp_path / f"read-{stream}"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(PATIENCE_S)
    return [record for batch in read.values() for record in batch]


def documented_metrics() -> set[str]:
    page = Path(__file__).resolve().parents[2] / "docs" / "reference" / "metrics.md"
    _, _, chapter = page.read_text().partition("## Sink\n")
    return {name for row in re.findall(r"^\|([^|]*)\|", chapter, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}


@pytest.mark.every_spark("sink")
def test_a_batch_write_stores_data_and_partition_keys(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    rows = spark.range(2_000).selectExpr("concat('value-', id) AS data", "concat('key-', id) AS partitionKey")
    write_batch(rows, kinesis.sink_options("events"))
    expected = Counter((f"value-{i}", f"key-{i}") for i in range(2_000))
    assert Counter(read_all(spark, kinesis, "events", tmp_path)) == expected


@pytest.mark.every_spark("sink")
def test_a_streaming_write_stores_rows_with_default_keys_and_reports_metrics(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    spark.range(500).selectExpr("concat('value-', id) AS data").write.parquet(str(tmp_path / "rows"))
    rows = spark.readStream.schema("data string").parquet(str(tmp_path / "rows"))
    query = (
        write_stream(rows, kinesis.sink_options("events"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(PATIENCE_S)
    records = read_all(spark, kinesis, "events", tmp_path)
    assert Counter(data for data, _ in records) == Counter(f"value-{i}" for i in range(500))
    assert len({key for _, key in records}) == 500
    assert all(key.startswith(f"{query.id}-0-") for _, key in records)
    assert query.lastProgress is not None
    metrics = query.lastProgress["sink"]["metrics"]
    assert set(metrics) == documented_metrics()
    assert (metrics["records"], metrics["retried"], metrics["skipped"]) == ("500", "0", "0")
    assert metrics["userRecordsPerRecord"] == "1.0"
    assert 0 <= float(metrics["meanCallMillis"]) <= float(metrics["slowestCallMillis"]) <= float(metrics["callMillis"])


def test_aggregated_rows_are_read_back_as_rows_from_few_records(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    rows = spark.range(500).selectExpr("string(id) AS data", "concat('key-', id % 10) AS partitionKey")
    write_batch(rows.coalesce(1), kinesis.sink_options("events").replace(aggregate=True))
    assert sorted(read_all(spark, kinesis, "events", tmp_path)) == sorted((str(i), f"key-{i % 10}") for i in range(500))
    packed = kinesis.options("events").replace(deaggregate=False)
    query = (
        read_stream(spark, packed)
        .writeStream.format("memory")
        .queryName("packed")
        .option("checkpointLocation", str(tmp_path / "read-packed"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(PATIENCE_S)
    assert 0 < spark.table("packed").count() < 10


def test_rows_are_written_to_the_streams_named_in_their_column(spark: SparkSession, kinesis: LocalKinesis) -> None:
    streams = {"even": 0, "odd": 1}
    for stream in streams:
        kinesis.create_stream(stream)
    column = "CASE WHEN id % 2 = 0 THEN 'even' ELSE 'odd' END AS targetStream"
    write_batch(spark.range(100).selectExpr("string(id) AS data", column), kinesis.sink_options())
    for stream, first in streams.items():
        found = sorted(int(record.data) for record in kinesis.read_records(stream))
        assert found == list(range(first, 100, 2))


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        (["id AS data"], "'data' is of type bigint; it must be binary or string"),
        (["string(id) AS data", "id AS partitionKey"], "'partitionKey' is of type bigint"),
        (["string(id) AS data", "id"], "Unknown column 'id'. Select only"),
        (["string(id) AS payload"], "There is no column 'data'"),
        (["string(id) AS data", "'events' AS streamName"], "'streamName' names the stream that a row was read from"),
    ],
)
def test_invalid_columns_are_refused_before_a_write_runs(
    spark: SparkSession, kinesis: LocalKinesis, columns: list[str], complaint: str
) -> None:
    with pytest.raises(PySparkException, match="KINESIS_SINK_SCHEMA") as refused:
        write_batch(spark.range(1).selectExpr(*columns), kinesis.sink_options("events"))
    assert complaint in str(refused.value)


def test_rows_of_a_source_with_their_stream_name_are_not_written_back(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    kinesis.put_records("events", [Record("key", b"once")])
    read = read_stream(spark, kinesis.options("events")).select("data", "partitionKey", "streamName")
    for options in (kinesis.sink_options(), kinesis.sink_options("events")):
        writer = write_stream(read, options).option("checkpointLocation", str(tmp_path / "copy"))
        with pytest.raises(PySparkException, match="KINESIS_SINK_SCHEMA") as refused:
            writer.start()
        assert "'targetStream'" in str(refused.value)
    assert len(read_all(spark, kinesis, "events", tmp_path)) == 1


def test_a_streaming_write_with_invalid_columns_does_not_start(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    rows = spark.readStream.format("rate").load()
    writer = write_stream(rows, kinesis.sink_options("events")).option("checkpointLocation", str(tmp_path))
    with pytest.raises(PySparkException, match="KINESIS_SINK_SCHEMA"):
        writer.start()


def test_a_write_without_stream_or_with_unknown_options_is_refused(spark: SparkSession, kinesis: LocalKinesis) -> None:
    rows = spark.range(1).selectExpr("string(id) AS data")
    with pytest.raises(PySparkException, match="There is no stream to write to"):
        write_batch(rows, kinesis.sink_options("events").replace(stream_name=None))
    writer = rows.write.format("kinesis").mode("append").options(**kinesis.sink_options("events").to_dict())
    with pytest.raises(PySparkException, match="Did you mean 'ordered'"):
        writer.option("order", "true").save()
    with pytest.raises(PySparkException, match="is an option of the source"):
        writer.option("startingPosition", "LATEST").save()
