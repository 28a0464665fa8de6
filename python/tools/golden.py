"""Writes the golden checkpoints of a version: `python golden.py VERSION WHEEL...`.

One file for each line of Spark, by its newest patch, in the environments of `make test-versions` (spark_versions.py).
What is in them: python/tests/golden_streams.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from spark_versions import RUNS, SHORT_JVM, TESTS, environment


def main() -> None:
    """On the newest patch of each line that PyPI has."""
    version, wheels = sys.argv[1], [Path(wheel).resolve() for wheel in sys.argv[2:]]
    newest = {run.spark.rpartition(".")[0]: run for run in RUNS if not run.scala and not run.java}
    for line, run in newest.items():
        python = str(environment(run, wheels))
        golden = TESTS / "golden" / f"{version}-spark-{line}.json"
        golden.parent.mkdir(exist_ok=True)
        variables = {**os.environ, "PYSPARK_PYTHON": python, "JAVA_TOOL_OPTIONS": SHORT_JVM}
        subprocess.run([python, str(TESTS / "golden_streams.py"), str(golden)], check=True, env=variables)
        print(golden)


if __name__ == "__main__":
    main()
