"""Tests that the helpers put the JAR on the class path, and that a missing JAR fails with a clear error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest
from programs import output
from pyspark.sql import SparkSession

from kinesis_spark import JarMissingError, LocalKinesis, jars, require_jar
from kinesis_spark.local import Record

pytestmark = pytest.mark.jvm


def run_python(script: str, *arguments: str) -> str:
    """Runs a script in a process of its own, because a JVM's class path is fixed once for all tests here."""
    return output([sys.executable, "-c", textwrap.dedent(script), *arguments], timeout_s=1200)


def test_a_session_of_the_builder_has_the_connector(spark: SparkSession) -> None:
    require_jar(spark)


def test_a_session_with_a_jar_of_another_version_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kinesis-spark-4_2.13-9.9.9.jar").touch()
    monkeypatch.setattr(jars, "_JARS", tmp_path)
    with pytest.raises(JarMissingError, match=r"this Python package is version 9\.9\.9"):
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
    for part in ("already runs", "restart the process", "spark-submit with `--jars"):
        assert part in late


@pytest.fixture
def other_jar(tmp_path: Path) -> Path:
    """A JAR of somebody else, with a resource that shows whether a JVM has it."""
    jar = tmp_path / "other.jar"
    with zipfile.ZipFile(jar, "w") as file:
        file.writestr("other-resource.txt", "here")
    return jar


# Prints whether the driver and an executor have a JAR of another library, and the JARs that executors are handed.
WHO_HAS_IT = """
    from kinesis_spark import require_jar, session
    spark = session.builder("jars").config("spark.ui.enabled", "false").getOrCreate()
    require_jar(spark)
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    print("driver:", loader.getResource("other-resource.txt") is not None)
    print("jars:", ",".join(sorted(jar.rpartition("/")[2] for jar in spark.conf.get("spark.jars").split(","))))
    print("executors:", ",".join(sorted(jar.rpartition("/")[2] for jar in listed(spark))))
    spark.stop()
"""
LISTED = """
    def listed(spark):
        jars = spark._jsc.sc().listJars()
        return [jars.apply(i) for i in range(jars.size())]
"""


def spark_submit(*arguments: str, program: Path, environment: dict[str, str] | None = None) -> str:
    command = [str(Path(sys.executable).with_name("spark-submit")), *arguments, str(program)]
    if not Path(command[0]).exists():
        import pyspark

        command[0] = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, **(environment or {})}
    return output(command, timeout_s=600, environment=environment)


def test_a_session_of_spark_submit_keeps_its_jars(tmp_path: Path, other_jar: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(LISTED) + textwrap.dedent(WHO_HAS_IT))
    given = f"{jars.connector_jar()},{other_jar}"
    out = spark_submit("--master", "local[1]", "--jars", given, program=program)
    both = f"{jars.connector_jar().name},other.jar"
    assert out.splitlines()[-3:] == ["driver: True", f"jars: {both}", f"executors: {both}"]


@pytest.mark.slow  # refused as where an own session runs
def test_a_session_of_spark_submit_without_the_connector_is_refused_with_its_jar(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from kinesis_spark import JarMissingError, session\n"
        "try:\n    session.builder('bare')\nexcept JarMissingError as fault:\n    print(fault)\n"
    )
    out = spark_submit("--master", "local[1]", program=program)
    assert f"spark-submit with `--jars {jars.connector_jar()}" in out


