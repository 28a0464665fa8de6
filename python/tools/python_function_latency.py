"""How long a record takes through a real-time query to a Python function: prints a line of JSON.

    .venv/bin/python python/tools/python_function_latency.py udf
    .venv/bin/python python/tools/python_function_latency.py foreach

100 records a second over four shards come by enhanced fan-out from the embedded server, which has a JVM of its own. The
latency lasts from a record's arrival by the server's clock to the function's call. Batches last 10 s. 30 s are for
warming up, 60 s are measured. A UDF has the settings that docs/how-to/real-time.md names.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

import pyspark
from pyspark.sql import DataFrame
from pyspark.sql.functions import udf
from pyspark.sql.streaming.readwriter import DataStreamWriter
from versions import commit

from kinesis_spark import EnhancedFanOut, LocalKinesis, Record, read_stream, session

WARM_UP_S = 30
MEASURED_S = 60
A_SECOND = 100
SHARDS = 4
BATCH = "10 seconds"

# Each row to Python by itself.
ROW_BY_ROW = {
    "spark.sql.execution.python.udf.maxRecordsPerBatch": "1",
    "spark.sql.execution.python.udf.buffer.size": "16",
}


def put(kinesis: LocalKinesis, seconds: int, first: int) -> int:
    """Put numbers one by one, at random moments; what the next one is."""
    moments = random.Random(1)  # noqa: S311  (no secret)
    due, number = time.monotonic(), first
    end = due + seconds
    while time.monotonic() < end:
        due += moments.random() * 2 / A_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
        kinesis.put_records("events", [Record(str(number), str(number).encode())])
        number += 1
    return number


def arrivals(kinesis: LocalKinesis) -> dict[int, float]:
    """When each number came into the stream, in ms."""
    return {int(record.data): record.arrived.timestamp() * 1000 for record in kinesis.read_records("events")}


def noting(directory: str) -> Callable[[str], bool]:
    """A function that stores when it was called with a number."""

    def note(number: str) -> bool:
        with Path(directory, str(os.getpid())).open("a") as out:
            out.write(f"{number} {time.time() * 1000}\n")
        return True

    return note


def first_calls(directory: str) -> dict[int, float]:
    """When the function was first called with each number, in ms."""
    found: dict[int, float] = {}
    for file in Path(directory).iterdir():
        for line in file.read_text().splitlines():
            number, called = line.split()
            found[int(number)] = min(float(called), found.get(int(number), float(called)))
    return found


def into_function(texts: DataFrame, function: str, directory: str) -> DataStreamWriter:
    """A query whose rows come to a Python function."""
    note = noting(directory)
    if function == "foreach":
        return texts.writeStream.foreach(lambda row: (note(row["data"]), None)[1])
    return texts.select(udf(note, "boolean", useArrow=False)("data")).writeStream.format("noop")


def main(function: str) -> None:
    """Run a query, and print what was measured."""
    builder = session.builder("latency", f"local[{SHARDS}]").config("spark.ui.enabled", "false")
    for key, value in {"spark.sql.streaming.realTimeMode.allowlistCheck": "false", **ROW_BY_ROW}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    with (
        LocalKinesis({"events": SHARDS}) as kinesis,
        TemporaryDirectory() as checkpoint,
        TemporaryDirectory() as notes,
    ):
        options = kinesis.options("events").replace(record_publisher=EnhancedFanOut("latency"))
        texts = read_stream(spark, options).selectExpr("CAST(data AS STRING) AS data")
        writer = into_function(texts, function, notes).outputMode("update").option("checkpointLocation", checkpoint)
        query = writer.trigger(realTime=BATCH).start()  # type: ignore[call-overload]  # not in PySpark's overloads
        while query.isActive and not query.recentProgress:
            time.sleep(0.1)
        warm = put(kinesis, WARM_UP_S, 0)
        total = put(kinesis, MEASURED_S, warm)
        deadline = time.monotonic() + 60
        while len(came := first_calls(notes)) < total and time.monotonic() < deadline:
            time.sleep(1)
        if query.exception() is not None:
            raise SystemExit(str(query.exception()))
        query.stop()
        went = arrivals(kinesis)
        delays = [came[number] - went[number] for number in range(warm, total) if number in came]
    spark.stop()
    cuts = quantiles(delays, n=1000)
    print(
        json.dumps(
            {
                "spark": pyspark.__version__,
                "function": function,
                "records": len(delays),
                "missing": total - warm - len(delays),
                "p50": round(cuts[499], 1),
                "p99": round(cuts[989], 1),
                "p99.9": round(cuts[998], 1),
                "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
                "commit": commit(),
            }
        )
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("function", choices=("udf", "foreach"))
    main(parser.parse_args().function)
