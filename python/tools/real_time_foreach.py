"""Shows, with Spark alone, when rows of a real-time query reach a Python function in `foreach`, and one in a UDF.

    .venv/bin/python python/tools/real_time_foreach.py

A row enters Spark's own memory source every 100 ms for 20 s; batches last 10 s. The script prints a JSON line for each
function: how long rows waited for the call, in ms. It is for a report to Apache Spark and needs Spark alone.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

ROWS = 200
APART_S = 0.1


def main() -> None:
    """Run a query for each kind of function."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.streaming.realTimeMode.allowlistCheck", "false")
        # Each row to a UDF by itself. foreach has no such setting.
        .config("spark.sql.execution.python.udf.maxRecordsPerBatch", "1")
        .config("spark.sql.execution.python.udf.buffer.size", "16")
        .getOrCreate()
    )
    for function in ("foreach", "udf"):
        measure(spark, function)
    spark.stop()


def measure(spark: SparkSession, function: str) -> None:
    """Run a query into a Python function, and print how long rows waited for its call."""
    jvm = spark._jvm  # noqa: SLF001  (the memory source has no Python API)
    assert jvm is not None  # noqa: S101  (only a client of Spark Connect has none)
    source = jvm.org.apache.spark.sql.execution.streaming.sources.LowLatencyMemoryStream.singlePartition(
        spark._jsparkSession,  # noqa: SLF001
        jvm.org.apache.spark.sql.Encoders.STRING(),
    )
    rows = pyspark.sql.DataFrame(source.toDF(), spark)
    with TemporaryDirectory() as checkpoint, TemporaryDirectory() as notes:

        def note(sent: str) -> bool:
            with Path(notes, str(os.getpid())).open("a") as out:
                out.write(f"{(time.time() - float(sent)) * 1000}\n")
            return True

        if function == "foreach":
            writer = rows.writeStream.foreach(lambda row: (note(row["value"]), None)[1])
        else:
            writer = rows.select(udf(note, "boolean", useArrow=False)("value")).writeStream.format("noop")
        writer = writer.outputMode("update").option("checkpointLocation", checkpoint)
        query = writer.trigger(realTime="10 seconds").start()  # type: ignore[call-overload]  # not in PySpark's overloads
        while not query.recentProgress:
            time.sleep(0.1)
        for _ in range(ROWS):
            row = jvm.java.util.List.of(str(time.time()))
            source.addData(jvm.scala.jdk.javaapi.CollectionConverters.asScala(row))
            time.sleep(APART_S)
        waits: list[float] = []
        while len(waits) < ROWS and query.isActive:
            time.sleep(1)
            waits = [float(line) for file in Path(notes).iterdir() for line in file.read_text().splitlines()]
        query.stop()
    cuts = quantiles(waits, n=100)
    figures = {"p50": round(cuts[49], 1), "p99": round(cuts[98], 1), "rows": len(waits)}
    print(json.dumps({"spark": pyspark.__version__, "function": function, **figures}), flush=True)


if __name__ == "__main__":
    main()
