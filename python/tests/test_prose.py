"""Prose is in the terms of this project and spelled right. `python python/tools/prose.py` and `typos` print it all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import prose
import pytest


def test_prose_is_in_the_project_s_terms() -> None:
    assert [line for path in prose.files() for line in prose.findings(path)] == []


def test_words_are_spelled_right_or_accepted() -> None:
    command = [str(Path(sys.executable).parent / "typos"), "--format", "brief"]
    done = subprocess.run(command, cwd=prose.ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == ""
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("page.md", "# A title\n\nThe query goes on.\n", [3]),
        ("page.md", "The query continues.\n\n```\nThe query goes on.\n```\n", []),
        ("page.md", "The option `tell` exists, see [it](goes on).\n", []),
        ("page.md", "the the\n", [1]),
        ("code.py", '"""It tells\n\nwhat it does."""\n\ntold = 1  # goes on\n', [1, 5]),
        ("code.py", "told = tell(f'{told}')\n", []),
        ("code.scala", 'val told = "tells"\n/** It tells\n  * more. */\nit("is told") {}\n', [2, 4]),
    ],
)
def test_the_linter_reads_prose_and_leaves_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, lines: list[int]
) -> None:
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    (tmp_path / name).write_text(text)
    found = prose.findings(tmp_path / name)
    assert [int(line.split(":")[1]) for line in found] == lines, found
