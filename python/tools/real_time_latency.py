"""How long a record takes through a real-time query, to a stream or to a Python function: a JSON line per publisher.

    .venv/bin/python python/tools/real_time_latency.py efo polling
    .venv/bin/python python/tools/real_time_latency.py --master "local-cluster[2,2,2048]" efo polling
    .venv/bin/python python/tools/real_time_latency.py --function udf --batch "10 seconds" efo
    .cache/spark-versions/4.3.0/bin/python python/tools/real_time_latency.py --state efo polling

`--state` puts `dropDuplicates` into the query, which needs Spark 4.3 and the wheels, as `make test-versions
VERSIONS=4.3.0` installs them. 100 records a second over four shards, a tenth of them repeats, go into another stream of
the embedded server, which has a JVM of its own. The latency is what lies between the arrivals in both streams by the
server's clock: reading, the shuffle and the state where there is one, and the sink with its `linger`. Batches are
longer than a run. 30 s are for warming up, 60 s are measured.

`--function` measures up to the call of a Python function: in `foreach`, or in a UDF with the settings that
docs/how-to/real-time.md names.
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
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.streaming.readwriter import DataStreamWriter
from versions import commit

from kinesis_spark import EnhancedFanOut, LocalKinesis, Polling, Record, read_stream, session, write_stream

WARM_UP_S = 30
MEASURED_S = 60
A_SECOND = 100
SHARDS = 4
REPEATED = 0.1

# Each row to Python by itself.
ROW_BY_ROW = {
    "spark.sql.execution.python.udf.maxRecordsPerBatch": "1",
    "spark.sql.execution.python.udf.buffer.size": "16",
}


def put(kinesis: LocalKinesis, seconds: int, first: int, repeated: float) -> int:
    """Put records one by one, at random moments; what the next one's number is."""
    moments = random.Random(1)  # noqa: S311  (no secret)
    due, number = time.monotonic(), first
    end = due + seconds
    while time.monotonic() < end:
        text = str(number if moments.random() > repeated else moments.randrange(number + 1))
        number += text == str(number)
        due += moments.random() * 2 / A_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
        kinesis.put_records("events", [Record(text, text.encode())])
    return number


def first_arrivals(kinesis: LocalKinesis, stream: str) -> dict[int, float]:
    """When each number first came into a stream, in ms."""
    found: dict[int, float] = {}
    for record in kinesis.read_records(stream):
        number, arrived = int(record.data), record.arrived.timestamp() * 1000
        found[number] = min(arrived, found.get(number, arrived))
    return found


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


def main(publishers: list[str], *, master: str, batch: str, has_state: bool, function: str) -> None:
    """Run a query for each publisher, one after the other, and print what was measured."""
    builder = session.builder("latency", master).config("spark.ui.enabled", "false")
    for key, value in {
        "spark.driver.host": "127.0.0.1",
        # Two tasks read, two keep the state.
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
        "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
        **ROW_BY_ROW,
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    for publisher in publishers:
        measure(spark, publisher, batch, has_state=has_state, function=function)
    spark.stop()


def measure(spark: SparkSession, publisher: str, batch: str, *, has_state: bool, function: str) -> None:
    """Run a query, and print what was measured."""
    reads = EnhancedFanOut("latency") if publisher == "efo" else Polling()
    with (
        LocalKinesis({"events": SHARDS, "results": SHARDS}) as kinesis,
        TemporaryDirectory() as checkpoint,
        TemporaryDirectory() as notes,
    ):
        rows = read_stream(spark, kinesis.options("events").replace(record_publisher=reads))
        texts = rows.selectExpr("CAST(data AS STRING) AS data")
        if has_state:
            texts = texts.dropDuplicates()
        if function:
            writer = into_function(texts, function, notes)
        else:
            writer = write_stream(texts, kinesis.sink_options("results"))
        writer = writer.outputMode("update").option("checkpointLocation", checkpoint)
        query = writer.trigger(realTime=batch).start()  # type: ignore[call-overload]  # not in PySpark's overloads
        while query.isActive and not query.recentProgress:
            time.sleep(0.1)
        # Without state a repeat would arrive twice.
        repeated = REPEATED if has_state else 0.0
        warm = put(kinesis, WARM_UP_S, 0, repeated)
        total = put(kinesis, MEASURED_S, warm, repeated)

        def ends() -> dict[int, float]:
            return first_calls(notes) if function else first_arrivals(kinesis, "results")

        deadline = time.monotonic() + 60
        while len(came := ends()) < total and time.monotonic() < deadline:
            time.sleep(1)
        if query.exception() is not None:
            raise SystemExit(str(query.exception()))
        query.stop()
        went = first_arrivals(kinesis, "events")
        delays = [came[number] - went[number] for number in range(warm, total) if number in came]
    cuts = quantiles(delays, n=1000)
    print(
        json.dumps(
            {
                "spark": pyspark.__version__,
                "publisher": publisher,
                "master": spark.sparkContext.master,
                "batch": batch,
                "state": has_state,
                "function": function,
                "records": len(delays),
                "missing": total - warm - len(delays),
                "p50": round(cuts[499], 1),
                "p99": round(cuts[989], 1),
                "p99.9": round(cuts[998], 1),
                "load": round(os.getloadavg()[0], 1),
                "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
                "commit": commit(),
            }
        ),
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("publishers", nargs="+", choices=("efo", "polling"))
    parser.add_argument("--master", default=f"local[{SHARDS}]", help="where Spark runs: %(default)s")
    parser.add_argument("--batch", default="5 minutes", help="the trigger's time: %(default)s")
    parser.add_argument("--state", action="store_true", help="dropDuplicates on the way")
    parser.add_argument("--function", default="", choices=("foreach", "udf"), help="to a Python function, not a stream")
    arguments = parser.parse_args()
    main(
        arguments.publishers,
        master=arguments.master,
        batch=arguments.batch,
        has_state=arguments.state,
        function=arguments.function,
    )
