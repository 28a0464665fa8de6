"""Says which tests failed in the last run, from the JUnit reports that sbt and pytest leave.

`make test` runs Scala's and Python's tests side by side, and what failed may be far up in what they printed.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path


def failures(root: Path) -> Iterator[str]:
    """One line for each test that failed: suite, test, and the first line of why."""
    for report in sorted([*root.glob("*/target/test-reports/*.xml"), *root.glob("build/pytest.xml")]):
        for case in ET.parse(report).iter("testcase"):  # noqa: S314 (our own reports)
            for trouble in [*case.iter("failure"), *case.iter("error")]:
                why = (trouble.get("message") or trouble.text or "").strip().splitlines()
                yield f"{case.get('classname')}: {case.get('name')}: {why[0] if why else 'without a word'}"


if __name__ == "__main__":
    told = list(failures(Path(__file__).resolve().parents[2]))
    print(f"{len(told)} tests failed:" if told else "No report has a failed test: look for a suite that was aborted.")
    print(*told, sep="\n")
    sys.exit(1)
