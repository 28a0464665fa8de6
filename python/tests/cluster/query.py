"""A query on a cluster, as a program of its own: a JVM has one Spark context, and the tests have theirs.

Reads the stream `events` until its standard input closes: into JSON files, or in real-time mode into files without
content, called like the records. Says what its application is called, first.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import DataFrame, Row
from pyspark.sql.functions import col, udf
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StringType

from kinesis_spark import (
    EnhancedFanOut,
    KinesisOptions,
    Polling,
    StartingPosition,
    StaticCredentials,
    read_stream,
    session,
)

# A task that takes this long is worth a speculative copy; the copy ends first and the original is killed.
SLOW_S = 60


@udf(StringType())
def with_attempt(text: str) -> str:
    """Names the attempt of the task; the first attempt at a record called slow takes its time."""
    context = TaskContext.get()
    attempt = context.attemptNumber() if context else -1
    if text.startswith("slow") and attempt == 0:
        time.sleep(SLOW_S)
    return f"{text}@{attempt}"


@udf(StringType())
def laboured(text: str) -> str:
    """Work of 2 ms for each record."""
    time.sleep(0.002)
    return text


def into_json(rows: DataFrame, out: str) -> DataStreamWriter:
    """Micro-batches, each in the sink once."""
    return rows.writeStream.format("json").option("path", out)


def in_real_time(rows: DataFrame, out: str) -> DataStreamWriter:
    """One record as often as it comes."""
    Path(out).mkdir()

    def note(row: Row) -> None:
        (Path(out) / row["text"]).touch()

    writer: DataStreamWriter = rows.writeStream.foreach(note).outputMode("update").trigger(realTime="5 seconds")  # type: ignore[call-overload]  # not in PySpark's overloads
    return writer


def say(message: dict[str, object]) -> None:
    """To the test, which reads lines of JSON."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main(arguments: dict[str, str]) -> None:
    builder = session.builder("cluster test", arguments["master"])
    for key, value in json.loads(arguments["settings"]).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    options = KinesisOptions(
        stream_name="events",
        region="us-east-1",
        endpoint=arguments["endpoint"],
        credentials=StaticCredentials("local", "local"),
        starting_position=StartingPosition.trim_horizon(),
        max_records_per_trigger=int(arguments["max_records"]),
        record_publisher=EnhancedFanOut("cluster") if arguments["publisher"] == "efo" else Polling(),
    )
    data = col("data").cast("string")
    text = {"plain": data, "attempt": with_attempt(data), "labour": laboured(data)}[arguments["text"]]
    rows = read_stream(spark, options).select(text.alias("text"), "shardId", "sequenceNumber")
    write = {"micro-batch": into_json, "real-time": in_real_time}[arguments["trigger"]]
    query = write(rows, arguments["out"]).option("checkpointLocation", arguments["checkpoint"]).start()
    say({"application": spark.sparkContext.applicationId})
    sys.stdin.read()
    query.stop()
    failure = query.exception()
    progress = [dict(p.sources[0].metrics) for p in query.recentProgress]
    spark.stop()
    say({"failure": str(failure) if failure else None, "metrics": progress})


if __name__ == "__main__":
    main(dict(argument.split("=", 1) for argument in sys.argv[1:]))
