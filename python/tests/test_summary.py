"""The summary of a run: what it reads, what it says, and what it counts as a failure."""

from __future__ import annotations

import json
from pathlib import Path

import junit
import pytest
import summary
import tagged
from junit import Case, Failed, Outcome, Passed, Skipped
from step import Step, run, steps
from summary import Run
from tagged import Tagged

REPORT = """<?xml version='1.0' encoding='UTF-8'?>
<testsuite name="a.b.ReadingSpec">
  <testcase classname="a.b.ReadingSpec/a.b.Reading-polling" name="a query reads each record once" time="1.5"></testcase>
  <testcase classname="a.b.ReadingSpec" name="a query stops" time="0.5"><failure message="2 was not 3">2 was not 3
    at a.b.ReadingSpec</failure></testcase>
  <testcase classname="a.b.ReadingSpec" name="(the suite)" time="0"><skipped message="canceled: no node"/></testcase>
</testsuite>"""
PYTEST = """<testsuites><testsuite>
  <testcase classname="tests.test_batch" name="test_ends" time="2">
    <error message="failed on setup">E  no</error></testcase>
  <testcase classname="tests.test_batch" name="test_waits" time="0">
    <skipped type="pytest.xfail" message="later"/></testcase>
</testsuite></testsuites>"""


