"""Payloads in formats of Spark's own modules, Avro and Protobuf, where Maven has the module for this Spark."""

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
@pytest.mark.every_spark("Avro and Protobuf by Spark's modules")
@pytest.mark.parametrize("module", ["avro", "protobuf"])
def test_payloads_of_spark_s_modules_are_written_and_read_back(module: str) -> None:
    if module == "protobuf":
        pytest.importorskip("google.protobuf", reason="the example describes its message with it")
    package = module_of_spark(module)
    command = [str(SPARK / "bin" / "spark-submit"), "--master", "local[2]", "--conf", "spark.ui.enabled=false"]
    command += ["--jars", str(jars.connector_jar()), "--packages", package]
    done = subprocess.run(
        [*command, str(EXAMPLES / "payloads.py"), "--payload", module],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    if "unresolved dependency" in done.stderr:
        pytest.skip(f"Maven has no {package}")
    assert done.returncode == 0, done.stderr[-4000:]
    assert re.findall(rf"^{module}: order (\d+) of customer-\d", done.stdout, re.M) == [str(n) for n in range(1, 11)]
