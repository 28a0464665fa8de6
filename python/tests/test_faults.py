"""docs/faults.md names tests: every one of them exists, and every fault has one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")

ROW = re.compile(r"^\| (\d+) \| [^|]+ \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
TEST = re.compile(r"`(\w+)` ([^|]+)")


def named_by_fault() -> dict[int, list[tuple[str, str]]]:
    return {
        int(number): [told for cell in tests.split("<br>") for told in TEST.findall(cell)]
        for number, tests in ROW.findall(PAGE)
    }


def sources(suite: str) -> list[str]:
    """Of all tests in files of that name."""
    scala = ROOT.glob(f"*/src/test/**/{suite}.scala")
    python = (ROOT / "python" / "tests").glob(f"**/{suite}.py")
    chaos = (ROOT / "integration-tests").glob(f"**/{suite}.py")
    return [path.read_text(encoding="utf-8") for path in (*scala, *python, *chaos)]


def is_test(name: str, source: str) -> bool:
    """As `it("...")` and `test("...")` of ScalaTest name it, on one line or the next, or as a function of pytest."""
    scala = re.search(rf'\b(?:it|test)\(\s*s?"{re.escape(name)}"', source)
    return scala is not None or re.search(rf"^def {re.escape(name)}\(", source, re.MULTILINE) is not None


def test_faults_are_numbered_without_gaps_and_each_names_a_test() -> None:
    faults = named_by_fault()
    assert list(faults) == list(range(1, 34))
    assert [number for number, tests in faults.items() if not tests] == []
    assert PAGE.count("\n| ") - 1 == len(faults), "a row has another form than the others"


@pytest.mark.parametrize(("suite", "name"), sorted({told for tests in named_by_fault().values() for told in tests}))
def test_each_named_test_exists(suite: str, name: str) -> None:
    assert any(is_test(name.strip(), source) for source in sources(suite)), f"{suite} has no test '{name}'"


def test_a_missing_test_is_detected() -> None:
    assert not is_test("turns lead into gold", 'it("turns gold into lead") {')
    assert is_test("turns lead into gold", 'it(\n      "turns lead into gold"\n)')
