"""How fast PySpark goes through a backlog, and at what CPU: a line of JSON for each publisher.

    .venv/bin/python python/tools/reading.py 2000 polling efo

takes the MB in all, and publishers. Records of 1,000 B in 16 shards of the embedded server, which has a JVM of its own
and no quotas, are read from TRIM_HORIZON by `Trigger.AvailableNow` into a noop sink, in `local[2]`, by default options.
Eight rounds warm up, five count. CPU is that of Spark's JVM. `ReadThroughput` measures the same query from Scala, and a
bare loop of the SDK beside it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import datetime, timezone
from statistics import median
from tempfile import TemporaryDirectory

import psutil  # type: ignore[import-untyped]
import pyspark
from pyspark.sql import SparkSession
from versions import commit

from kinesis_spark import EnhancedFanOut, LocalKinesis, Polling, read_stream, session, write_batch

RECORD_BYTES = 1000
SHARDS = 16
WARM_UP = 8
COUNTED = 5


def cpu_s(jvm: psutil.Process) -> float:
    """CPU time so far, in seconds."""
    times = jvm.cpu_times()
    return float(times.user + times.system)


def read(spark: SparkSession, kinesis: LocalKinesis, publisher: str) -> None:
    """Read all of the stream once."""
    reads = EnhancedFanOut("reading") if publisher == "efo" else Polling()
    rows = read_stream(spark, kinesis.options("backlog").replace(record_publisher=reads))
    with TemporaryDirectory() as checkpoint:
        writer = rows.writeStream.format("noop").option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()


def main(megabytes: str, *publishers: str) -> None:
    """Fill a stream, read it again and again, and print the medians."""
    spark = session.builder("reading", "local[2]").config("spark.ui.enabled", "false").getOrCreate()
    jvm = psutil.Process(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]  # noqa: SLF001
    records = int(megabytes) * 1_000_000 // RECORD_BYTES
    with LocalKinesis({"backlog": SHARDS}) as kinesis:
        rows = spark.range(records).selectExpr(
            f"repeat('x', {RECORD_BYTES}) AS data", "CAST(hash(id) AS STRING) AS partitionKey"
        )
        write_batch(rows, kinesis.sink_options("backlog"))
        for publisher in publishers:
            rounds = []
            for _ in range(WARM_UP + COUNTED):
                began, used = time.monotonic(), cpu_s(jvm)
                read(spark, kinesis, publisher)
                rounds.append((time.monotonic() - began, cpu_s(jvm) - used))
            seconds, cpu = (median(each) for each in zip(*rounds[WARM_UP:], strict=True))
            gigabytes = records * RECORD_BYTES / 1e9
            print(
                json.dumps(
                    {
                        "spark": pyspark.__version__,
                        "publisher": publisher,
                        "mb_per_s": round(gigabytes * 1000 / seconds),
                        "cpu_s_per_gb": round(cpu / gigabytes, 2),
                        "load": round(os.getloadavg()[0], 1),
                        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
                        "commit": commit(),
                    }
                ),
                flush=True,
            )
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
