"""Tests that the helpers put the JAR on the class path, and that a missing JAR fails with a clear error."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
from pyspark.sql import SparkSession

from kinesis_spark import JarMissingError, jars, require_jar

pytestmark = pytest.mark.jvm


def run_python(script: str) -> str:
    """Runs a script in a process of its own, because a JVM's class path is fixed once for all tests here."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_a_session_of_the_builder_has_the_connector(spark: SparkSession) -> None:
    require_jar(spark)


def test_with_kinesis_keeps_the_jars_of_the_builder() -> None:
    out = run_python("""
        from pyspark.sql import SparkSession
        from kinesis_spark import session
        builder = SparkSession.builder.config("spark.jars", "/some/where/udfs.jar")
        print(session.with_kinesis(builder)._options["spark.jars"])
    """)
    first, second = out.strip().split(",")
    assert first == "/some/where/udfs.jar"
    assert second == str(jars.connector_jar())


def test_a_missing_jar_is_reported_with_what_to_do() -> None:
    out = run_python("""
        from pyspark.sql import SparkSession
        from kinesis_spark import JarMissingError, KinesisOptions, read_stream, session
        builder = SparkSession.builder.appName("bare").master("local[1]")
        spark = builder.config("spark.ui.enabled", "false").getOrCreate()
        try:
            read_stream(spark, KinesisOptions(stream_name="events"))
        except JarMissingError as fault:
            print("read_stream:", fault)
        try:
            session.builder("late")
        except JarMissingError as fault:
            print("builder:", fault)
    """)
    read, late = out.strip().splitlines()
    for part in ("'bare'", "KinesisTableProvider", "spark.jars: none", "kinesis_spark.session.builder", "--packages"):
        assert part in read
    for part in ("already runs", "Restart the process"):
        assert part in late


def test_an_installation_without_jars_is_reported(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_JARS", tmp_path)
    with pytest.raises(JarMissingError, match="found none, expected one"):
        jars.connector_jar()