@pytest.mark.slow  # as of spark-submit, and of the defaults
def test_a_session_keeps_the_jars_of_pyspark_submit_args(other_jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--master local[1] --jars {other_jar} pyspark-shell")
    out = run_python(textwrap.dedent(LISTED) + textwrap.dedent(WHO_HAS_IT))
    both = f"{jars.connector_jar().name},other.jar"
    assert out.splitlines()[-3:] == ["driver: True", f"jars: {both}", f"executors: {both}"]


def test_a_session_keeps_the_jars_of_spark_s_defaults(
    tmp_path: Path, other_jar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark-defaults.conf").write_text(f"# ours\nspark.master local[1]\nspark.jars={other_jar}\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    out = run_python("""
        from pyspark.sql import SparkSession
        from kinesis_spark import session
        print(session.with_kinesis(SparkSession.builder)._options["spark.jars"])
    """)
    assert out.strip() == f"{other_jar},{jars.connector_jar()}"


def test_importing_all_of_the_package_needs_no_pyspark() -> None:
    out = run_python("""
        import sys
        sys.modules["pyspark"] = sys.modules["py4j"] = None
        from kinesis_spark import *
        KinesisMonitor()
        print(KinesisOptions(stream_name="orders").to_dict())
    """)
    assert out.strip() == "{'streamName': 'orders'}"


def test_no_jvm_starts_before_there_is_a_session() -> None:
    out = run_python("""
        from pyspark import SparkContext
        from kinesis_spark import KinesisMonitor, KinesisSinkOptions, KinesisOptions, Position, positions, session
        monitor = KinesisMonitor()
        start = positions.of({"orders": Position.latest()})
        source = KinesisOptions(stream_name="orders", starting_position=start)
        sink = KinesisSinkOptions(stream_name="orders")
        builder = session.builder("orders", "local[1]")
        print(SparkContext._gateway, SparkContext._jvm)
    """)
    assert out.strip() == "None None"


def test_an_installation_without_jars_is_reported(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_JARS", tmp_path)
    monkeypatch.setattr(jars, "find_spec", lambda _: None)
    with pytest.raises(JarMissingError, match=r"found none, expected one\. Install the package kinesis-spark again"):
        jars.connector_jar()
    with pytest.raises(JarMissingError, match=r"expected one\. Install the package kinesis-spark-local:"):
        jars.testkit_jar()


# Reads by the package, and looks up who has the short names.
BESIDE_A_DECOY = """
    import sys
    from kinesis_spark import KinesisOptions, StaticCredentials, read_batch, session
    jar, endpoint = sys.argv[1:]
    builder = session.builder("decoy", "local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.jars", builder._options["spark.jars"] + "," + jar).getOrCreate()
    options = KinesisOptions(
        stream_name="events", region="us-east-1", endpoint=endpoint, credentials=StaticCredentials("test", "test")
    )
    print("package:", read_batch(spark, options).count())
    print("kinesis_spark:", spark.read.format("kinesis_spark").options(**options.to_dict()).load().count())
    try:
        spark.read.format("kinesis").options(**options.to_dict()).load()
    except Exception as error:
        print("kinesis:", str(error).splitlines()[0])
"""
DECOY = """
    package org.apache.spark.sql.decoy;
    public class DecoySource implements org.apache.spark.sql.sources.DataSourceRegister {
        public String shortName() { return "kinesis"; }
    }
"""


@pytest.fixture
def decoy_jar(tmp_path: Path) -> Path:
    """A JAR of somebody else with a source named `kinesis`, which Spark prefers because of its package."""
    import pyspark

    source = tmp_path / "DecoySource.java"
    source.write_text(textwrap.dedent(DECOY))
    spark_jars = Path(pyspark.__file__).parent / "jars" / "*"
    subprocess.run(["javac", "-cp", str(spark_jars), "-d", str(tmp_path), str(source)], check=True)
    jar = tmp_path / "decoy.jar"
    with zipfile.ZipFile(jar, "w") as file:
        file.write(
            tmp_path / "org/apache/spark/sql/decoy/DecoySource.class", "org/apache/spark/sql/decoy/DecoySource.class"
        )
        service = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
        file.writestr(service, "org.apache.spark.sql.decoy.DecoySource")
    return jar


@pytest.mark.slow
def test_the_package_reads_with_this_connector_beside_another_source_named_kinesis(
    kinesis: LocalKinesis, decoy_jar: Path
) -> None:
    kinesis.put_records("events", [Record(f"key-{i}", b"x") for i in range(20)])
    out = run_python(BESIDE_A_DECOY, str(decoy_jar), kinesis.endpoint)
    package, alias, short = out.splitlines()[-3:]
    assert (package, alias) == ("package: 20", "kinesis_spark: 20")
    assert short == "kinesis: kinesis is not a valid Spark SQL Data Source."


# The first session ends with its queries running, as when a notebook's cell is run again.
SESSIONS_IN_TURN = """
    import json, sys, time
    from kinesis_spark import KinesisOptions, Record, StaticCredentials, read_stream, session
    from kinesis_spark.local import KinesisClient

    master, endpoint, checkpoint = sys.argv[1:]
    client = KinesisClient(endpoint)
    options = KinesisOptions(
        stream_name="events", region="us-east-1", endpoint=endpoint, starting_position="TRIM_HORIZON",
        credentials=StaticCredentials("local", "local"),
    )

    def into(taken):
        return lambda rows, _: taken.extend(row.data.decode() for row in rows.select("data").collect())

    # A session that stops doesn't wait for its queries, which may write to their checkpoints until their threads end.
    def has_ended(jvm, run):
        return not any(run in thread.getName() for thread in jvm.java.lang.Thread.getAllStackTraces().keySet())

    # What the queries do, for the message of a test that waited for too long.
    def stacks(jvm):
        threads = jvm.java.lang.Thread.getAllStackTraces()
        return [
            (thread.getName(), [frame.toString() for frame in threads[thread]])
            for thread in threads.keySet() if "stream execution" in thread.getName()
        ]

    for turn in range(3):
        client.put_records("events", [Record(f"key-{n}", f"{turn}-{n}".encode()) for n in range(20)])
        builder = session.builder("in turn", master).config("spark.ui.enabled", "false")
        spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
        of_checkpoint, of_all = [], []
        first = read_stream(spark, options).writeStream.foreachBatch(into(of_checkpoint))
        second = read_stream(spark.newSession(), options).writeStream.foreachBatch(into(of_all))
        queries = [first.option("checkpointLocation", checkpoint).start(), second.start()]
        end = time.monotonic() + 300
        while len(of_checkpoint) < 20 or len(of_all) < 20 * (turn + 1):
            reached = len(of_checkpoint), len(of_all)
            assert time.monotonic() < end, (reached, [query.status for query in queries], stacks(spark._jvm))
            assert all(query.isActive for query in queries), [query.exception() for query in queries]
            time.sleep(0.1)
        print(json.dumps([of_checkpoint, of_all]))
        jvm, runs = spark._jvm, [query.runId for query in queries]
        spark.stop()
        while not all(has_ended(jvm, run) for run in runs):
            assert time.monotonic() < end, ("a query's thread outlives its session", stacks(jvm))
            time.sleep(0.1)
"""


@pytest.mark.parametrize(
    "master", ["local[2]", pytest.param("local-cluster[2,1,1024]", marks=pytest.mark.slow)], ids=["local", "cluster"]
)
def test_each_session_of_a_process_reads_on_where_the_session_before_was_stopped(master: str, tmp_path: Path) -> None:
    with LocalKinesis({"events": 2}) as kinesis:
        out = run_python(SESSIONS_IN_TURN, master, kinesis.endpoint, str(tmp_path / "checkpoint"))
    turns = [json.loads(line) for line in out.splitlines() if line.startswith("[[")]

    def written(*turns: int) -> list[str]:
        return sorted(f"{turn}-{n}" for turn in turns for n in range(20))

    assert [sorted(taken) for taken, _ in turns] == [written(turn) for turn in range(3)]
    assert [sorted(taken) for _, taken in turns] == [written(*range(turn + 1)) for turn in range(3)]
