"""Finds the tests that carry a tag, in the sources of ScalaTest suites and pytest files.

ScalaTest: `it("title", Slow) {`, also `taggedAs(Slow)`. pytest: `@pytest.mark.slow`, or `pytestmark` for a whole file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

SCALA_TAGS = {"AwaitsEngine": "awaits_engine", "Slow": "slow"}

_TAGS = "|".join(SCALA_TAGS)
_MENTION = re.compile(rf"\b({_TAGS})\b")
# The last string before the tags is the title, or the end of one that is put together.
_TEST = re.compile(r'"((?:[^"\\\n]|\\.)*)"(?:\s*,|\s+taggedAs\b)([^"{}]*)\)\s*[({]')
# Names that a suite gives to a tag, or to a choice of tags.
_ALIAS = re.compile(rf"^.*\b(?:def|val|object)\s+(\w+)(?:[^\n]|=\s*\n)*\b({_TAGS})\b", re.MULTILINE)
_NO_TEST = re.compile(rf"^\s*(//|/?\*|import\b|package\b)|\b({_TAGS})\.name\b")


@dataclass(frozen=True, slots=True, order=True)
class Tagged:
    """A test with a tag; the tag's name is pytest's."""

    tag: str
    suite: str
    name: str


def tagged_tests(root: Path, python_roots: Iterable[str]) -> list[Tagged]:
    """All of them, of the whole project."""
    scala = (file for file in root.glob("*/src/test/scala/**/*.scala") if file.name != "Tags.scala")
    python = {file for place in python_roots for file in (root / place).rglob("test_*.py")}
    found = [
        *(test for file in scala for test in in_scala(file.stem, file.read_text())),
        *(test for file in python for test in in_python(file.stem, file.read_text())),
    ]
    return sorted(set(found))


def in_scala(suite: str, source: str) -> Iterator[Tagged]:
    """The tagged tests of a ScalaTest source; a tag whose test can't be seen is listed with its line."""
    aliases = {match[1]: match[2] for match in _ALIAS.finditer(source)}
    known = [match.span() for match in _ALIAS.finditer(source)]
    for match in _TEST.finditer(source):
        words = re.findall(r"\w+", match[2])
        tags = {word if word in SCALA_TAGS else aliases.get(word) for word in words} - {None}
        if tags:
            known.append(match.span())
            yield from (
                Tagged(SCALA_TAGS[str(tag)], suite, match[1].replace('\\"', '"')) for tag in sorted(map(str, tags))
            )
    for mention in _MENTION.finditer(source):
        start = source.rfind("\n", 0, mention.start()) + 1
        line = source[start:].split("\n", 1)[0]
        if not _NO_TEST.search(line) and not any(a <= mention.start() < b for a, b in known):
            number = source.count("\n", 0, mention.start()) + 1
            yield Tagged(SCALA_TAGS[mention[1]], suite, f"line {number}: {line.strip()}")


def in_python(suite: str, source: str) -> Iterator[Tagged]:
    """The tagged tests of a file of pytest."""
    tree = ast.parse(source)
    assigned = [s.value for s in tree.body if isinstance(s, ast.Assign) and _names(s.targets) == ["pytestmark"]]
    of_file = [tag for value in assigned for tag in _tags(value)]
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
            own = [tag for decorator in function.decorator_list for tag in _tags(decorator)]
            for tag in dict.fromkeys([*of_file, *own]):
                yield Tagged(tag, suite, function.name)


def _names(targets: list[ast.expr]) -> list[str]:
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _tags(marks: ast.expr) -> list[str]:
    """Of `pytest.mark.slow`, `pytest.mark.slow(...)`, or a list of such."""
    attributes = (node.attr for node in ast.walk(marks) if isinstance(node, ast.Attribute))
    return [name for name in attributes if name in SCALA_TAGS.values()]
