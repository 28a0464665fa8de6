"""docs/evidence/faults.md names tests: each exists, and each fault has one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evidence" / "faults.md").read_text(encoding="utf-8")

ROW = re.compile(r"^\| (\d+) \| [^|]+ \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
TEST = re.compile(r"`(\w+)` ([^|]+)")

LAST_ROW = 61


def named_by_fault() -> dict[int, list[tuple[str, str]]]:
    return {
        int(number): [(suite, name.strip()) for cell in tests.split("<br>") for suite, name in TEST.findall(cell)]
        for number, tests in ROW.findall(PAGE)
    }


NAMED = sorted({test for tests in named_by_fault().values() for test in tests})


@cache
def sources(suite: str) -> list[str]:
    """Of all tests in files of that name."""
    scala = ROOT.glob(f"*/src/test/**/{suite}.scala")
    python = (ROOT / "python" / "tests").glob(f"**/{suite}.py")
    chaos = (ROOT / "integration-tests").glob(f"**/{suite}.py")
    return [path.read_text(encoding="utf-8") for path in (*scala, *python, *chaos)]


def title_pattern(name: str, title: str) -> bool:
    """Whether a title of the source, in which `$name` and `${...}` stand for anything, can be this name."""
    literal = re.split(r"\$\{[^}]*\}|\$\w+", title)
    return re.fullmatch(".+".join(re.escape(part) for part in literal), name) is not None


@cache
def titles_in(source: str) -> list[str]:
    """The title of each `it("...")` and `test("...")` of ScalaTest, and of each function of pytest."""
    scala = re.findall(r'\b(?:it|test|byEach)\(\s*s?"((?:[^"\\]|\\.)*)"', source)
    return [*scala, *re.findall(r"^def (test_\w+)\(", source, re.MULTILINE)]


def found(name: str, source: str) -> bool:
    """Whether the source has a test of this name."""
    return any(title_pattern(name, title) for title in titles_in(source))


def test_each_fault_has_a_row_and_each_row_names_a_test() -> None:
    faults = named_by_fault()
    assert list(faults) == list(range(1, LAST_ROW + 1))
    assert [number for number, tests in faults.items() if not tests] == []
    assert PAGE.count("\n| ") - 1 == len(faults), "a row has another form than the others"


@pytest.mark.parametrize(("suite", "name"), NAMED)
def test_each_named_test_exists(suite: str, name: str) -> None:
    assert any(found(name, source) for source in sources(suite)), f"{suite} has no test '{name}'"


def test_a_missing_test_is_detected() -> None:
    assert not found("turns lead into gold", 'it("turns gold into lead") {')
    assert found("turns lead into gold", 'it(\n      "turns lead into gold"\n)')
    assert found("a source survives HTTP 500", 'it(s"a $role survives $fault", Slow)')
    assert not found("a source survives HTTP 500", 'it(s"a $role ignores $fault")')
    assert found("test_it", "@pytest.mark.slow\ndef test_it(x):")
