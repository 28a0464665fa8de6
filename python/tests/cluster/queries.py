"""Several queries in one application, as a program of its own, so that one pause of a process stops all of them.

Each is given as `kind-publisher`, reads the stream of that name, and writes into the directory of that name. Says what
its application is called, first, and answers each line of its input with how the queries are.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, udf
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StringType

from kinesis_spark import EnhancedFanOut, KinesisOptions, Polling, Position, StaticCredentials, read_stream, session

from .query import in_real_time, into_json, once, say

# A record of this name takes as long as there is a file of this name in the query's directory.
HELD = "held"
# This one says that it has begun.
BEGAN = "began"


def while_held(rows: DataFrame, directory: Path) -> DataFrame:
    """The rows. A task that comes to a held record stays there."""
    (directory / HELD).touch()

    @udf(StringType())
    def held(text: str) -> str:
        if text.startswith(HELD):
            (directory / BEGAN).touch()
            while (directory / HELD).exists():
                time.sleep(0.1)
        return text

    return rows.select(held("text").alias("text"))


def idle(rows: DataFrame, directory: Path) -> DataStreamWriter:
    """Micro-batches, without anything to do."""
    return into_json(rows, str(directory / "out"))


def in_a_batch(rows: DataFrame, directory: Path) -> DataStreamWriter:
    """Micro-batches, of which one takes long."""
    return idle(while_held(rows, directory), directory)


def available_now(rows: DataFrame, directory: Path) -> DataStreamWriter:
    """Some micro-batches, of which the first takes long."""
    return once(while_held(rows, directory), str(directory / "out"))


def real_time(rows: DataFrame, directory: Path) -> DataStreamWriter:
    """Tasks that run all the time."""
    return in_real_time(rows, str(directory / "out"))


KINDS = {query.__name__.replace("_", "-"): query for query in (idle, in_a_batch, available_now, real_time)}


def started(spark: SparkSession, kind: str, publisher: str, endpoint: str, directory: Path) -> StreamingQuery:
    directory.mkdir()
    options = KinesisOptions(
        stream_name=f"{kind}-{publisher}",
        region="us-east-1",
        endpoint=endpoint,
        credentials=StaticCredentials("local", "local"),
        starting_position=Position.trim_horizon(),
        # Several batches for the query that ends.
        max_records_per_trigger=50,
        record_publisher=EnhancedFanOut(f"paused-{kind}") if publisher == "efo" else Polling(),
    )
    rows = read_stream(spark, options).select(col("data").cast("string").alias("text"))
    writer = KINDS[kind](rows, directory)
    return writer.option("checkpointLocation", str(directory / "checkpoint")).start()


def main(arguments: dict[str, str]) -> None:
    builder = session.builder("several queries", arguments["master"]).config("spark.ui.enabled", "false")
    for key, value in json.loads(arguments["settings"]).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    directory = Path(arguments["directory"])
    queries = {}
    for name in arguments["queries"].split(","):
        kind, _, publisher = name.rpartition("-")
        queries[name] = started(spark, kind, publisher, arguments["endpoint"], directory / name)
    say({"application": spark.sparkContext.applicationId})
    for _ in sys.stdin:
        executors = spark.sparkContext._jsc.sc().statusStore().executorList(False)  # noqa: FBT003  (of the JVM)
        added = [executors.apply(i) for i in range(executors.size())]
        say(
            {
                "active": [name for name, query in queries.items() if query.isActive],
                "failures": {name: str(failure) for name, query in queries.items() if (failure := query.exception())},
                # When each executor was registered that Spark hasn't lost, in seconds.
                "executors": {
                    e.id(): e.addTime().getTime() / 1000 for e in added if e.isActive() and e.id() != "driver"
                },
            }
        )
    for query in queries.values():
        query.stop()
    failures = {name: str(failure) for name, query in queries.items() if (failure := query.exception())}
    spark.stop()
    say({"failures": failures})


if __name__ == "__main__":
    main(dict(argument.split("=", 1) for argument in sys.argv[1:]))
