"""Where the JARs of this installation are, and whether a session has the connector on its class path."""

from __future__ import annotations

import os
import re
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from kinesis_spark.errors import JarMissingError

if TYPE_CHECKING:
    from py4j.java_gateway import JVMView
    from pyspark.sql import SparkSession

# The source and the sink, by the name of the class: another JAR can't take its place, as one with a source of the same
# short name can.
FORMAT = "io.github.kinesisspark.KinesisTableProvider"
_JARS = Path(__file__).parent / "jars"


def connector_jar() -> Path:
    """The connector JAR that came with this package, for the Spark of this environment.

    Raises:
        JarMissingError: if the package has none for this Spark, or is a source tree, or an installation that lost it,
            or if PySpark is not installed.
    """
    return _bundled(
        _JARS,
        f"{_artifact()}-*.jar",
        "connector",
        "Install the package kinesis-spark again: its wheel contains the JAR. In a clone, the wheel is in dist/ after "
        "`make package`. JARs for other builds of Spark come by `--packages`.",
    )


def testkit_jar() -> Path:
    """The local Kinesis server's JAR, which the package `kinesis-spark-local` brings.

    Raises:
        JarMissingError: if that isn't installed, or lost it.
    """
    server = find_spec("kinesis_spark_local")
    folder = Path(server.origin).parent / "jars" if server is not None and server.origin else _JARS
    return _bundled(
        folder,
        "kinesis-spark-testkit-*.jar",
        "local Kinesis server's",
        "Install the package kinesis-spark-local: its wheel contains the JAR. In a clone, the wheel is in dist/ after "
        "`make package`.",
    )


def require_jar(spark: SparkSession) -> None:
    """Make sure that a session can load the connector, in the version of this package.

    On Spark Connect the class path is the server's: what is loaded there shows whether it has it (`read.py`).

    Raises:
        JarMissingError: if the session's JVM doesn't have the connector's classes; says how to add them. Or if it has
            those of another version.
    """
    jvm = getattr(spark, "_jvm", None) if is_classic(spark) else None
    if jvm is None:
        return
    if on_class_path(jvm):
        if (loaded := _loaded_jar(jvm)) is not None:
            _require_version(loaded)
        return
    conf = spark.sparkContext.getConf()
    found = conf.get("spark.jars", "") or "none"
    raise JarMissingError(
        f"The Spark session of application {spark.sparkContext.appName!r} can't load {FORMAT}: the kinesis-spark "
        f"JAR is not on its class path (spark.jars: {found}). Either build the session with "
        "`kinesis_spark.session.builder(...)`, before any other session is started in this process, or start Spark "
        f"with {how_to_add()}. A running JVM can't be given it afterwards."
    )


def _loaded_jar(jvm: JVMView) -> str | None:
    """The name of the connector's JAR; None on a platform that lets Python call no such method."""
    from py4j.protocol import Py4JError

    try:
        return str(jvm.io.github.kinesisspark.jar.ConnectorJar.name())
    except (Py4JError, TypeError):
        return None


def _require_version(jar: str) -> None:
    # A source tree has no version, and any JAR will do. A snapshot counts as the version that it becomes.
    own, loaded = _own_version(), _version(jar)
    if own is not None and loaded != own:
        raise JarMissingError(
            f"The Spark session has the connector {jar}, and this Python package is version {own}. Take both in one "
            f"version: install the wheel of version {loaded}, or start Spark with the JAR of version {own}, by "
            f"`--jars` or {_packages(own)}."
        )


def _own_version() -> str | None:
    """That of this package, by its JARs or, in a wheel on `--py-files`, by its metadata; None in a source tree."""
    bundled = {_version(file.name) for file in _JARS.glob("kinesis-spark-*_*.jar")}
    if bundled:
        return max(bundled)
    # An installation elsewhere says nothing of a source tree.
    in_archive = any(part.suffix in (".whl", ".zip") for part in _JARS.parents)
    try:
        return version("kinesis-spark").partition(".dev")[0] if in_archive else None
    except PackageNotFoundError:
        return None


def _version(jar: str) -> str:
    """The numbers in a name like `kinesis-spark-4_2.13-0.1.0-SNAPSHOT`."""
    found = re.match(r"kinesis-spark-[\d.]+_[\d.]+-(\d+(?:\.\d+)*)", jar)
    return found.group(1) if found else jar


def missing_on_server() -> JarMissingError:
    """That a server of Spark Connect can't load the connector."""
    return JarMissingError(
        f"The Spark Connect server can't load {FORMAT}: it was started without the kinesis-spark JAR. Start it with "
        f"{_packages()}, or with `--jars`. A running server can't be given it afterwards."
    )


def _packages(version: str = "<version>") -> str:
    return f"`--packages io.github.kinesisspark:{_artifact()}:{version}`"


def how_to_add() -> str:
    """Arguments of spark-submit that give Spark the connector: of a wheel on `--py-files`, the JAR has no path."""
    jars = sorted(_JARS.glob(f"{_artifact()}-*.jar"))
    return " or ".join([*(f"`--jars {jar}`" for jar in jars), _packages()])


def on_class_path(jvm: object) -> bool:
    """Whether a py4j view of Spark's JVM can load the connector."""
    from py4j.java_gateway import JavaClass

    found: object = jvm
    for part in FORMAT.split("."):
        found = getattr(found, part)
    return isinstance(found, JavaClass)


def is_classic(spark: SparkSession) -> bool:
    """Whether a session is not one of Spark Connect."""
    return "connect" not in type(spark).__module__.split(".")


def _artifact() -> str:
    """The connector for the Spark of this environment, by its Maven name."""
    try:
        import pyspark
    except ModuleNotFoundError:
        raise JarMissingError(
            "PySpark is not installed here, and its version decides which connector JAR fits. Install it in the "
            'version of the cluster: pip install "pyspark>=3.5,<5".'
        ) from None

    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    # Like spark-core_2.12-3.5.9.jar. An installation without JARs, as for Spark Connect, has PySpark's version alone.
    core = next((jar.stem for jar in home.glob("jars/spark-core_*.jar")), f"spark-core_-{pyspark.__version__}")
    scala, spark = core.removeprefix("spark-core_").split("-", 1)
    if spark.startswith("3.5."):
        return f"kinesis-spark-3.5_{scala or '2.12'}"
    if spark.startswith("4."):
        return "kinesis-spark-4_2.13"
    raise JarMissingError(f"The connector runs on Spark 3.5 and 4; this environment has Spark {spark} ({home}).")


def _bundled(folder: Path, pattern: str, what: str, advice: str) -> Path:
    jars = sorted(folder.glob(pattern))
    if len(jars) == 1:
        return jars[0]
    found = ", ".join(jar.name for jar in sorted(folder.glob("*.jar"))) or "none"
    raise JarMissingError(f"Looking for the {what} JAR ({pattern}) in {folder}: found {found}, expected one. {advice}")
