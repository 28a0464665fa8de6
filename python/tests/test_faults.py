"""docs/evidence/faults.md names tests: each exists, each fault has one, and those that fail today are marked."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evidence" / "faults.md").read_text(encoding="utf-8")

ROW = re.compile(r"^\| (\d+) \| [^|]+ \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
TEST = re.compile(r"`(\w+)` ([^|]+)")
AWAITS = " (fails today)"

LAST_ROW = 53


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
def titles_in(source: str) -> list[tuple[str, str]]:
    """The title of each `it("...")` and `test("...")` of ScalaTest with its tags, and of each function of pytest with
    its decorators."""
    scala = re.findall(r'\b(?:it|test|byEach)\(\s*s?"((?:[^"\\]|\\.)*)"([^)]*)', source)
    python = re.findall(r"((?:^@.*\n)*)^def (\w+)\(", source, re.MULTILINE)
    return scala + [(name, decorators) for decorators, name in python]


def found(name: str, source: str) -> list[str]:
    """The tags of the tests of this name, as the source has them."""
    return [tags for title, tags in titles_in(source) if title_pattern(name, title)]


def test_each_fault_has_a_row_and_each_row_names_a_test() -> None:
    faults = named_by_fault()
    assert list(faults) == list(range(1, LAST_ROW + 1))
    assert [number for number, tests in faults.items() if not tests] == []
    assert PAGE.count("\n| ") - 1 == len(faults), "a row has another form than the others"


@pytest.mark.parametrize(("suite", "name"), NAMED)
def test_each_named_test_exists(suite: str, name: str) -> None:
    title = name.removesuffix(AWAITS)
    assert any(found(title, source) for source in sources(suite)), f"{suite} has no test '{title}'"


@pytest.mark.parametrize(("suite", "name"), NAMED)
def test_each_test_that_fails_today_is_marked(suite: str, name: str) -> None:
    tags = [tag for source in sources(suite) for tag in found(name.removesuffix(AWAITS), source)]
    tagged = any(re.search("await(s|ing)", tag, re.IGNORECASE) for tag in tags)
    # Tags that the source computes say nothing of one of its tests.
    computed = any(tag.rstrip().endswith("_*") for tag in tags)
    assert name.endswith(AWAITS) == tagged or computed


def test_a_missing_test_is_detected() -> None:
    assert not found("turns lead into gold", 'it("turns gold into lead") {')
    assert found("turns lead into gold", 'it(\n      "turns lead into gold"\n)')
    assert found("a source survives HTTP 500", 'it(s"a $role survives $fault", AwaitsEngine)') == [", AwaitsEngine"]
    assert not found("a source survives HTTP 500", 'it(s"a $role ignores $fault")')
    assert found("test_it", "@pytest.mark.slow\n@pytest.mark.awaits_engine\ndef test_it(x):") == [
        "@pytest.mark.slow\n@pytest.mark.awaits_engine\n"
    ]
