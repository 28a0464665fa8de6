"""The connector's JAR beside libraries of the user's in other versions, and beside another version of itself."""

from __future__ import annotations

import json
import os
import re
import sys
import zipfile
from pathlib import Path

import pyspark
import pyspark.sql
import pytest
from programs import connect_path, output

from kinesis_spark import LocalKinesis, jars

from .cluster_query import CLUSTER, put

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SPARK = Path(pyspark.__file__).parent

pytestmark = pytest.mark.jvm

# What the JAR has too, in other versions: before and after its own.
OLDER = {"sdk": "2.20.162", "jackson": "2.13.5", "protobuf": "3.21.12"}
NEWER = {"sdk": "2.57.8", "jackson": "2.23.0", "protobuf": "4.36.2"}
ARTIFACTS = {
    "sdk": ["software.amazon.awssdk:kinesis", "software.amazon.awssdk:netty-nio-client"],
    "jackson": ["com.fasterxml.jackson.core:jackson-databind"],
    "protobuf": ["com.google.protobuf:protobuf-java"],
}
FIRST = {"spark.driver.userClassPathFirst": "true", "spark.executor.userClassPathFirst": "true"}


def own_libraries(versions: dict[str, str]) -> list[Path]:
    """The user's libraries, from Maven Central as Maven resolves them; kept in .cache."""
    folder = ROOT / ".cache" / "own-libraries" / "-".join(versions.values())
    if not (folder / ".resolved").exists():
        folder.mkdir(parents=True, exist_ok=True)
        dependencies = "".join(
            f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{versions[name]}</version></dependency>"
            for name, artifacts in ARTIFACTS.items()
            for group, artifact in (coordinates.split(":") for coordinates in artifacts)
        )
        pom = folder / "pom.xml"
        pom.write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>own</groupId><artifactId>libraries</artifactId>"
            f"<version>1</version><dependencies>{dependencies}</dependencies></project>"
        )
        output(
            ["mvn", "-q", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"], timeout_s=300
        )
        (folder / ".resolved").touch()
    return sorted(folder.glob("*.jar"))


def compiled(libraries: list[Path], folder: Path) -> Path:
    """The user's JAR."""
    path = os.pathsep.join(map(str, [*libraries, *(SPARK / "jars").glob("spark-sql-api_*.jar")]))
    output(
        ["javac", "--release", "17", "-cp", path, "-d", str(folder / "classes"), str(HERE / "OwnLibraries.java")],
        timeout_s=120,
    )
    output(["jar", "--create", f"--file={folder / 'own.jar'}", "-C", str(folder / "classes"), "."], timeout_s=60)
    return folder / "own.jar"


@pytest.fixture
def streams(stream: LocalKinesis) -> LocalKinesis:
    """Those that the program reads and writes."""
    stream.create_stream("copies")
    stream.create_stream("own")
    return stream


def copied(streams: LocalKinesis, command: list[str], folder: Path, **more: str) -> str:
    """What the program prints; each record was copied, and by the user's function."""
    texts = put(streams, "orders", 20)
    environment = {
        **os.environ,
        "SPARK_HOME": str(SPARK),
        "PYSPARK_PYTHON": sys.executable,
        "ENDPOINT": streams.endpoint,
        "OPTIONS": json.dumps(dict(streams.options("events").to_dict())),
        "SINK_OPTIONS": json.dumps(dict(streams.sink_options("copies").to_dict())),
        **more,
    }
    printed = output([*command, str(HERE / "own_libraries.py")], timeout_s=600, environment=environment, folder=folder)
    assert f"copies: {len(texts)}" in printed
    made = [record.data.decode() for record in streams.read_records("copies")]
    assert sorted(json.loads(text)["text"] for text in made) == sorted(texts)
    return "\n".join([printed, *made])


@pytest.mark.parametrize(
    ("versions", "settings"),
    [
        pytest.param(OLDER, FIRST, id="older libraries, first", marks=pytest.mark.slow),
        pytest.param(OLDER, {}, id="older libraries, last", marks=pytest.mark.slow),
        pytest.param(NEWER, FIRST, id="newer libraries, first", marks=pytest.mark.slow),
        pytest.param(NEWER, {}, id="newer libraries, last", marks=pytest.mark.slow),
    ],
)
def test_source_and_sink_work_beside_the_users_own_sdk_netty_jackson_and_protobuf(
    streams: LocalKinesis, tmp_path: Path, versions: dict[str, str], settings: dict[str, str]
) -> None:
    libraries = own_libraries(versions)
    class_path = [jars.connector_jar(), compiled(libraries, tmp_path), *libraries]
    command = [
        str(SPARK / "bin" / "spark-submit"),
        *("--master", CLUSTER, "--jars", ",".join(map(str, class_path))),
        *(f"--conf={name}={value}" for name, value in {"spark.ui.enabled": "false", **settings}.items()),
    ]
    said = copied(streams, command, tmp_path)
    used = [json.loads(line.removeprefix("driver: ")) for line in said.splitlines() if "{" in line]
    assert {row["sdk"] for row in used} == {f"kinesis-{versions['sdk']}.jar"}
    if settings:
        assert {row["jackson"] for row in used} == {f"jackson-databind-{versions['jackson']}.jar"}
        assert {row["protobuf"] for row in used} == {f"protobuf-java-{versions['protobuf']}.jar"}
        assert [row["netty"] for row in used if Path(SPARK / "jars" / row["netty"]).exists()] == []


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(pyspark.sql.SparkSession, "addArtifacts"), reason="Spark 3.5's PySpark has no Connect server of its own"
)
def test_source_and_sink_work_in_a_connect_session_that_brings_its_own_sdk_as_artifacts(
    streams: LocalKinesis, tmp_path: Path
) -> None:
    libraries = own_libraries(OLDER)
    copied(
        streams,
        [sys.executable],
        tmp_path,
        REMOTE="local[2]",
        JARS=",".join(map(str, [compiled(libraries, tmp_path), *libraries])),
        SPARK_TESTING="1",  # A free port for the local server.
        PYTHONPATH=connect_path(),
    )


