"""README.md is a front page: short, with figures of the pages that it links to. test_snippets.py runs its programs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from test_faults import named_by_fault

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?")
CLAIMS = re.findall(r"^\| (\*\*.*)\|$", README, re.MULTILINE)


def test_nothing_is_installed_from_pypi_by_a_name_that_is_not_there() -> None:
    named = re.compile(r"pip3? install[^`\n]*?[\s'\"](kinesis-spark\S*)|(kinesis-spark\[\w)")
    suffixes = {".md", ".py", ".toml", ".ipynb", ".sh", ".yaml", ".yml", ".scala"}
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    listed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\0")
    files = [ROOT / name for name in listed if Path(name).suffix in suffixes and name != "python/tests/test_readme.py"]
    found = [
        f"{file.relative_to(ROOT)}: {match[0]}"
        for file in files
        if file.exists()
        for match in named.finditer(file.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")], ids=lambda page: page.name)
def test_coordinates_of_a_snapshot_come_with_the_repository_that_has_them(page: Path) -> None:
    command = re.compile(r"spark-[^`\n]*--packages io\.github\.kinesisspark:[^`\n]*-SNAPSHOT[^`\n]*")
    found = command.findall(page.read_text(encoding="utf-8"))
    assert [text for text in found if '--repositories "file:$PWD/dist/maven"' not in text] == []


def test_the_front_page_has_120_lines_at_most() -> None:
    assert len(README.splitlines()) <= 120


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: re.findall(r"\*\*(.+?)\*\*", claim)[0])
def test_each_figure_of_a_claim_is_on_the_page_that_it_links_to(claim: str) -> None:
    (link,) = re.findall(r"\]\(([^)]+)\)", claim)
    page = (ROOT / link).read_text(encoding="utf-8")
    figures = set(NUMBER.findall(claim.partition("](")[0]))
    if link.endswith("faults.md"):
        assert figures == {str(len(named_by_fault()))}
    else:
        assert figures
        assert figures - set(NUMBER.findall(page)) == set()
