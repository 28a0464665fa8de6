"""Prints what a run of the tests came to, what failed last: `python summary.py run --left-out "LocalStack: ..."`.

Reads the JUnit reports, build/steps.jsonl, and the tags in the tests' sources. The last line is
`N passed, N failed, N skipped`; the exit status is 1 if anything failed, also a step or a suite without a report.
`python summary.py minutes ROOT` prints only where the time of the last run in a directory went.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import junit
import tagged
from junit import Case, Failed, Skipped
from step import Step, steps
from tagged import Tagged

ROOT = Path(__file__).resolve().parents[2]
SLOWEST = 10
# A failure's head says what happened, in pytest its end. What lies between is ScalaTest's or pytest's own.
HEAD_LINES, TAIL_LINES = 25, 15
HEADLINE = 600


@dataclass(frozen=True, slots=True)
class Run:
    """All that is known of a run.

    Attributes:
        aborted: suites and steps that died without a report of their own, with what is known of why.
        left_out: what this loop doesn't run, with the reason.
    """

    cases: Sequence[Case]
    steps: Sequence[Step]
    aborted: Sequence[str]
    tags: Sequence[Tagged]
    left_out: Sequence[str]

    @property
    def failed(self) -> list[Case]:
        """The tests that failed."""
        return [case for case in self.cases if isinstance(case.outcome, Failed)]

    @property
    def skipped(self) -> list[Case]:
        """The tests that did not run to their end."""
        return [case for case in self.cases if isinstance(case.outcome, Skipped)]

    @property
    def is_good(self) -> bool:
        """Nothing failed, and something ran."""
        return bool(self.cases) and not self.failed and not self.aborted


def aborted(cases: Sequence[Case], ran: Sequence[Step], missing: Iterable[str], due: Iterable[str]) -> list[str]:
    """What failed without a failed test to show for it.

    A step that runs tests ends with a failure if one of them fails, and that is reported already.
    """
    suites = [f"{suite}: no report; its JVM died or never began (see build/logs)" for suite in missing]
    failed = {"pytest" if case.module == "python" else "scala" for case in cases if isinstance(case.outcome, Failed)}
    shown = failed | ({"scala"} if suites else set())
    steps = [
        f"step {step.name} ended with status {step.status}"
        for step in ran
        if step.status != 0 and _runner(step.name) not in shown
    ]
    names = {step.name for step in ran}
    never = [f"step {name} has not run: what it needs failed" for name in due if name not in names]
    return [*suites, *steps, *never]


def _runner(step: str) -> str:
    """Of a step that runs tests: `scala` or `pytest`."""
    return {"concurrency": "scala"}.get(step, step.partition("-")[0])


def text(run: Run) -> Iterator[str]:
    """The lines of the summary."""
    yield from _section("What failed, in a word", headlines(run))
    yield from _section("Totals", totals(run.cases))
    yield from _section(f"Slowest {SLOWEST} tests", slowest(run.cases))
    yield from _section("Steps (wall clock, CPU of ended processes)", minutes(run.steps))
    yield from _section("Skipped and canceled", skipped(run.skipped))
    yield from _section("Left out of this run", run.left_out)
    for tag in sorted({test.tag for test in run.tags}):
        yield from _section(f"Tests tagged {tag}", (f"{t.suite}: {t.name}" for t in run.tags if t.tag == tag))
    yield from _section("FAILED", failures(run))
    bad, out = len(run.failed) + len(run.aborted), len(run.skipped)
    yield f"{len(run.cases) - len(run.failed) - out} passed, {bad} failed, {out} skipped"


def headlines(run: Run) -> Iterator[str]:
    """A line for each failure, for those who see only a part of the output."""
    for case in run.failed:
        assert isinstance(case.outcome, Failed)  # noqa: S101 (by `failed`)
        lines = case.outcome.text.splitlines()
        raised = [line.removeprefix("E").strip() for line in lines if line.startswith("E  ")]
        yield f"{case.module} {case.suite}: {case.name}: {[*raised, *lines, 'no message'][0][:HEADLINE]}"
    yield from run.aborted


def totals(cases: Sequence[Case]) -> Iterator[str]:
    """A line for each module."""
    for module in sorted({case.module for case in cases}):
        own = [case for case in cases if case.module == module]
        kinds = Counter(type(case.outcome).__name__.lower() for case in own)
        counts = ", ".join(f"{kinds[kind]} {kind}" for kind in ("passed", "failed", "skipped"))
        yield f"{module:18} {counts}; {len({case.suite for case in own})} suites, {sum(c.seconds for c in own):.0f} s"


def slowest(cases: Sequence[Case]) -> Iterator[str]:
    """The slowest tests."""
    for case in sorted(cases, key=lambda case: -case.seconds)[:SLOWEST]:
        yield f"{case.seconds:6.1f} s  {case.module} {case.suite}: {case.name}"


def minutes(ran: Sequence[Step]) -> Iterator[str]:
    """When each step began, and what it took."""
    for step in ran:
        begun = step.started - ran[0].started
        yield f"{step.seconds:6.0f} s  {step.name} (from {begun:.0f} s on, CPU {step.cpu:.0f} s)"
    if ran:
        end = max(step.started + step.seconds for step in ran)
        yield f"{end - ran[0].started:6.0f} s  in all (CPU {sum(step.cpu for step in ran):.0f} s)"


def skipped(cases: Sequence[Case]) -> Iterator[str]:
    """The tests by reason: many may share one."""
    reasons: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        if isinstance(case.outcome, Skipped):
            reasons[f"{case.module} {case.suite}: {' '.join(case.outcome.reason.split())}"].append(case)
    for reason, of in reasons.items():
        yield f"{reason}: {of[0].name}" if len(of) == 1 else f"{reason} ({len(of)} tests)"


def failures(run: Run) -> Iterator[str]:
    """Each failure in full, or its first and last lines, and what died without one."""
    for case in run.failed:
        assert isinstance(case.outcome, Failed)  # noqa: S101 (by `failed`)
        lines = case.outcome.text.splitlines()
        yield f"{case.module} {case.suite}: {case.name}"
        cut = max(0, len(lines) - HEAD_LINES - TAIL_LINES)
        between = [f"... {cut} more lines in the report"] if cut else []
        shown = [*lines[:HEAD_LINES], *between, *lines[HEAD_LINES + cut :]]
        yield from (f"    {line}" for line in shown)
    yield from run.aborted


def suites(cases: Sequence[Case], least: float) -> Iterator[str]:
    """Seconds of each module, and of its suites that took longer than `least`."""
    sums: dict[tuple[str, str], float] = defaultdict(float)
    for case in cases:
        sums[case.module, case.suite.split("/")[0]] += case.seconds
    for module in sorted({module for module, _ in sums}):
        own = {suite: s for (of, suite), s in sums.items() if of == module}
        yield f"{sum(own.values()):6.0f} s  {module} ({len(own)} suites)"
        for suite, seconds in sorted(own.items(), key=lambda item: -item[1]):
            if seconds >= least:
                yield f"{seconds:6.0f} s      {suite}"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield f"\n{title}:"
        yield from (f"  {line}" for line in found)
        yield ""


def read(root: Path, python_roots: Iterable[str], due: Iterable[str], left_out: Sequence[str]) -> Run:
    """The last run in a directory."""
    cases = [*junit.scala_cases(root), *junit.python_cases(root)]
    ran = steps(root)
    tags = tagged.tagged_tests(root, python_roots)
    return Run(cases, ran, aborted(cases, ran, junit.missing_suites(root), due), tags, left_out)


def main() -> int:
    """Read the command line, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    full = verbs.add_parser("run", help="the summary of the last run")
    full.add_argument("--due", nargs="+", default=[], help="steps that a run has")
    full.add_argument("--left-out", nargs="+", default=[], help="what this loop doesn't run, and why")
    full.add_argument("--tests", nargs="+", default=["python/tests"], help="where Python tests are")
    table = verbs.add_parser("minutes", help="where the time of the last run went")
    table.add_argument("root", type=Path, nargs="?", default=ROOT)
    table.add_argument("--least", type=float, default=10, help="seconds of a suite that has a line of its own (10)")
    asked = parser.parse_args()
    if asked.verb == "minutes":
        cases = [*junit.scala_cases(asked.root), *junit.python_cases(asked.root)]
        print("\n".join([*minutes(steps(asked.root)), *suites(cases, asked.least)]))
        return 0
    run = read(ROOT, asked.tests, asked.due, asked.left_out)
    summary = "\n".join(text(run)).replace("\n\n\n", "\n\n")
    print(summary)
    (ROOT / "build" / "summary.txt").write_text(summary + "\n")
    return 0 if run.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