def put(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def case(outcome: Outcome, module: str = "testkit", name: str = "a test", seconds: float = 1.0) -> Case:
    return Case(module, "ReadSpec", name, seconds, outcome)


def step(name: str, status: int = 0) -> Step:
    return Step(name, 100.0, 10.0, 15.0, status)


def a_run(*cases: Case, aborted: tuple[str, ...] = (), tags: tuple[Tagged, ...] = ()) -> Run:
    return Run(cases, [], aborted, tags, ["LocalStack: make test-all"])


def test_a_scala_report_gives_each_test_with_its_outcome_and_module(tmp_path: Path) -> None:
    put(tmp_path, "testkit/target/test-reports/TEST-a.b.ReadingSpec.xml", REPORT)
    put(tmp_path, "testkit/target/test-reports-optimized/TEST-a.b.ReadingSpec.xml", REPORT)
    optimized, plain = junit.scala_cases(tmp_path)[3:], junit.scala_cases(tmp_path)[:3]
    assert plain == [
        Case("testkit", "ReadingSpec/Reading-polling", "a query reads each record once", 1.5, Passed()),
        Case("testkit", "ReadingSpec", "a query stops", 0.5, Failed("2 was not 3\n    at a.b.ReadingSpec")),
        Case("testkit", "ReadingSpec", "(the suite)", 0.0, Skipped("canceled: no node")),
    ]
    assert {case.module for case in optimized} == {"testkit (optimized)"}


def test_a_pytest_report_gives_errors_of_fixtures_and_expected_failures(tmp_path: Path) -> None:
    put(tmp_path, "build/pytest-session.xml", PYTEST)
    assert junit.python_cases(tmp_path) == [
        Case("python", "test_batch", "test_ends", 2.0, Failed("failed on setup\nE  no")),
        Case("python", "test_batch", "test_waits", 0.0, Skipped("expected to fail: later")),
    ]


def test_a_suite_that_was_due_and_left_no_report_is_missing(tmp_path: Path) -> None:
    put(tmp_path, "testkit/target/test-reports/suites.txt", "a.b.ReadingSpec\na.b.DeadSpec\n")
    put(tmp_path, "testkit/target/test-reports/TEST-a.b.ReadingSpec.xml", REPORT)
    assert junit.missing_suites(tmp_path) == ["testkit DeadSpec"]


def test_a_step_that_failed_counts_only_where_no_test_shows_it() -> None:
    failed = [case(Failed("no"))]
    assert summary.aborted(failed, [step("scala", 1)], [], []) == []
    assert summary.aborted([], [step("scala", 1)], [], []) == ["step scala ended with status 1"]
    assert summary.aborted(failed, [step("pytest-session", 2)], [], []) == ["step pytest-session ended with status 2"]
    assert summary.aborted(failed, [step("mypy", 1)], [], []) == ["step mypy ended with status 1"]
    dead = summary.aborted([], [step("scala", 1)], ["testkit DeadSpec"], [])
    assert [line.split(":")[0] for line in dead] == ["testkit DeadSpec"]


def test_a_step_that_is_due_and_has_not_run_counts_as_a_failure() -> None:
    never = summary.aborted([], [step("build", 2)], [], ["build", "pytest-session"])
    assert never == [
        "step build ended with status 2",
        "step pytest-session has not run: what it needs failed",
    ]


def test_the_last_line_counts_tests_and_what_aborted() -> None:
    mixed = a_run(case(Passed()), case(Passed()), case(Failed("no")), case(Skipped("why")), aborted=("DeadSpec",))
    assert list(summary.text(mixed))[-1] == "2 passed, 2 failed, 1 skipped"
    assert not mixed.is_good


@pytest.mark.parametrize(
    ("run", "good"),
    [
        (a_run(case(Passed()), case(Skipped("why"))), True),
        (a_run(case(Passed()), case(Failed("no"))), False),
        (a_run(case(Passed()), aborted=("DeadSpec",)), False),
        (a_run(), False),
    ],
)
def test_a_run_is_good_if_something_ran_and_nothing_failed_or_aborted(run: Run, good: bool) -> None:  # noqa: FBT001
    assert run.is_good is good


def test_what_failed_is_printed_in_full_after_all_else_and_before_the_counts() -> None:
    tags = (Tagged("slow", "SoakSpec", "a soak"),)
    told = list(summary.text(a_run(case(Passed()), case(Failed("2 was not 3\n  at x"), name="the test"), tags=tags)))
    at = told.index("\nFAILED:")
    assert told[at + 1 : -1] == ["  testkit ReadSpec: the test", "      2 was not 3", "        at x", ""]
    assert "  SoakSpec: a soak" in told[:at]
    assert "  LocalStack: make test-all" in told[:at]


def test_a_long_stack_trace_keeps_its_head_and_its_end() -> None:
    told = list(summary.failures(a_run(case(Failed("\n".join(map(str, range(100))))))))[1:]
    assert told[24:27] == ["    24", "    ... 60 more lines in the report", "    85"]
    assert told[-1] == "    99"


@pytest.mark.parametrize("text", ["2 was not 3\n  at x", "    assert 2 == 3\nE   2 was not 3\nE     more"])
def test_what_failed_has_a_line_each_before_all_else(text: str) -> None:
    told = list(summary.text(a_run(case(Failed(text)), aborted=("step mypy ended with status 1",))))
    assert told[1:3] == ["  testkit ReadSpec: a test: 2 was not 3", "  step mypy ended with status 1"]


def test_tests_that_were_skipped_for_one_reason_share_a_line() -> None:
    both = [case(Skipped("no  node"), name="one"), case(Skipped("no node"), name="two"), case(Skipped("ignored"))]
    assert list(summary.skipped(both)) == ["testkit ReadSpec: no node (2 tests)", "testkit ReadSpec: ignored: a test"]


def test_the_slowest_tests_come_first_and_are_ten() -> None:
    cases = [case(Passed(), name=f"test {n}", seconds=n) for n in range(20)]
    told = list(summary.slowest(cases))
    assert len(told) == 10
    assert told[0] == "  19.0 s  testkit ReadSpec: test 19"


def test_times_of_steps_and_suites_have_a_line_each() -> None:
    ran = [step("build"), Step("scala", 105.0, 30.0, 50.0, 0)]
    assert list(summary.minutes(ran))[1:] == [
        "    30 s  scala (from 5 s on, CPU 50 s)",
        "    35 s  in all (CPU 65 s)",
    ]
    assert list(summary.suites([case(Passed(), seconds=20), case(Passed(), "python", seconds=3)], least=10)) == [
        "     3 s  python (1 suites)",
        "    20 s  testkit (1 suites)",
        "    20 s      ReadSpec",
    ]


def test_a_step_leaves_its_time_and_status(tmp_path: Path) -> None:
    run("one", ["true"], tmp_path)
    run("two", ["sh", "-c", "exit 3"], tmp_path)
    assert [(ran.name, ran.status) for ran in steps(tmp_path)] == [("one", 0), ("two", 3)]
    lines = (tmp_path / "build" / "steps.jsonl").read_text().splitlines()
    assert all(json.loads(line)["seconds"] >= 0 for line in lines)


SCALA = """
import io.github.kinesisspark.it.{AwaitsEngine, Slow}
// Slow is a tag.
it("a soak ends", Slow) {
it(
  "a query \\"x\\" is read",
  AwaitsEngine
) {
test("many shards", Slow, AwaitsEngine) {
it("a promise" taggedAs AwaitsEngine) {
it("is quick") {
"""


def test_tags_of_scalatest_are_found_in_its_forms() -> None:
    assert sorted(tagged.in_scala("ReadSpec", SCALA)) == [
        Tagged("awaits_engine", "ReadSpec", "a promise"),
        Tagged("awaits_engine", "ReadSpec", 'a query "x" is read'),
        Tagged("awaits_engine", "ReadSpec", "many shards"),
        Tagged("slow", "ReadSpec", "a soak ends"),
        Tagged("slow", "ReadSpec", "many shards"),
    ]


def test_a_tag_by_a_name_of_the_suite_is_found() -> None:
    source = """
  private def awaiting(mode: Mode): Seq[Tag] = if (mode == Mode.Polling) Seq(AwaitsEngine) else Nil
    it("a stream is read", awaiting(mode): _*) {
    it("another is read") {
"""
    assert list(tagged.in_scala("ReadSpec", source)) == [Tagged("awaits_engine", "ReadSpec", "a stream is read")]


def test_a_tag_whose_test_can_not_be_seen_is_listed_with_its_line() -> None:
    told = list(tagged.in_scala("ReadSpec", "\nit(title, Slow) {"))
    assert told == [Tagged("slow", "ReadSpec", "line 2: it(title, Slow) {")]


PYTHON = """
import pytest
@pytest.mark.slow
def test_one(): ...
@pytest.mark.parametrize("x", [1])
@pytest.mark.awaits_engine
def test_two(x): ...
def test_three(): ...
"""


def test_marks_of_pytest_are_found_on_tests_and_files() -> None:
    of_tests = [Tagged("slow", "test_a", "test_one"), Tagged("awaits_engine", "test_a", "test_two")]
    assert list(tagged.in_python("test_a", PYTHON)) == of_tests
    of_file = list(tagged.in_python("test_a", "pytestmark = [pytest.mark.slow, pytest.mark.jvm]\n" + PYTHON))
    assert {test.name for test in of_file if test.tag == "slow"} == {"test_one", "test_two", "test_three"}
