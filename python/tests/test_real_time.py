"""Tests queries with the trigger `realTime`, and those that Spark refuses according to docs/how-to/real-time.md."""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest
from patience import PATIENCE_S, until
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

import kinesis_spark
from kinesis_spark import EnhancedFanOut, KinesisSinkOptions, LocalKinesis, Polling, read_stream, write_stream
from kinesis_spark.fan_out import RecordPublisher
from kinesis_spark.local import Record

SPARK = tuple(map(int, pyspark.__version__.split(".")[:2]))
ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "how-to" / "real-time.md").read_text()
Trigger = Callable[[DataStreamWriter], DataStreamWriter]
Into = Callable[[DataFrame, KinesisSinkOptions], DataStreamWriter]
ALLOW_LIST = "spark.sql.streaming.realTimeMode.allowlistCheck"
ANY_SINK_TRACKED = "_asyncProgressTrackingOverrideSinkSupportCheck"


# PySpark 4.1 has no argument for the trigger, though its Spark has the mode.
has_real_time = pytest.mark.skipif(SPARK < (4, 1), reason="Spark 4.1 brought real-time mode")


def in_real_time(writer: DataStreamWriter, batch: str) -> DataStreamWriter:
    jvm: Any = SparkSession.active()._jvm
    trigger = jvm.org.apache.spark.sql.streaming.Trigger.RealTime(batch)
    writer._jwrite = writer._jwrite.trigger(trigger)
    return writer


@contextmanager
def running(writer: DataStreamWriter, checkpoint: Path, batch: str = "5 seconds") -> Iterator[StreamingQuery]:
    query = in_real_time(
        writer.outputMode("update").option("checkpointLocation", str(checkpoint / "checkpoint")), batch
    ).start()
    try:
        yield query
    finally:
        query.stop()


