"""The summary of a run: what it reads, what it says, and what it counts as a failure."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import summary

ROOT = Path(__file__).resolve().parents[2]
SCALA = """<testsuite errors="0" failures="1" name="ReadSpec" tests="3" time="2.0">
  <properties></properties>
  <testcase name="a query ends" classname="a.b.ReadSpec" time="1.5"></testcase>
  <testcase name="a query stops" classname="a.b.ReadSpec" time="0.5">
    <failure message="2 was not 3" type="E">E: 2 was not 3
    at org.scalatest.Assertions.fail(Assertions.scala:1)
    at a.b.ReadSpec.run(ReadSpec.scala:7)
    at java.base/java.lang.Thread.run(Thread.java:840)</failure></testcase>
  <testcase name="a node runs" classname="a.b.ReadSpec" time="0"><skipped/></testcase>
</testsuite>"""
ABORTED = '<testsuite errors="1" failures="0" name="WriteSpec" tests="0" time="0"><properties></properties></testsuite>'
PYTEST = """<testsuites><testsuite errors="1">
  <testcase classname="tests.test_batch" name="test_ends" time="2">
    <error message="failed on setup">no</error></testcase>
  <testcase classname="tests.test_batch" name="test_waits" time="0"><skipped message="needs Go"/></testcase>
</testsuite></testsuites>"""
GOOD = '<testsuite errors="0"><testcase classname="a.ReadSpec" name="a query ends" time="1"/></testsuite>'


def put(build: Path, path: str, text: str) -> None:
    (build / path).parent.mkdir(parents=True, exist_ok=True)
    (build / path).write_text(text)


def summarize(build: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    status = summary.main(build, ["LocalStack: make test-all"])
    printed = capsys.readouterr().out
    assert (build / "summary.txt").read_text() == printed
    return status, printed


def test_a_run_without_failure_ends_with_its_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, "test-reports/testkit/TEST-a.ReadSpec.xml", GOOD)
    put(tmp_path, "test-reports/testkit/suites.txt", "a.ReadSpec\n")
    status, printed = summarize(tmp_path, capsys)
    assert (status, printed.splitlines()[-1]) == (0, "1 passed, 0 failed, 0 skipped")
    assert "LocalStack: make test-all" in printed


def test_failed_and_skipped_tests_of_both_languages_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path, "test-reports/testkit/TEST-a.b.ReadSpec.xml", SCALA)
    put(tmp_path, "test-reports/pytest-check/report.xml", PYTEST)
    put(tmp_path, "failed-steps.txt", "scala\npytest-check\n")
    status, printed = summarize(tmp_path, capsys)
    assert (status, printed.splitlines()[-1]) == (1, "1 passed, 2 failed, 2 skipped")
    for shown in (
        "FAILED testkit ReadSpec: a query stops",
        "2 was not 3",
        "ReadSpec.scala:7",
        "failed on setup",
        "needs Go (1)",
    ):
        assert shown in printed
    assert printed.splitlines()[-5:-2] == [
        "FAILED:",
        "  pytest-check test_batch: test_ends: failed on setup",
        "  testkit ReadSpec: a query stops: E: 2 was not 3",
    ]
    assert "Assertions.scala" not in printed
    assert "Thread.java" not in printed


def test_an_aborted_suite_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, "test-reports/testkit/TEST-a.ReadSpec.xml", GOOD)
    put(tmp_path, "test-reports/testkit/TEST-a.WriteSpec.xml", ABORTED)
    status, printed = summarize(tmp_path, capsys)
    assert (status, printed.splitlines()[-1]) == (1, "1 passed, 1 failed, 0 skipped")


def test_a_suite_without_report_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, "test-reports/testkit/TEST-a.ReadSpec.xml", GOOD)
    put(tmp_path, "test-reports/testkit/suites.txt", "a.ReadSpec\na.WriteSpec\n")
    put(tmp_path, "failed-steps.txt", "scala\n")
    status, printed = summarize(tmp_path, capsys)
    assert (status, printed.splitlines()[-1]) == (1, "1 passed, 1 failed, 0 skipped")
    assert "testkit a.WriteSpec: no report" in printed


def test_a_failed_step_is_a_failure_beside_failed_tests_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path, "test-reports/testkit/TEST-a.b.ReadSpec.xml", SCALA)
    put(tmp_path, "failed-steps.txt", "mypy\nscala\npytest-chaos\n")
    status, printed = summarize(tmp_path, capsys)
    assert (status, printed.splitlines()[-1]) == (1, "1 passed, 3 failed, 1 skipped")
    assert "step mypy failed" in printed
    assert "step pytest-chaos failed" in printed


def test_a_run_without_tests_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert summarize(tmp_path, capsys)[0] == 1


@pytest.mark.parametrize("command", ["true", "false"])
def test_a_step_of_the_loops_records_its_failure(command: str, tmp_path: Path) -> None:
    step = ["make", "--no-print-directory", f"FAILED_STEPS={tmp_path / 'failed'}", "try-step", f"TRY={command}"]
    ended = subprocess.run(step, cwd=ROOT, capture_output=True, text=True, check=False)
    recorded = (tmp_path / "failed").read_text() if (tmp_path / "failed").exists() else ""
    assert (ended.returncode == 0, recorded) == ((True, "") if command == "true" else (False, "try-step\n"))
