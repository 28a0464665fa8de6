"""A program with the JAR by Maven coordinates, from a repository, and the wheel on `--py-files`."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pyspark
import pytest
from programs import output
from versions import jar, wheel

from kinesis_spark import LocalKinesis

from .cluster_query import put

ROOT = Path(__file__).resolve().parents[3]
SPARK = Path(pyspark.__file__).parent
VERSION = jar()
ARTIFACT = "kinesis-spark-4_2.13"

pytestmark = pytest.mark.jvm


def repository(folder: Path) -> Path:
    """A Maven repository with the connector's JAR and POM, as they were built."""
    module = folder / "io" / "github" / "kinesisspark" / ARTIFACT / VERSION
    module.mkdir(parents=True)
    for source in (ROOT / "dist" / f"{ARTIFACT}-{VERSION}.jar", ROOT / "build" / f"{ARTIFACT}-{VERSION}.pom"):
        shutil.copy(source, module)
    return folder


def test_a_program_submitted_with_packages_and_the_wheel_reads_a_stream(stream: LocalKinesis, tmp_path: Path) -> None:
    put(stream, "orders", 100)
    # A Python without the package, as on a cluster.
    python = str(sys._base_executable)  # type: ignore[attr-defined]
    settings = {"spark.jars.ivy": tmp_path / "ivy", "spark.ui.enabled": "false", "spark.pyspark.python": python}
    command = [
        str(SPARK / "bin" / "spark-submit"),
        *("--master", "local-cluster[2,1,1024]"),
        *("--repositories", repository(tmp_path / "maven").as_uri()),
        *("--packages", f"io.github.kinesisspark:{ARTIFACT}:{VERSION}"),
        *("--py-files", str(ROOT / "build" / "wheel" / f"kinesis_spark-{wheel()}-py3-none-any.whl")),
        *(part for name, value in settings.items() for part in ("--conf", f"{name}={value}")),
        str(Path(__file__).with_name("submitted.py")),
    ]
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PY")}
    environment |= {"SPARK_HOME": str(SPARK), "OPTIONS": json.dumps(dict(stream.options("events").to_dict()))}
    printed = output(command, timeout_s=600, environment=environment, folder=tmp_path)
    assert "records: 100" in printed
    assert re.search(r"package: .*\.whl/kinesis_spark/__init__\.py", printed), printed
