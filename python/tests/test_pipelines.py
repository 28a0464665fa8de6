"""Runs the example of Spark Declarative Pipelines on a local Kinesis server."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest
from patience import PATIENCE_S
from programs import connect_path, output

from kinesis_spark import LocalKinesis, jars
from kinesis_spark.local import Record

SPARK = tuple(map(int, pyspark.__version__.split(".")[:2]))
SPARK_HOME = Path(pyspark.__file__).parent
ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "declarative"

pytestmark = [
    pytest.mark.jvm,
    pytest.mark.slow,
    pytest.mark.skipif(SPARK < (4, 1), reason="Spark 4.1 brought Declarative Pipelines"),
]

# Of the pipeline's tables, as lines: what it is, a name, a value.
READ = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
for row in spark.table("orders").collect():
    print("ORDER", row["customer"], row["json"])
for row in spark.table("orders_of_customers").collect():
    print("COUNT", row["customer"], row["count"])
"""


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": connect_path(),
        "SPARK_HOME": str(SPARK_HOME),
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }


def finished(*command: str) -> str:
    return output(command, timeout_s=PATIENCE_S, environment=environment())


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def connect_server(directory: Path) -> Iterator[str]:
    """Its address. Spark's own catalog lives as long as the server, and so do the tables of a pipeline."""
    port = free_port()
    command = [
        *(str(SPARK_HOME / "bin" / "spark-submit"), "--master", "local[2]", "--jars", str(jars.connector_jar())),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.ui.enabled=false"),
        *("--conf", f"spark.sql.warehouse.dir={directory / 'warehouse'}"),
        "spark-internal",
    ]
    log = directory / "server.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment(), start_new_session=True
        )
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not listens(port):
            assert server.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(0.1)
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait(60)


@pytest.mark.every_spark("Declarative Pipelines")
def test_a_declarative_pipeline_has_each_record_once_in_two_runs(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE / "transformations", tmp_path / "transformations")
    expected: Counter[str] = Counter()
    with LocalKinesis({"orders": 2}) as kinesis, connect_server(tmp_path) as server:
        spec = (EXAMPLE / "spark-pipeline.yml").read_text()
        spec = spec.replace("file:///tmp/orders-pipeline", (tmp_path / "storage").as_uri())
        (tmp_path / "spark-pipeline.yml").write_text(f"{spec}  orders.endpoint: {kinesis.endpoint}\n")
        for run in range(2):
            texts = [f"{run}-{i}" for i in range(20)]
            kinesis.put_records("orders", [Record(f"customer-{i % 4}", text.encode()) for i, text in enumerate(texts)])
            expected.update(texts)
            finished(
                *(str(SPARK_HOME / "bin" / "spark-pipelines"), "run"),
                *("--spec", str(tmp_path / "spark-pipeline.yml"), "--remote", server),
            )
        lines = [line.split() for line in finished(sys.executable, "-c", READ, server).splitlines()]
    assert Counter(line[2] for line in lines if line[0] == "ORDER") == expected
    assert {line[1]: line[2] for line in lines if line[0] == "COUNT"} == {f"customer-{i}": "10" for i in range(4)}
