"""Payloads in Avro and Protobuf, by packages of Python, and by modules of Spark where Maven has the one for it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from patience import PATIENCE_S

from kinesis_spark import jars

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SPARK = Path(pyspark.__file__).parent

# The newest that Maven has of a line of Spark; a module works with each patch of its line.
NEWEST = {"3.5": "3.5.9", "4.0": "4.0.2"}


def module_of_spark(name: str) -> str:
    line = ".".join(pyspark.__version__.split(".")[:2])
    (library,) = (SPARK / "jars").glob("scala-library-*.jar")
    scala = library.stem.removeprefix("scala-library-").rpartition(".")[0]
    return f"org.apache.spark:spark-{name}_{scala}:{NEWEST.get(line, pyspark.__version__)}"


@pytest.mark.slow
@pytest.mark.jvm
@pytest.mark.parametrize(
    "module",
    [
        pytest.param("avro", marks=pytest.mark.every_spark("Avro by spark-avro")),
        pytest.param("protobuf", marks=pytest.mark.every_spark("Protobuf by spark-protobuf")),
    ],
)
def test_payloads_by_a_module_of_spark_are_written_and_read_back(module: str) -> None:
    package = module_of_spark(module)
    done = submit("--packages", package, program=["--payload", module, "--by", "spark"])
    if "unresolved dependency" in done.stderr:
        pytest.skip(f"Maven has no {package}")
    check(done, module)


@pytest.mark.slow
@pytest.mark.jvm
@pytest.mark.every_spark("Avro and Protobuf by Python's packages")
@pytest.mark.parametrize("payload", ["avro", "protobuf"])
def test_payloads_by_packages_of_python_are_written_and_read_back(payload: str) -> None:
    check(submit(program=["--payload", payload, "--by", "python"]), payload)


def submit(*options: str, program: list[str]) -> subprocess.CompletedProcess[str]:
    command = [str(SPARK / "bin" / "spark-submit"), "--master", "local[2]", "--conf", "spark.ui.enabled=false"]
    command += ["--jars", str(jars.connector_jar()), *options]
    return subprocess.run(
        [*command, str(EXAMPLES / "payloads.py"), *program],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )


def check(done: subprocess.CompletedProcess[str], payload: str) -> None:
    assert done.returncode == 0, done.stderr[-4000:]
    assert re.findall(rf"^{payload}: order (\d+) of customer-\d", done.stdout, re.M) == [str(n) for n in range(1, 11)]
