"""Puts the JARs into the wheel, so that the Python package and the connector can't be of two versions.

The connector JARs, one for each line of Spark on PyPI, make `kinesis_spark.session` work without `--packages`; the
testkit JAR makes `LocalKinesis` work in the tests of someone who has only `pip install`. All are built beforehand
(`make package`) and lie in `dist/`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# As kinesis_spark/jars.py asks for them. For tests the environment may leave out some: WHEEL_LINES="4".
LINES = {"3.5": "kinesis-spark-3.5_2.12", "4": "kinesis-spark-4_2.13"}


class JarsInWheel(BuildHookInterface):  # type: ignore[type-arg]
    """Maps each JAR of this version in `dist/` to `kinesis_spark/jars/` in the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Refuse to build a wheel without JARs: it would fail only at its user's first query."""
        if version == "editable":
            return
        dist = Path(self.root).parent / "dist"
        release = self.metadata.version
        connectors = [LINES[line] for line in os.environ.get("WHEEL_LINES", " ".join(LINES)).split()]
        for artifact in (*connectors, "kinesis-spark-testkit"):
            name = f"{artifact}-{release}.jar"
            jar = dist / name
            if not jar.is_file():
                raise FileNotFoundError(
                    f"Building the wheel: {jar} is missing. Run `make package`, which builds it first."
                )
            build_data["force_include"][str(jar)] = f"kinesis_spark/jars/{name}"
