"""Reads the JUnit reports that sbt (project/SuiteReports.scala) and pytest leave."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Passed:
    """The test ran and held."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The test, or its suite, failed; `text` is the message with the stack trace."""

    text: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """The test did not run to its end: skipped, canceled, ignored, pending or expected to fail."""

    reason: str


Outcome: TypeAlias = Passed | Failed | Skipped


@dataclass(frozen=True, slots=True)
class Case:
    """One test.

    Attributes:
        module: `connector`, `testkit`, ..., or `python`.
        suite: the suite's simple name, with the nested suite's after a slash; in Python the test file.
        seconds: with the test's own set-up; in Python also that of fixtures which it is the first to use.
    """

    module: str
    suite: str
    name: str
    seconds: float
    outcome: Outcome


def scala_cases(root: Path) -> list[Case]:
    """All tests of all Scala modules below the project's root."""
    reports = sorted(root.glob("*/target/test-reports*/TEST-*.xml"))
    return [case for report in reports for case in _cases(report, _module(report))]


def python_cases(root: Path) -> list[Case]:
    """All tests of all runs of pytest, each of which leaves `build/pytest*.xml`."""
    return [case for report in sorted(root.glob("build/pytest*.xml")) for case in _cases(report, "python")]


def missing_suites(root: Path) -> list[str]:
    """Scala suites that were due and left no report, as `module suite`: their JVM died, or never began."""
    return [
        f"{_module(due)} {suite.rpartition('.')[2]}"
        for due in sorted(root.glob("*/target/test-reports*/suites.txt"))
        for suite in due.read_text().split()
        if not due.with_name(f"TEST-{suite}.xml").exists()
    ]


def _module(report: Path) -> str:
    """Of `<module>/target/test-reports/...`; the run of optimized code has reports of its own."""
    return report.parts[-4] + report.parts[-2].removeprefix("test-reports").replace("-optimized", " (optimized)")


def _cases(report: Path, module: str) -> Iterator[Case]:
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 (our own reports)
        suite = _suite(case.get("classname") or "", module)
        name = case.get("name") or ""
        yield Case(module, suite, name, float(case.get("time") or 0), _outcome(case))


def _outcome(case: ET.Element) -> Outcome:
    for trouble in (*case.iter("failure"), *case.iter("error")):
        message, text = trouble.get("message") or "", (trouble.text or "").strip()
        return Failed(text if message in text else f"{message}\n{text}".strip())
    for skipped in case.iter("skipped"):
        reason = (skipped.get("message") or "").strip()
        kind = "expected to fail: " if skipped.get("type") == "pytest.xfail" else ""
        return Skipped(kind + (reason or "no reason given"))
    return Passed()


def _suite(class_name: str, module: str) -> str:
    """`a.b.ReadingSpec/a.b.Reading-polling` is `ReadingSpec/Reading-polling`, `tests.test_batch` is `test_batch`."""
    parts = [part.rpartition(".")[2] for part in class_name.split("/")]
    # A nested suite's id may be its class name alone, or that with the target's name.
    return "/".join(dict.fromkeys(parts)) if module != "python" else parts[-1]