@contextmanager
def settings(spark: SparkSession, values: dict[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def any_sink(spark: SparkSession) -> AbstractContextManager[None]:
    return settings(spark, {ALLOW_LIST: "false"})


# As docs/how-to/real-time.md has them.
ROW_BY_ROW = dict(re.findall(r'^spark.conf.set\("(spark.sql.execution.python.udf.\S+)", "(\d+)"\)', TEXT, re.MULTILINE))


# One task behind a shuffle leaves one of the session's two cores to the source.
STATEFUL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
}
has_state = pytest.mark.skipif(SPARK < (4, 3), reason="Spark 4.3 brought stateful operators in real-time mode")


def texts(spark: SparkSession, kinesis: LocalKinesis, stream: str) -> list[str]:
    rows = kinesis_spark.read_batch(spark, kinesis.options(stream))
    return sorted(row["text"] for row in rows.selectExpr("CAST(data AS STRING) AS text").collect())


@pytest.fixture
def two_streams(kinesis: LocalKinesis) -> LocalKinesis:
    for stream in ("source", "target"):
        kinesis.create_stream(stream, shards=2)
    return kinesis


def test_a_real_time_query_writes_to_the_console(spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path) -> None:
    kinesis.put_records("events", [Record(f"key-{i}", b"data") for i in range(20)])
    rows = read_stream(spark, kinesis.options("events"))
    with running(rows.writeStream.format("console"), tmp_path) as query:
        until(lambda: sum(p.numInputRows for p in query.recentProgress) == 20, query)
        source = query.recentProgress[-1].sources[0]
        assert source.metrics["shardsOpen"] == "2"
        assert json.loads(source.metrics["details"])["triggerMillis"] == 5000


@pytest.mark.every_spark("real-time mode")
@has_real_time
@pytest.mark.parametrize("publisher", [Polling(), EnhancedFanOut("app")], ids=["polling", "fan-out"])
def test_a_real_time_query_passes_rows_to_foreach(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path, publisher: RecordPublisher
) -> None:
    heard = tmp_path / "heard"
    heard.mkdir()
    rows = read_stream(spark, kinesis.options("events").replace(record_publisher=publisher))

    def note(row: Row) -> None:
        (heard / row["text"]).touch()

    writer = rows.selectExpr("CAST(data AS STRING) AS text").writeStream.foreach(note)
    with running(writer, tmp_path) as query:
        for n in range(3):
            kinesis.put_records("events", [Record(f"key-{i}", f"{n}-{i}".encode()) for i in range(20)])
            until(lambda: len(list(heard.iterdir())) == 20 * (n + 1), query)  # noqa: B023  (used up within the round)


@pytest.mark.every_spark("real-time mode, Python UDF row by row")
@has_real_time
def test_a_real_time_query_calls_a_python_udf_with_each_row_within_a_batch(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    heard = tmp_path / "heard"
    heard.mkdir()

    def handle(data: bytes) -> bool:
        (heard / bytes(data).decode()).touch()
        return True

    handle_row = udf(handle, "boolean", useArrow=False).asNondeterministic()
    rows = read_stream(spark, kinesis.options("events")).select(handle_row("data"))
    # Rows that waited for the end of the batch, or for others, would not come in time.
    with (
        settings(spark, {ALLOW_LIST: "false", **ROW_BY_ROW}),
        running(rows.writeStream.format("noop"), tmp_path, "5 minutes") as query,
    ):
        for n in range(10):
            kinesis.put_records("events", [Record("key", str(n).encode())])
            until((heard / str(n)).exists, query)


def notes(heard: Path) -> Callable[[Row], None]:
    """For foreach: leaves each row as a file, whose name begins with the row's values."""

    def note(row: Row) -> None:
        (heard / ("=".join(map(str, row)) + f"#{uuid.uuid4()}")).touch()

    return note


def noted(heard: Path) -> Counter[str]:
    return Counter(file.name.partition("#")[0] for file in heard.iterdir())


def commits(checkpoint: Path) -> int:
    return len(list((checkpoint / "checkpoint" / "commits").glob("[0-9]*")))


@pytest.mark.every_spark("stateful real-time mode")
@has_state
def test_a_real_time_query_drops_duplicates(spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    heard.mkdir()
    with settings(spark, STATEFUL):
        rows = read_stream(spark, kinesis.options("events")).selectExpr("CAST(data AS STRING) AS text")
        with running(rows.dropDuplicates().writeStream.foreach(notes(heard)), tmp_path) as query:
            for n in range(3):
                some = [Record(f"key-{i}", f"{n}-{i}".encode()) for i in range(20)]
                kinesis.put_records("events", some + some)
                until(lambda: len(noted(heard)) == 20 * (n + 1), query)  # noqa: B023  (used up within the round)
            # Also those of batches before.
            kinesis.put_records("events", [Record(f"key-{i}", f"0-{i}".encode()) for i in range(20)])
            kinesis.put_records("events", [Record("last", b"last")])
            until(lambda: "last" in noted(heard), query)
    assert set(noted(heard).values()) == {1}


@pytest.mark.every_spark("stateful real-time mode")
@has_state
def test_a_real_time_query_counts_exactly_across_a_stop_within_a_batch(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    heard = tmp_path / "heard"
    heard.mkdir()

    def put() -> None:
        kinesis.put_records("events", [Record(f"key-{i % 4}", b"x") for i in range(40)])

    with settings(spark, STATEFUL):
        counts = read_stream(spark, kinesis.options("events")).groupBy("partitionKey").count()
        with running(counts.writeStream.foreach(notes(heard)), tmp_path) as query:
            put()
            until(lambda: all(noted(heard)[f"key-{i}=10"] for i in range(4)), query)
            before = commits(tmp_path)
            until(lambda: commits(tmp_path) > before, query)
            put()
            until(lambda: all(noted(heard)[f"key-{i}=20"] for i in range(4)), query)
        with running(counts.writeStream.foreach(notes(heard)), tmp_path) as query:
            put()
            until(lambda: all(noted(heard)[f"key-{i}=30"] for i in range(4)), query)
    assert max(int(name.partition("=")[2]) for name in noted(heard)) == 30


@pytest.mark.skipif(SPARK >= (4, 3), reason="this Spark has stateful operators in real-time mode")
@has_real_time
def test_spark_refuses_stateful_operators_in_real_time_mode_where_it_has_none(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    rows = read_stream(spark, kinesis.options("events"))
    assert "STREAMING_REAL_TIME_MODE" in refused(rows.dropDuplicates(["partitionKey"]), tmp_path)


@pytest.mark.every_spark("real-time mode refused")
@pytest.mark.skipif(SPARK >= (4, 1), reason="this Spark has real-time mode")
def test_spark_refuses_the_real_time_trigger_where_it_has_none(spark: SparkSession, kinesis: LocalKinesis) -> None:
    writer = read_stream(spark, kinesis.options("events")).writeStream.format("console")
    with pytest.raises(TypeError, match="realTime"):
        writer.trigger(realTime="5 seconds")  # type: ignore[call-overload]  # not in PySpark's overloads


def plainly(rows: DataFrame, sink: KinesisSinkOptions) -> DataStreamWriter:
    """Without the package's `write_stream`, as from Scala."""
    return rows.writeStream.format("kinesis").options(**sink.to_dict())


def plainly_with_the_option(rows: DataFrame, sink: KinesisSinkOptions) -> DataStreamWriter:
    return plainly(rows, sink).option(ANY_SINK_TRACKED, "true")


def copy_a_stream(spark: SparkSession, streams: LocalKinesis, writer: DataStreamWriter, checkpoint: Path) -> None:
    """Records of `source` are in `target` while the batch lasts."""
    with running(writer, checkpoint) as query:
        put: list[str] = []
        for n in range(3):
            some = [f"{n}-{i}" for i in range(20)]
            streams.put_records("source", [Record(text, text.encode()) for text in some])
            put += some
            until(lambda: len(texts(spark, streams, "target")) >= len(put), query)  # noqa: B023  (used up within the round)
        assert texts(spark, streams, "target") == sorted(put)


@pytest.mark.every_spark("real-time mode, Kinesis to Kinesis")
@has_real_time
@pytest.mark.parametrize("into", [write_stream, plainly_with_the_option])
def test_a_real_time_query_copies_a_stream_with_the_sink_allowlist_off(
    spark: SparkSession, two_streams: LocalKinesis, tmp_path: Path, into: Into
) -> None:
    rows = read_stream(spark, two_streams.options("source")).selectExpr("data", "partitionKey")
    with any_sink(spark):
        copy_a_stream(spark, two_streams, into(rows, two_streams.sink_options("target")), tmp_path)


@pytest.mark.every_spark("stateful real-time mode, Kinesis to Kinesis")
@has_state
@pytest.mark.parametrize("into", [write_stream, plainly])
def test_a_real_time_query_with_state_copies_a_stream_with_the_sink_allowlist_off(
    spark: SparkSession, two_streams: LocalKinesis, tmp_path: Path, into: Into
) -> None:
    rows = read_stream(spark, two_streams.options("source")).selectExpr("data", "partitionKey")
    with any_sink(spark), settings(spark, STATEFUL):
        writer = into(rows.dropDuplicates(["partitionKey"]), two_streams.sink_options("target"))
        copy_a_stream(spark, two_streams, writer, tmp_path)


@pytest.mark.every_spark("real-time mode, Kinesis to Kinesis")
@pytest.mark.skipif(SPARK < (4, 3), reason="Spark 4.3 brought asynchronous progress tracking to real-time mode")
def test_spark_refuses_the_sink_without_the_option_that_the_real_time_page_names(
    spark: SparkSession, two_streams: LocalKinesis, tmp_path: Path
) -> None:
    rows = read_stream(spark, two_streams.options("source")).selectExpr("data", "partitionKey")
    with any_sink(spark):
        error = refused(rows, tmp_path, plainly(rows, two_streams.sink_options("target")))
    what = "does not support async progress tracking"
    assert what in error
    assert re.search(rf"^\|.*{what}.*`{ANY_SINK_TRACKED}`", TEXT, re.MULTILINE)


@pytest.mark.parametrize(
    "trigger",
    [lambda writer: writer.trigger(processingTime="1 second"), lambda writer: writer.trigger(availableNow=True)],
    ids=["processingTime", "availableNow"],
)
def test_a_checkpoint_of_a_real_time_query_continues_with_another_trigger(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path, trigger: Trigger
) -> None:
    rows = read_stream(spark, kinesis.options("events"))
    kinesis.put_records("events", [Record(f"key-{i}", b"first") for i in range(20)])
    with running(rows.writeStream.format("console"), tmp_path) as query:
        until(lambda: sum(p.numInputRows for p in query.recentProgress) == 20, query)
    kinesis.put_records("events", [Record(f"key-{i}", b"second") for i in range(30)])
    writer = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = trigger(writer).start()
    try:
        until(lambda: sum(p.numInputRows for p in query.recentProgress) == 30, query)
    finally:
        query.stop()


def refused(rows: DataFrame, checkpoint: Path, writer: DataStreamWriter | None = None) -> str:
    with (
        pytest.raises(PySparkException) as error,
        running(writer or rows.writeStream.format("console"), checkpoint) as q,
    ):
        q.awaitTermination(PATIENCE_S)
    return str(error.value)


def test_spark_refuses_the_queries_that_the_real_time_page_lists(
    spark: SparkSession, two_streams: LocalKinesis, tmp_path: Path
) -> None:
    rows = read_stream(spark, two_streams.options("source"))
    plain = rows.selectExpr("data", "partitionKey")
    sink = write_stream(plain, two_streams.sink_options("target"))
    errors = {
        "the sink of this package": refused(plain, tmp_path / "1", sink),
        "Python UDFs": refused(plain.select(udf(lambda key: key, useArrow=False)("partitionKey")), tmp_path / "2"),
        "`repartition`": refused(plain.repartition(2), tmp_path / "3"),
    }
    with any_sink(spark):
        errors["`foreachBatch`"] = refused(plain, tmp_path / "4", plain.writeStream.foreachBatch(lambda *_: None))
    told = dict(re.findall(r"^\| (.*?) \| .*?`STREAMING_REAL_TIME_MODE\.(\w+)`", TEXT, re.MULTILINE))
    assert set(told) == set(errors)
    for what, error in errors.items():
        assert told[what] in error, (what, error)


def test_error_classes_and_settings_of_the_real_time_page_exist() -> None:
    code = "".join(file.read_text() for file in (ROOT / "connector/src/main/scala").rglob("*.scala"))
    classes = set(re.findall(r"KINESIS_\w+", TEXT))
    assert classes
    assert [name for name in classes if f'"{name}"' not in code] == []
    assert ALLOW_LIST in TEXT
