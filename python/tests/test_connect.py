"""Tests the package with a session of Spark Connect, which has no JVM of its own: the server is local."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
from patience import PATIENCE_S
from programs import connect_path, output

from kinesis_spark import LocalKinesis
from kinesis_spark.local import Record

SPARK = tuple(map(int, pyspark.__version__.split(".")[:2]))

pytestmark = [
    pytest.mark.jvm,
    pytest.mark.slow,
    pytest.mark.skipif(SPARK < (4, 0), reason="Spark 3.5's PySpark has no Connect server of its own"),
]

# Each step prints a line of JSON: its name and what it found.
PROGRAM = """
import json, sys
from kinesis_spark import (
    KinesisMonitor, KinesisSinkOptions, KinesisOptions, StaticCredentials, StreamConsumers, positions, read_batch,
    read_stream, sequence_key, session, shards, write_batch, write_stream,
)

endpoint, folder = sys.argv[1:]
where = dict(region="us-east-1", endpoint=endpoint, credentials=StaticCredentials("test", "test"))
source = KinesisOptions(stream_name="events", starting_position="TRIM_HORIZON", **where)
sink = KinesisSinkOptions(stream_name="copies", **where)

def say(step, found):
    print(json.dumps([step, found]), flush=True)

def failure(step, call):
    try:
        say(step, ["no error", str(call())])
    except Exception as error:
        say(step, [type(error).__name__, str(error)])

builder = session.builder("connect").config("spark.ui.enabled", "false")
spark = builder.remote("local[2]").getOrCreate()
say("session", type(spark).__module__)
say("batch", read_batch(spark, source).select(sequence_key()).distinct().count())
write_batch(spark.range(5).selectExpr("CAST(id AS STRING) AS data"), sink)
say("written", read_batch(spark, source, stream_name="copies").count())

monitor = KinesisMonitor(spark)
def keep(batch, number):
    rows = [bytes(row["data"]).decode() for row in batch.select("data").collect()]
    with open(f"{folder}/{number}", "w") as file:
        json.dump(rows, file)
query = (
    read_stream(spark, source, max_records_per_trigger=10).writeStream.foreachBatch(keep)
    .option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
)
say("foreachBatch", query.awaitTermination(300))
say("progress", str(positions.after_progress(query.lastProgress)))
copy = (
    write_stream(read_stream(spark, source).select("data", "partitionKey"), sink)
    .option("checkpointLocation", f"{folder}/copy").trigger(availableNow=True).start()
)
say("copied", copy.awaitTermination(300))
say("copies", read_batch(spark, source, stream_name="copies").count())
failure("option", lambda: spark.readStream.format("kinesis").option("streamNames", "events").load().schema)
failure("missing", lambda: read_batch(spark, source, stream_name="nowhere").count())
failure("positions", lambda: positions.latest(spark, source))
failure("after_batch", lambda: positions.after_batch(spark, f"{folder}/checkpoint"))
failure("shards", lambda: shards(spark, source))
failure("consumers", lambda: StreamConsumers(spark, stream_name="events", **where).list())
"""

# A server that was started without the connector.
BARE = """
import json, sys
from pyspark.sql import SparkSession
from kinesis_spark import KinesisOptions, read_batch, read_stream
spark = SparkSession.builder.config("spark.ui.enabled", "false").remote("local[1]").getOrCreate()
options = KinesisOptions(stream_name="events", region="us-east-1")
for step, read in (("batch", read_batch), ("stream", read_stream)):
    try:
        read(spark, options)
    except Exception as error:
        print(json.dumps([step, [type(error).__name__, str(error)]]), flush=True)
"""


def steps(program: str, *arguments: str) -> dict[str, Any]:
    # With the first of these, Spark gives the local server a free port.
    environment = {
        **os.environ,
        "SPARK_TESTING": "1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": connect_path(),
    }
    said = output([sys.executable, "-c", program, *arguments], timeout_s=PATIENCE_S, environment=environment)
    return dict(json.loads(line) for line in said.splitlines() if line.startswith("["))


@pytest.mark.every_spark("Spark Connect")
def test_a_connect_session_reads_and_writes_and_what_needs_the_jvm_says_so(tmp_path: Path) -> None:
    with LocalKinesis({"events": 2, "copies": 1}) as kinesis:
        kinesis.put_records("events", [Record(f"key-{i}", str(i).encode()) for i in range(30)])
        found = steps(PROGRAM, kinesis.endpoint, str(tmp_path))
    assert "connect" in str(found["session"])
    assert (found["batch"], found["written"], found["copies"]) == (30, 5, 35)
    assert (found["foreachBatch"], found["copied"]) == (True, True)
    batches = [json.loads(file.read_text()) for file in tmp_path.glob("[0-9]*")]
    assert max(map(len, batches)) <= 10
    assert sorted(int(text) for batch in batches for text in batch) == list(range(30))
    assert '"streams"' in str(found["progress"])
    assert "Did you mean 'streamName'?" in str(found["option"])
    assert "nowhere" in str(found["missing"])
    for step in ("positions", "after_batch", "shards", "consumers"):
        kind, message = found[step]
        assert (kind, "Spark Connect" in message) == ("SparkConnectError", True), step


@pytest.mark.every_spark("Spark Connect")
def test_a_connect_server_without_the_connector_is_reported_when_a_stream_is_loaded() -> None:
    found = steps(BARE)
    for step in ("batch", "stream"):
        kind, message = found[step]
        assert kind == "JarMissingError", found
        assert "--packages io.github.kinesisspark:kinesis-spark-4_2.13" in message
