"""What the connector can do on the PySpark of this environment; raises where that is less than it should be."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyspark
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kinesis_spark import (
    EnhancedFanOut,
    KinesisSourceOptions,
    LocalKinesis,
    read_batch,
    read_stream,
    session,
    write_stream,
)
from kinesis_spark.local import Record

TIMEOUT_S = 90.0


def until(condition: Callable[[], bool], query: StreamingQuery) -> None:
    """Wait, as long as the query runs."""
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        if (error := query.exception()) is not None:
            raise error
        if time.monotonic() > deadline:
            raise TimeoutError("the query doesn't bring what it should")
        time.sleep(0.1)


def put(kinesis: LocalKinesis, count: int) -> None:
    """Records into the stream that is read."""
    kinesis.put_records("source", [Record(f"key-{i}", str(i).encode()) for i in range(count)])


def micro_batches(spark: SparkSession, kinesis: LocalKinesis, options: KinesisSourceOptions, checkpoint: Path) -> None:
    """Read in micro-batches and written, start after start."""
    before = read_batch(spark, kinesis.options("target")).count()
    for _ in range(2):
        put(kinesis, 100)
        rows = read_stream(spark, options).selectExpr("data", "partitionKey")
        query = (
            write_stream(rows, kinesis.sink_options("target"))
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        if not query.awaitTermination(int(TIMEOUT_S)):
            raise TimeoutError("availableNow doesn't end")
    after = read_batch(spark, kinesis.options("target")).count()
    expected = read_batch(spark, options).count()
    if after - before != expected:
        raise AssertionError(f"{after - before} records instead of {expected}")


def real_time(rows: DataFrame, kinesis: LocalKinesis, place: Path) -> None:
    """Each record while the batch lasts."""
    heard = place / "heard"
    heard.mkdir()

    def note(row: Row) -> None:
        (heard / row["sequenceNumber"]).touch()

    checkpoint = str(place / "checkpoint")
    writer = rows.writeStream.foreach(note).outputMode("update").option("checkpointLocation", checkpoint)
    # PySpark 4.1 has no argument for it, though its Spark has the trigger.
    jvm: Any = rows.sparkSession._jvm  # noqa: SLF001
    writer._jwrite = writer._jwrite.trigger(jvm.org.apache.spark.sql.streaming.Trigger.RealTime("5 seconds"))  # noqa: SLF001
    query = writer.start()
    for _ in range(3):
        put(kinesis, 100)
        expected = read_batch(rows.sparkSession, kinesis.options("source")).count()
        until(lambda count=expected: len(list(heard.iterdir())) >= count, query)  # type: ignore[misc]
    query.stop()


def no_real_time(rows: DataFrame) -> None:
    """Where Spark has no such trigger, whoever asks for it is told."""
    writer: Any = rows.writeStream
    try:
        writer.trigger(realTime="5 seconds")
    except TypeError:
        return
    raise AssertionError("a trigger that this Spark doesn't have was taken")


def main() -> None:
    """Print what has run."""
    spark = session.builder("versions", "local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with LocalKinesis({"source": 2, "target": 2}) as kinesis, TemporaryDirectory() as temporary:
        ran = []
        polling = kinesis.options("source")
        for name, options in (
            ("polling", polling),
            ("fan-out", polling.replace(record_publisher=EnhancedFanOut("versions"))),
        ):
            place = Path(temporary) / name
            place.mkdir()
            micro_batches(spark, kinesis, options, place / "micro-batches")
            ran.append(f"micro-batches by {name}")
            if tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 1):
                real_time(read_stream(spark, options), kinesis, place)
                ran.append(f"real-time by {name}")
            else:
                no_real_time(read_stream(spark, options))
                ran.append(f"no real-time by {name}")
        print("ran", ", ".join(ran))
    spark.stop()


if __name__ == "__main__":
    main()
