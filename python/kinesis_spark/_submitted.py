"""The JARs that a session would have without this package: those of spark-submit's arguments and of Spark's defaults.

A JVM that Python starts takes its arguments from `PYSPARK_SUBMIT_ARGS` (as notebooks and IDEs set it) and its defaults
from `spark-defaults.conf`. A setting of a session builder replaces them, so what they name has to be in it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SPARK_JARS = "spark.jars"
SPARK_PACKAGES = "spark.jars.packages"
_CONNECTOR = "io.github.kinesisspark:kinesis-spark-"
_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"


def gateway_of_submit() -> Any:  # noqa: ANN401  (py4j's view of a JVM)
    """The JVM that runs this program, where it was started by spark-submit; None elsewhere. Starts none."""
    try:
        from pyspark import SparkContext
    except ImportError:
        # pyspark-client has Spark Connect alone.
        return None

    if SparkContext._jvm is None and "PYSPARK_GATEWAY_PORT" in os.environ:  # noqa: SLF001  (no public name for either)
        SparkContext._ensure_initialized()  # noqa: SLF001
    return SparkContext._jvm  # noqa: SLF001


def add_to_arguments(jar: str) -> list[str]:
    """Add a JAR to those that `PYSPARK_SUBMIT_ARGS` names, if it names any, and return what it names then.

    spark-submit prefers its arguments to the settings of a builder; so the JAR has to stand there as well.
    """
    words = _words()
    named: list[str] = []
    for at, word in enumerate(words[:-1]):
        value = words[at + 1]
        if word == "--jars":
            named = _items(value)
            words[at + 1] = ",".join(_with(named, jar))
        elif word in ("--conf", "-c") and value.startswith(f"{SPARK_JARS}="):
            named = named or _items(value.partition("=")[2])
            words[at + 1] = f"{SPARK_JARS}={','.join(_with(named, jar))}"
    if named:
        os.environ[_ARGUMENTS] = shlex.join(words)
    return named


def packages_have_connector(of_builder: str) -> bool:
    """Whether `spark.jars.packages` names the connector: of the arguments, else the builder's, else the defaults'."""
    settings = [value.partition("=") for value in _values("--conf", "-c")]
    given = _values("--packages") or [value for name, _, value in settings if name == SPARK_PACKAGES]
    named = _items(given[-1] if given else of_builder) or defaults(SPARK_PACKAGES)
    return any(package.startswith(_CONNECTOR) for package in named)


def defaults(name: str) -> list[str]:
    """The items of a setting in Spark's file of defaults."""
    given = _values("--properties-file")
    file = Path(given[-1]) if given else _configuration() / "spark-defaults.conf"
    lines = file.read_text().splitlines() if file.is_file() else []
    found = [line.strip().replace("=", " ", 1).split(None, 1) for line in lines]
    values = [words[1] for words in found if len(words) > 1 and words[0] == name]
    return _items(values[-1]) if values else []


def joined(*groups: Sequence[str]) -> str:
    """All JARs of some groups once, as `spark.jars` has them."""
    return ",".join(dict.fromkeys(jar for group in groups for jar in group))


def _configuration() -> Path:
    from pyspark.find_spark_home import _find_spark_home

    return Path(os.environ.get("SPARK_CONF_DIR") or Path(_find_spark_home()) / "conf")


def _words() -> list[str]:
    """The arguments, with `--jars=a.jar` as `--jars a.jar`."""
    words = shlex.split(os.environ.get(_ARGUMENTS, ""))
    with_value = ("--jars=", "--packages=", "--conf=", "--properties-file=")
    return [part for word in words for part in (word.split("=", 1) if word.startswith(with_value) else [word])]


def _values(*names: str) -> list[str]:
    """What the arguments of these names are given, in their order."""
    words = _words()
    return [value for word, value in zip(words, words[1:]) if word in names]


def _items(text: str) -> list[str]:
    return [jar.strip() for jar in text.split(",") if jar.strip()]


def _with(jars: list[str], jar: str) -> list[str]:
    return jars if jar in jars else [*jars, jar]
