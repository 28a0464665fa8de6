"""A PySpark query reads a local stream: the one-liner, the plain Spark way, a restart, and errors of bad input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from patience import PATIENCE_S, until
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kinesis_spark import LocalKinesis, StaticCredentials, read_stream
from kinesis_spark.local import Record

COLUMNS = [
    ("data", "binary"),
    ("partitionKey", "string"),
    ("explicitHashKey", "string"),
    ("sequenceNumber", "string"),
    ("subSequenceNumber", "bigint"),
    ("approximateArrivalTimestamp", "timestamp"),
    ("streamName", "string"),
    ("shardId", "string"),
]


def records(first: int, last: int) -> list[Record]:
    return [Record(f"key-{i}", f"value-{i}".encode()) for i in range(first, last)]


# What a sink has, by batch id: a batch that runs again, as one that was stopped before its commit does, takes the place
# of its first run. A value that another batch has too is still there twice.
Batches = dict[int, list[str]]


def into(sink: Batches) -> Callable[[DataFrame, int], None]:
    """For foreachBatch: an idempotent sink."""

    def replace_batch(batch: DataFrame, batch_id: int) -> None:
        sink[batch_id] = [bytes(row["data"]).decode() for row in batch.select("data").collect()]

    return replace_batch


def values(sink: Batches) -> list[str]:
    # A copy: the query may add a batch meanwhile.
    return [value for batch in list(sink.values()) for value in batch]


def read_until(stream: DataFrame, checkpoint: Path, sink: Batches, count: int) -> StreamingQuery:
    """Reads into the sink until it has so many values; the query is stopped then, and its failure raised."""
    query = stream.writeStream.foreachBatch(into(sink)).option("checkpointLocation", str(checkpoint)).start()
    try:
        until(lambda: len(values(sink)) >= count, query)
    finally:
        query.stop()
    return query


def test_the_source_has_the_documented_columns(spark: SparkSession, kinesis: LocalKinesis) -> None:
    assert read_stream(spark, kinesis.options("events")).dtypes == COLUMNS


def test_every_record_is_read_once_across_a_restart(spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path) -> None:
    sink: Batches = {}
    stream = read_stream(spark, kinesis.options("events"))
    kinesis.put_records("events", records(0, 700))
    read_until(stream, tmp_path / "checkpoint", sink, 700)
    kinesis.put_records("events", records(700, 1_000))
    read_until(stream, tmp_path / "checkpoint", sink, 1_000)
    assert Counter(values(sink)) == Counter(f"value-{i}" for i in range(1_000))


def test_a_batch_has_at_most_max_records_per_trigger(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    sink: Batches = {}
    kinesis.put_records("events", records(0, 1_000))
    options = kinesis.options("events").replace(max_records_per_trigger=150)
    read_until(read_stream(spark, options), tmp_path / "checkpoint", sink, 1_000)
    assert len(values(sink)) == 1_000
    assert max(len(batch) for batch in sink.values()) <= 150


def test_available_now_reads_the_present_records_in_limited_batches_and_ends(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    kinesis.put_records("events", records(0, 500))
    stream = read_stream(spark, kinesis.options("events").replace(max_records_per_trigger=200))
    sink: Batches = {}
    writer = stream.writeStream.foreachBatch(into(sink)).option("checkpointLocation", str(tmp_path / "checkpoint"))
    assert writer.trigger(availableNow=True).start().awaitTermination(PATIENCE_S)
    assert Counter(values(sink)) == Counter(f"value-{i}" for i in range(500))
    assert max(len(batch) for batch in sink.values()) <= 200


def test_plain_spark_options_read_a_stream_into_a_memory_table(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    put_at = datetime.now(timezone.utc)
    receipts = kinesis.put_records("events", [Record("alpha", b"one"), Record("beta", b"two")])
    query = (
        spark.readStream.format("kinesis")
        .options(**kinesis.options("events").to_dict())
        .load()
        .writeStream.format("memory")
        .queryName("plain")
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    try:
        until(lambda: spark.table("plain").count() >= len(receipts), query)
        rows = {row["partitionKey"]: row for row in spark.table("plain").collect()}
    finally:
        query.stop()
    assert {key: bytes(row["data"]) for key, row in rows.items()} == {"alpha": b"one", "beta": b"two"}
    assert [rows[key]["sequenceNumber"] for key in ("alpha", "beta")] == [r.sequence_number for r in receipts]
    assert [rows[key]["shardId"] for key in ("alpha", "beta")] == [r.shard_id for r in receipts]
    assert {row["streamName"] for row in rows.values()} == {"events"}
    # Spark hands out naive local times; the session's and this machine's zone may differ.
    arrived = rows["alpha"]["approximateArrivalTimestamp"].astimezone(timezone.utc)
    assert abs(arrived - put_at) < timedelta(minutes=1)


def test_a_missing_stream_fails_the_query_with_its_name(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    with pytest.raises(PySparkException, match="nowhere"):
        read_until(read_stream(spark, kinesis.options("nowhere")), tmp_path, {}, 1)


def test_a_mistyped_option_is_refused_with_the_nearest_name(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="startingPosition"):
        spark.readStream.format("kinesis").option("streamName", "events").option("startPosition", "LATEST").load()


def test_plans_progress_and_checkpoint_contain_no_secrets(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    secret, token = "planted-secret-key", "planted-session-token"
    options = kinesis.options("events").replace(
        credentials=StaticCredentials("AKIAPLANTED", secret, token),
    )
    kinesis.put_records("events", records(0, 10))
    stream = read_stream(spark, options)
    query = read_until(stream, tmp_path, {}, 10)
    plan = stream._jdf.queryExecution().toString()
    shown = [plan, str(query.lastProgress), repr(stream), *(p.read_text() for p in tmp_path.rglob("*/[0-9]*"))]
    assert not [text for text in shown for planted in ("AKIAPLANTED", secret, token) if planted in text]
