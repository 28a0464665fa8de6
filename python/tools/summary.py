"""Prints the result of a run of the tests, and writes it to build/summary.txt: `python summary.py [LEFT OUT]...`.

Reads the JUnit reports of ScalaTest and pytest (build/test-reports/MODULE/*.xml), the suites that are due there
(suites.txt), and the names of the steps that failed (build/failed-steps.txt). The last line is
`N passed, N failed, N skipped`; the exit status is 1 if a test or a step failed, or a suite left no report.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "build"
SLOWEST, LINES, WIDTH = 10, 40, 200
# Frames of a stack trace that say nothing of the test.
FRAMEWORK = re.compile(r"\s+at (?:java\.base/)?(?:java|jdk|scala|sbt|org\.scalatest|org\.scalactic)\.")


@dataclass(frozen=True, slots=True)
class Case:
    """A test, or the end of a suite that a failure has aborted.

    Attributes:
        module: `connector`, `testkit`, ..., or a step of pytest.
        outcome: `passed`, `failed` or `skipped`.
        text: of a failure, or the reason of a skip.
    """

    module: str
    suite: str
    name: str
    seconds: float
    outcome: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.module} {self.suite}: {self.name}"


def cases(build: Path) -> list[Case]:
    """All tests of a run."""
    return [case for report in sorted(build.glob("test-reports/*/*.xml")) for case in _cases(report)]


def _cases(report: Path) -> Iterator[Case]:
    for suite in ET.parse(report).iter("testsuite"):  # noqa: S314 (our own reports)
        tests = suite.findall("testcase")
        for test in tests:
            of = (test.get("classname") or "").rpartition(".")[2]
            yield Case(report.parent.name, of, test.get("name") or "", float(test.get("time") or 0), *_outcome(test))
        # ScalaTest counts an aborted suite as an error, and has no test for it.
        if int(suite.get("errors") or 0) and not any(test.find("error") is not None for test in tests):
            text = "aborted; build/logs has why"
            yield Case(report.parent.name, report.stem.rpartition(".")[2], "(the suite)", 0, "failed", text)


def _outcome(test: ET.Element) -> tuple[str, str]:
    for trouble in (*test.findall("failure"), *test.findall("error")):
        message, text = trouble.get("message") or "", (trouble.text or "").strip()
        return "failed", text if message in text else f"{message}\n{text}".strip()
    skipped = test.find("skipped")
    return ("passed", "") if skipped is None else ("skipped", skipped.get("message") or "ignored or canceled")


def problems(build: Path, ran: Sequence[Case]) -> list[str]:
    """What failed without a failed test to show for it: suites without a report, and steps."""
    missing = [
        f"{due.parent.name} {suite}: no report; its JVM died or never began (build/logs)"
        for due in sorted(build.glob("test-reports/*/suites.txt"))
        for suite in due.read_text().split()
        if not due.with_name(f"TEST-{suite}.xml").exists()
    ]
    failed = {case.module if case.module.startswith("pytest") else "scala" for case in ran if case.outcome == "failed"}
    steps = build / "failed-steps.txt"
    names = steps.read_text().split() if steps.exists() else []
    shown = failed | ({"scala"} if missing else set())
    return missing + [f"step {name} failed: its output is above" for name in names if name not in shown]


def text(ran: Sequence[Case], trouble: Sequence[str], left_out: Sequence[str]) -> Iterator[str]:
    """The lines of the summary, what failed last."""
    for module in sorted({case.module for case in ran}):
        own = [case for case in ran if case.module == module]
        yield f"{module}: {_counts(own)}, {sum(case.seconds for case in own):.0f} s"
    yield from _section(
        "Slowest tests", (f"{c.seconds:6.1f} s  {c}" for c in sorted(ran, key=lambda c: -c.seconds)[:SLOWEST])
    )
    skipped = Counter(f"{c.module} {c.suite}: {' '.join(c.text.split())}" for c in ran if c.outcome == "skipped")
    yield from _section("Skipped", (f"{why} ({count})" for why, count in skipped.items()))
    yield from _section("Left out", left_out)
    for case in (case for case in ran if case.outcome == "failed"):
        lines = [line for line in case.text.splitlines() if not FRAMEWORK.match(line)]
        yield from _section(f"FAILED {case}", [*lines[: LINES // 2], *lines[LINES // 2 :][-LINES // 2 :]])
    # Once more in a line each, as an excerpt of a long output has its end.
    failed = (f"{c}: {c.text.partition(chr(10))[0][:WIDTH]}" for c in ran if c.outcome == "failed")
    yield from _section("FAILED", [*failed, *trouble])
    yield _counts(ran, len(trouble))


def _counts(ran: Sequence[Case], more_failed: int = 0) -> str:
    kinds = Counter(case.outcome for case in ran)
    return f"{kinds['passed']} passed, {kinds['failed'] + more_failed} failed, {kinds['skipped']} skipped"


def _section(title: str, lines: Sequence[str] | Iterator[str]) -> Iterator[str]:
    found = list(lines)
    yield from (["", f"{title}:", *(f"  {line}" for line in found), ""] if found else [])


def main(build: Path, left_out: Sequence[str]) -> int:
    """Print it; the exit status."""
    ran = cases(build)
    trouble = problems(build, ran) or ([] if ran else ["no test ran"])
    summary = "\n".join(text(ran, trouble, left_out)).replace("\n\n\n", "\n\n")
    print(summary)
    (build / "summary.txt").write_text(summary + "\n")
    return 1 if trouble or any(case.outcome == "failed" for case in ran) else 0


if __name__ == "__main__":
    sys.exit(main(BUILD, sys.argv[1:]))
