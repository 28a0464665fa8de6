"""How long a PySpark query takes from its start to its first records: `make bench-first-record` runs it.

A stream of 16 shards of the embedded server has a few records in each. A query with default options and the
default trigger begins at their beginning and writes to a noop sink. The time is from the call of `start()`
until the first batch with records has ended. Each way of reading has JVMs of its own, in each of which the
session exists already; the first query of a JVM is apart from those that follow. By fan-out a consumer of
each query is registered before.

Beside it, in JVMs of its own: Spark's source `rate-micro-batch`, which has its rows in its first batch and
calls nobody.

Prints a line of JSON for each way of reading. `--results` names a file that keeps it, in the place of an
earlier one there.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import bench
import marked
from beside_sdk import (
    STREAM,
    Child,
    Progress,
    local_source,
    rounded,
    served,
    session_of_query,
)
from pyspark.sql import DataFrame, SparkSession

from kinesis_spark import EnhancedFanOut, Polling, read_stream
from kinesis_spark.local.client import KinesisClient, Record

SHARDS, RECORDS = 16, 1600
JVMS, QUERIES = 10, 4
SPARKS_OWN = "Spark's rate-micro-batch"


@dataclass(frozen=True)
class Case:
    """A way of reading, and within how many seconds the first records shall be there."""

    name: str
    most_s: float | None


CASES = [Case("polling", 1.0), Case("fan-out", 1.5), Case(SPARKS_OWN, None)]


def queries(case: str, endpoint: str) -> None:
    """The program of a process: a line for each query that is started, one after the other."""
    spark = session_of_query("first-record")
    for query in range(QUERIES):
        bench.say({"s": started(spark, case, endpoint, consumer=f"query-{query}")})
    spark.stop()


def started(spark: SparkSession, case: str, endpoint: str, consumer: str) -> float:
    """Seconds from a query's start to the end of its first batch with records."""
    with TemporaryDirectory() as checkpoint:
        writer = source(spark, case, endpoint, consumer).writeStream.format("noop")
        began = time.monotonic()
        query = writer.option("checkpointLocation", checkpoint).start()
        Progress(query).wait_for_first()
        seconds = time.monotonic() - began
        query.stop()
        return seconds


def source(spark: SparkSession, case: str, endpoint: str, consumer: str) -> DataFrame:
    """What is read."""
    if case == SPARKS_OWN:
        return spark.readStream.format("rate-micro-batch").option("rowsPerBatch", RECORDS).load()
    publisher = Polling() if case == "polling" else EnhancedFanOut(consumer)
    return read_stream(spark, local_source(endpoint, publisher))


def measure(case: Case) -> dict[str, Any]:
    """One way of reading, with all of its JVMs."""
    seconds: list[list[float]] = []
    for _ in range(JVMS):
        with served("--stream", f"{STREAM}:{SHARDS}") as announced:
            endpoint = announced["endpoint"]
            fill(KinesisClient(endpoint))
            query = Child([sys.executable, __file__, "--query", case.name, endpoint])
            seconds.append([float(query.answer()["s"]) for _ in range(QUERIES)])
            query.end()
            print(case.name, seconds[-1], file=sys.stderr)
    return {
        "first_of_jvm_s": spread([of[0] for of in seconds]),
        "later_s": spread([each for of in seconds for each in of[1:]]),
    }


def fill(client: KinesisClient) -> None:
    """Puts the records, and registers a consumer for each query."""
    for begin in range(0, RECORDS, 500):
        client.put_records(STREAM, [Record(f"key-{n}", b"x" * 100) for n in range(begin, min(begin + 500, RECORDS))])
    arn = client.call("DescribeStreamSummary", StreamName=STREAM)["StreamDescriptionSummary"]["StreamARN"]
    for query in range(QUERIES):
        client.call("RegisterStreamConsumer", StreamARN=arn, ConsumerName=f"query-{query}")


def spread(seconds: list[float]) -> list[float]:
    """The median, the least and the most."""
    return [rounded(value) for value in (median(seconds), min(seconds), max(seconds))]


def table(lines: list[dict[str, Any]]) -> str:
    """The page's part."""
    goals = {case.name: case.most_s for case in CASES}
    rows = ["| query | first of a JVM, s | goal | later ones, s |", "|---|---|---|---|"]
    for line in lines:
        cells = [line["name"], in_words(line["first_of_jvm_s"]), verdict(line, goals), in_words(line["later_s"])]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + f"\n\n{bench.stamp(lines, 'bench-first-record')}"


def in_words(seconds: list[float]) -> str:
    """A median and its spread."""
    middle, least, most = (marked.number(value) for value in seconds)
    return f"{middle} ({least} to {most})"


def verdict(line: dict[str, Any], goals: dict[str, float | None]) -> str:
    """The goal, and whether it is met."""
    goal = goals[line["name"]]
    if goal is None:
        return ""
    return f"at most {goal:g}: {'met' if line['first_of_jvm_s'][0] <= goal else '**missed**'}"


def main() -> None:
    """Measures the ways of reading that are wanted."""
    parser = bench.parser(__doc__)
    parser.add_argument("--query", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.query:
        queries(*asked.query)
        return
    bench.run(CASES, measure, asked)
    if asked.page:
        kept = bench.newest(asked.results.parent, "first-record", [case.name for case in CASES])
        marked.put(asked.page, "first-record", table(kept))


if __name__ == "__main__":
    main()
