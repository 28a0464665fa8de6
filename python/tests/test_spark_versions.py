"""What `make test-versions` takes for a good run of a version, and which record of an earlier run it continues."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path

import pytest
import spark_versions
from spark_versions import Run

RUN = Run("4.3.0", python="3.13")
PASSED, FAILED, SKIPPED = (["test_a.py::test_a", "Reads", outcome] for outcome in ("passed", "failed", "skipped"))


@pytest.fixture(autouse=True)
def tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one test for every Spark; its reports and pages are the test's own."""
    folder = tmp_path / "python" / "tests"
    folder.mkdir(parents=True)
    (folder / "test_a.py").write_text("# every_spark")
    page = Path(shutil.copy(spark_versions.PAGE, tmp_path))
    places = {"ROOT": tmp_path, "TESTS": folder, "REPORTS": tmp_path / "reports", "PAGE": page}
    for name, place in {**places, "RESULTS": page.with_suffix(".json")}.items():
        monkeypatch.setattr(spark_versions, name, place)
    (tmp_path / "reports").mkdir()
    return folder


def is_good(monkeypatch: pytest.MonkeyPatch, status: int, *recorded: list[str]) -> bool:
    """Run the tests with a Python whose pytest records these tests and ends with this status."""
    python = spark_versions.ROOT / "python" / "python"
    lines = "".join(json.dumps(line) + "\n" for line in recorded)
    python.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        "if '--version' not in sys.argv:\n"
        f"    with open(os.environ['KINESIS_SPARK_RECORD'], 'a') as out: out.write({lines!r})\n"
        f"    sys.exit({status})\n"
    )
    python.chmod(0o755)
    monkeypatch.setattr(spark_versions, "environment", lambda *_: python)
    return spark_versions.run_tests(RUN, [])


@pytest.mark.parametrize(
    ("status", "recorded", "expected"),
    [
        (0, [PASSED], True),
        (0, [SKIPPED], False),
        (0, [], False),
        (1, [FAILED], False),
        # pytest was interrupted, had an error of its own, or was killed after the first test.
        (2, [PASSED], False),
        (3, [PASSED], False),
        (-9, [PASSED], False),
        (5, [], False),
    ],
)
def test_a_run_is_good_if_pytest_ends_well_and_a_test_has_passed(
    monkeypatch: pytest.MonkeyPatch, status: int, recorded: list[list[str]], *, expected: bool
) -> None:
    assert is_good(monkeypatch, status, *recorded) is expected


def test_a_run_without_tests_is_good_where_an_earlier_one_recorded_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_good(monkeypatch, 2, PASSED)
    assert is_good(monkeypatch, spark_versions.NONE_COLLECTED)


def test_a_run_after_a_change_of_a_test_continues_no_record(tests: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_good(monkeypatch, 0, PASSED)
    (tests / "test_a.py").write_text("# every_spark, changed")
    assert not is_good(monkeypatch, spark_versions.NONE_COLLECTED)


def test_versions_that_are_all_left_out_for_want_of_a_jdk_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAVA_HOME_21", "JAVA_HOME_25"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(spark_versions, "run_tests", lambda *_: True)
    monkeypatch.setattr(sys, "argv", ["spark_versions.py", "3.5.9@21", "4.3.0@25"])
    with pytest.raises(SystemExit, match="No version was tested"):
        spark_versions.main()
    monkeypatch.setattr(sys, "argv", ["spark_versions.py", "3.5.9", "4.3.0@25"])
    spark_versions.main()
