"""Puts the JARs into the wheel, so that the Python package and the connector can't be of two versions.

The connector JAR makes `kinesis_spark.session` work without `--packages`; the testkit JAR makes `LocalKinesis` work
in the tests of someone who has only `pip install`. Both are built beforehand (`make package`) and lie in `dist/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JarsInWheel(BuildHookInterface):  # type: ignore[type-arg]
    """Maps each JAR of this version in `dist/` to `kinesis_spark/jars/` in the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Refuse to build a wheel without JARs: it would fail only at its user's first query."""
        if version == "editable":
            return
        dist = Path(self.root).parent / "dist"
        release = self.metadata.version
        for name in (f"kinesis-spark_2.13-{release}.jar", f"kinesis-spark-testkit-{release}.jar"):
            jar = dist / name
            if not jar.is_file():
                raise FileNotFoundError(
                    f"Building the wheel: {jar} is missing. Run `make package`, which builds it first."
                )
            build_data["force_include"][str(jar)] = f"kinesis_spark/jars/{name}"
