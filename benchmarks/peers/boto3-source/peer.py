"""The program of a process that reads by the source of boto3_source.py, as `Peer` of benchmarks/peers/protocol has it.

peer.py CLASSES: the class path of what takes the records
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from tempfile import mkdtemp

from boto3_source import Boto3Source
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType

PARALLELISM = 2
REGION = "us-east-1"
ABOUT = (
    f"boto3 {version('boto3')} in a Python data source for PySpark {version('pyspark')}: a `DataSourceStreamReader` "
    f"whose offsets are arrival times, a partition for each shard, Arrow batches with `data` alone. "
    f"`local[{PARALLELISM}]`, micro-batches one after the other, of at least 250 ms, and a function takes `data`."
)


def say(line: dict[str, object]) -> None:
    """A line for the benchmark."""
    sys.stdout.write(f"peer: {json.dumps(line)}\n")
    sys.stdout.flush()


def main(classes: str) -> None:
    """Obeys the lines of standard input."""
    builder = SparkSession.builder.master(f"local[{PARALLELISM}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.extraClassPath", classes).config("spark.driver.memory", "3g")
    builder = builder.config("spark.driver.extraJavaOptions", "-Xms3g")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(Boto3Source)
    spark.udf.registerJavaFunction("receive", "io.github.kinesisspark.peers.Receive", IntegerType())
    jvm = spark.sparkContext._jvm  # noqa: SLF001
    if jvm is None:
        raise RuntimeError("there is no JVM")
    received = jvm.io.github.kinesisspark.peers.Received
    say({"about": ABOUT})
    query = None
    for line in sys.stdin:
        match line.rstrip("\n").split("\t"):
            case ["read", _, endpoint, arn]:
                received.begin()
                stream = arn.split("/")[-1]
                rows = spark.readStream.format("boto3-kinesis").options(stream=stream, endpoint=endpoint, region=REGION)
                taken = rows.load().selectExpr("receive(data)").writeStream.format("noop")
                query = taken.option("checkpointLocation", mkdtemp("peers")).start()
            case _:
                received.end()
                if query is not None:
                    query.stop()
                    failure = query.exception()
                    if failure is not None:
                        raise failure
                say({"stopped": True})
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
