"""The JARs and packages that PYSPARK_SUBMIT_ARGS and Spark's defaults name, in each form of an argument."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kinesis_spark import _submitted


@pytest.mark.parametrize(
    ("given", "then"),
    [
        ("--jars a.jar", "--jars a.jar,own.jar"),
        ("--jars=a.jar", "--jars a.jar,own.jar"),
        ("--conf spark.jars=a.jar", "--conf spark.jars=a.jar,own.jar"),
        ("--conf=spark.jars=a.jar", "--conf spark.jars=a.jar,own.jar"),
        (
            "--driver-java-options --add-opens=java.base/java.nio=ALL-UNNAMED --jars a.jar",
            "--driver-java-options --add-opens=java.base/java.nio=ALL-UNNAMED --jars a.jar,own.jar",
        ),
    ],
)
def test_a_jar_is_added_to_those_of_the_arguments(given: str, then: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{given} pyspark-shell")
    assert _submitted.add_to_arguments("own.jar") == ["a.jar"]
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == f"{then} pyspark-shell"


@pytest.mark.parametrize("between", [" ", "="])
def test_defaults_are_those_of_the_properties_file(
    between: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "my.conf"
    file.write_text("spark.jars a.jar,b.jar\n")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file{between}{file} pyspark-shell")
    assert _submitted.default_jars() == ["a.jar", "b.jar"]
