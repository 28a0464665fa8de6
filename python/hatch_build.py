"""Puts JARs into the wheels and the source distribution, and the extra `local` into the package's metadata.

The connector JARs, one for each line of Spark on PyPI, make `kinesis_spark.session` work without `--packages`; the
testkit JAR, in a distribution of its own (`testkit/pyproject.toml`), makes `LocalKinesis` work in the tests of someone
who has only pip. All are built beforehand (`make package`) and lie in `dist/`. The source distribution carries the
connector JARs, as PySpark's own carries Spark's, so that pip can build the wheel from it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class JarsInWheel(BuildHookInterface):  # type: ignore[type-arg]
    """Maps each JAR of this version to the package's `jars/`; pyproject.toml names them.

    For tests the environment may leave out some: WHEEL_JARS="kinesis-spark-4_2.13".
    """

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Refuse to build a wheel without JARs: it would fail only at its user's first query."""
        if version == "editable":
            return
        # As Maven writes a version that is not released.
        root, release = Path(self.root), self.metadata.version.replace(".dev0", "-SNAPSHOT")
        # In a source distribution they are beside the sources.
        carried = [folder for folder in (root / "jars",) if folder.is_dir()]
        built = [parent / "dist" for parent in root.parents if (parent / "project" / "Versions.scala").is_file()]
        asked = os.environ.get("WHEEL_JARS", " ".join(self.config["jars"])).split()
        for artifact in self.config["jars"]:
            name = f"{artifact}-{release}.jar"
            jar = (carried + built)[0] / name
            if artifact not in asked:
                continue
            if not jar.is_file():
                raise FileNotFoundError(
                    f"Building the {self.target_name}: {jar} is missing. Run `make package`, which builds it first."
                )
            place = "jars" if self.target_name == "sdist" else self.config["into"]
            build_data["force_include"][str(jar)] = f"{place}/{name}"


class Extras(MetadataHookInterface):
    """Adds the extra `local`: the server's distribution in the very version of this package."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Take the other extras from pyproject.toml."""
        local = {"local": [f"kinesis-spark-local=={metadata['version']}"]}
        metadata["optional-dependencies"] = {**self.config["extras"], **local}
