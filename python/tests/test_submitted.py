"""The JARs and packages that PYSPARK_SUBMIT_ARGS and Spark's defaults name, in each form of an argument."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kinesis_spark import _submitted, session


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
    assert _submitted.defaults("spark.jars") == ["a.jar", "b.jar"]


CONNECTOR = "a:b:1,io.github.kinesisspark:kinesis-spark-4_2.13:0.1.0"


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (("", "", ""), False),
        (("", CONNECTOR, ""), True),
        (("", "", CONNECTOR), True),
        ((f"--packages {CONNECTOR}", "", ""), True),
        ((f"--packages={CONNECTOR}", "", ""), True),
        ((f"--conf spark.jars.packages={CONNECTOR}", "", ""), True),
        (("--packages a:b:1", CONNECTOR, CONNECTOR), False),
        (("", "a:b:1", CONNECTOR), False),
        ((f"--conf spark.jars.packages=a:b:1 --packages {CONNECTOR}", "", ""), True),
    ],
)
def test_packages_have_the_connector_where_the_setting_that_counts_names_it(
    named: tuple[str, str, str], *, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, builder, defaults = named
    (tmp_path / "spark-defaults.conf").write_text(f"spark.jars.packages {defaults}\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{arguments} pyspark-shell")
    assert _submitted.packages_have_connector(builder) is expected
    fresh = SparkSession.Builder().config("spark.jars.packages", builder)
    # Another test's JVM may run.
    monkeypatch.setattr(session, "gateway_of_submit", lambda: None)
    monkeypatch.setattr(session, "connector_jar", lambda: Path("own.jar"))
    assert ("spark.jars" not in session.with_kinesis(fresh)._options) is expected


def test_arguments_get_the_connector_also_where_the_builder_has_jars_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars a.jar pyspark-shell")
    monkeypatch.setattr(session, "gateway_of_submit", lambda: None)
    monkeypatch.setattr(session, "connector_jar", lambda: Path("own.jar"))
    session.with_kinesis(SparkSession.Builder().config("spark.jars", "b.jar"))
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == "--jars a.jar,own.jar pyspark-shell"
