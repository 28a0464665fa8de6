"""A query on a cluster, as a program of its own: a JVM has one Spark context, and the tests have theirs.

Reads the stream `events` until its standard input closes: into JSON files, in real-time mode into files without
content, called like the records, or into the stream `results` where a state is named. Says what its application is
called, first. Each line of its input is a command, which it answers with a line of JSON.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import col, udf
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StringType

from kinesis_spark import (
    CustomCredentials,
    EnhancedFanOut,
    KinesisOptions,
    KinesisSinkOptions,
    Polling,
    Position,
    StaticCredentials,
    read_stream,
    session,
    write_stream,
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


def once(rows: DataFrame, out: str) -> DataStreamWriter:
    """Micro-batches up to what is there at the start."""
    return into_json(rows, out).trigger(availableNow=True)


def in_real_time(rows: DataFrame, out: str) -> DataStreamWriter:
    """One record as often as it comes."""
    Path(out).mkdir()

    def note(row: Row) -> None:
        (Path(out) / row["text"]).touch()

    writer: DataStreamWriter = rows.writeStream.foreach(note).outputMode("update").trigger(realTime="5 seconds")  # type: ignore[call-overload]  # not in PySpark's overloads
    return writer


def copied(rows: DataFrame) -> DataFrame:
    """Each text as it comes, without state."""
    return rows.selectExpr("text AS data", "text AS partitionKey")


def counted(rows: DataFrame) -> DataFrame:
    """How often each text has come, by Spark's aggregation."""
    return rows.groupBy("text").count().selectExpr("concat(text, '=', count) AS data", "text AS partitionKey")


def distinct(rows: DataFrame) -> DataFrame:
    """Each text once."""
    return rows.dropDuplicates(["text"]).selectExpr("text AS data", "text AS partitionKey")


def numbered(rows: DataFrame) -> DataFrame:
    """Each row with how often its text has come, by a state of Scala's transformWithState."""
    jvm = rows.sparkSession._jvm
    assert jvm is not None
    numbering = jvm.io.github.kinesisspark.it.realtime.Numbering
    return DataFrame(numbering.of(rows.select("text")._jdf), rows.sparkSession)


STATES = {"copied": copied, "counted": counted, "distinct": distinct, "numbered": numbered}


def into_results(rows: DataFrame, sink: KinesisSinkOptions, trigger: str) -> DataStreamWriter:
    """From Kinesis to Kinesis."""
    writer = write_stream(rows, sink)
    if trigger != "real-time":
        return writer
    in_real_time: DataStreamWriter = writer.outputMode("update").trigger(realTime="5 seconds")  # type: ignore[call-overload]  # not in PySpark's overloads
    return in_real_time


def say(message: dict[str, object]) -> None:
    """To the test, which reads lines of JSON."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def occupy(spark: SparkSession, while_exists: str) -> None:
    """A job of another kind has one core, and keeps it as long as a file exists; comes back when it has it."""
    began = Path(f"{while_exists}.began")

    def work(_: int) -> None:
        began.touch()
        while Path(while_exists).exists():
            time.sleep(0.1)

    Path(while_exists).touch()
    threading.Thread(target=lambda: spark.sparkContext.parallelize([0], 1).foreach(work), daemon=True).start()
    while not began.exists():
        time.sleep(0.1)


def exclude_an_executor(spark: SparkSession) -> None:
    """A task fails on one executor and succeeds on the other, after which Spark runs no task on the first."""

    def work(_: int) -> None:
        context = TaskContext.get()
        if context is not None and context.attemptNumber() == 0:
            raise RuntimeError("on purpose")

    spark.sparkContext.parallelize([0], 1).foreach(work)


def decommission_the_occupied(spark: SparkSession) -> None:
    """The executor with the running task takes no further one, and lives as long as the task."""
    scala_context = spark.sparkContext._jsc.sc()
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    infos = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    busy = {(i.host(), i.port()) for i in infos if i.numRunningTasks() > 0}
    backend = scala_context.schedulerBackend()
    for manager in jvm.scala.jdk.javaapi.CollectionConverters.asJava(
        scala_context.env().blockManager().master().getMemoryStatus().keys().toSeq()
    ):
        if (manager.host(), manager.port()) in busy and not manager.isDriver():
            info = jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo("by the test", jvm.scala.Option.empty())
            backend.decommissionExecutor(manager.executorId(), info, False, False)  # noqa: FBT003  (of the JVM)


def latest_progress(spark: SparkSession, query: StreamingQuery) -> dict[str, object]:
    """What the query reports of itself now."""
    progress = query.recentProgress
    failure = query.exception()
    return {
        "jobs": spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs(),
        # The driver is one of those.
        "executors": spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1,
        "active": query.isActive,
        "failure": str(failure) if failure else None,
        "metrics": [dict(p["sources"][0]["metrics"]) for p in progress],
        "sink": [dict(p["sink"].get("metrics") or {}) for p in progress],
    }


def answer_commands(spark: SparkSession, query: StreamingQuery) -> None:
    """Until the input closes."""
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "occupy":
            occupy(spark, command["while_exists"])
        elif command["do"] == "exclude":
            exclude_an_executor(spark)
        elif command["do"] == "decommission":
            decommission_the_occupied(spark)
        say(latest_progress(spark, query))


def main(arguments: dict[str, str]) -> None:
    builder = session.builder("cluster test", arguments["master"])
    for key, value in json.loads(arguments["settings"]).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    provider = arguments["provider"]
    where: dict[str, Any] = {
        "region": "us-east-1",
        "endpoint": arguments["endpoint"],
        "credentials": CustomCredentials(provider) if provider else StaticCredentials("local", "local"),
    }
    options = KinesisOptions(
        stream_name="events",
        **where,
        starting_position=Position.trim_horizon(),
        max_records_per_trigger=int(arguments["max_records"]),
        record_publisher=EnhancedFanOut("cluster") if arguments["publisher"] == "efo" else Polling(),
    )
    data = col("data").cast("string")
    text = {"plain": data, "attempt": with_attempt(data), "labour": laboured(data)}[arguments["text"]]
    rows = read_stream(spark, options).select(text.alias("text"), "shardId", "sequenceNumber")
    if arguments["state"]:
        sink = KinesisSinkOptions(stream_name="results", **where)
        writer = into_results(STATES[arguments["state"]](rows), sink, arguments["trigger"])
    else:
        write = {"micro-batch": into_json, "real-time": in_real_time, "available-now": once}[arguments["trigger"]]
        writer = write(rows, arguments["out"])
    if arguments["occupied"]:
        # Both executors are there before one of them is taken.
        while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:
            time.sleep(0.1)
        occupy(spark, arguments["occupied"])
    query = writer.option("checkpointLocation", arguments["checkpoint"]).start()
    say({"application": spark.sparkContext.applicationId})
    answer_commands(spark, query)
    query.stop()
    failure = query.exception()
    progress = [dict(p["sources"][0]["metrics"]) for p in query.recentProgress]
    spark.stop()
    say({"failure": str(failure) if failure else None, "metrics": progress})


if __name__ == "__main__":
    main(dict(argument.split("=", 1) for argument in sys.argv[1:]))