def another_version(folder: Path, key: str = "version", value: str = "99.0.0") -> Path:
    """The connector's JAR as a made-up later version: classes that travel to the executors have other members."""
    other = folder / f"kinesis-spark-4_2.13-{value}.jar"
    with zipfile.ZipFile(jars.connector_jar()) as own, zipfile.ZipFile(other, "w") as made:
        for name in own.namelist():
            content = own.read(name)
            if name == "META-INF/kinesis-spark.properties":
                content = re.sub(rf"{key}=.*".encode(), f"{key}={value}".encode(), content)
            elif name.startswith("io/github/kinesisspark/") and "/shaded/" not in name:
                # As long as before, so that the class files stay whole.
                content = content.replace(b"hashKeys", b"hashKeyz").replace(b"bufferSize", b"bufferSizf")
            made.writestr(name, content)
    return other


def attempts(streams: LocalKinesis, folder: Path, settings: dict[str, str]) -> dict[str, str]:
    """How reading and writing end, by what was tried."""
    put(streams, "orders", 20)
    command = [
        *(str(SPARK / "bin" / "spark-submit"), "--master", CLUSTER, "--conf", "spark.ui.enabled=false"),
        *(f"--conf={name}={value}" for name, value in settings.items()),
        str(HERE / "two_versions.py"),
    ]
    environment = {
        **os.environ,
        "SPARK_HOME": str(SPARK),
        "PYSPARK_PYTHON": sys.executable,
        "OPTIONS": json.dumps(dict(streams.options("events").to_dict())),
        "SINK_OPTIONS": json.dumps(dict(streams.sink_options("copies").to_dict())),
    }
    said = output(command, timeout_s=600, environment=environment, folder=folder).splitlines()
    return {row["attempt"]: row["error"] for row in map(json.loads, (line for line in said if line.startswith("{")))}


def test_executors_with_another_version_of_the_jar_are_refused_by_source_and_sink(
    streams: LocalKinesis, tmp_path: Path
) -> None:
    own, other = jars.connector_jar(), another_version(tmp_path)
    errors = errors_of(streams, tmp_path, own, other)
    why = rf"{named(own)}, and executor \d has {other.stem} \({other}\)\."
    assert [attempt for attempt in ("stream", "batch", "write") if not re.search(why, errors[attempt])] == [], errors


@pytest.mark.slow
def test_executors_with_another_snapshot_of_the_jar_are_refused_by_source_and_sink(
    streams: LocalKinesis, tmp_path: Path
) -> None:
    own, other = jars.connector_jar(), another_version(tmp_path, "commit", "c0ffee")
    if "-SNAPSHOT" not in own.name:
        pytest.skip("a release has one commit")
    errors = errors_of(streams, tmp_path, own, other)
    why = rf"{named(own)}, and executor \d has {own.stem} of commit c0ffee \({other}\)\."
    assert [attempt for attempt in ("stream", "batch", "write") if not re.search(why, errors[attempt])] == [], errors


def named(own: Path) -> str:
    return rf"\[KINESIS_WRONG_JAR\] The driver has {own.stem}( of commit \S+)? \({own}\)"


def errors_of(streams: LocalKinesis, folder: Path, driver: Path, executor: Path) -> dict[str, str]:
    paths = {"spark.driver.extraClassPath": str(driver), "spark.executor.extraClassPath": str(executor)}
    return attempts(streams, folder, paths)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, FIRST], ids=["user's class path last", "user's class path first"])
def test_two_versions_of_the_jar_on_one_class_path_are_refused(
    streams: LocalKinesis, tmp_path: Path, settings: dict[str, str]
) -> None:
    own, other = jars.connector_jar(), another_version(tmp_path)
    errors = attempts(
        streams,
        tmp_path,
        {
            "spark.driver.extraClassPath": str(own),
            "spark.executor.extraClassPath": str(own),
            "spark.jars": str(other),
            **settings,
        },
    )
    for attempt in ("stream", "batch", "write"):
        assert "[KINESIS_WRONG_JAR] The class path has" in errors[attempt], errors
        assert str(own) in errors[attempt], errors
        assert str(other) in errors[attempt], errors
