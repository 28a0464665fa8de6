"""Every relative link in the repository's Markdown names an existing file and, with an anchor, a heading of it."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*<?([^\s>]+)|(?:href|src)=\"([^\"]+)\"", re.MULTILINE)
HEADING = re.compile(r"^#+ +(.+?)\s*#*$", re.MULTILINE)
ELSEWHERE = re.compile(r"^[a-z][a-z+.-]*:|^//", re.IGNORECASE)


def pages() -> list[Path]:
    """All Markdown that is part of the repository, or will be with the next commit."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\0")
    return sorted(ROOT / name for name in listed if name and (ROOT / name).exists())


def links(text: str) -> Iterator[str]:
    """Where the page's links lead, except to other sites; code has no links."""
    for found in LINK.findall(CODE.sub("", FENCE.sub("", text))):
        target = "".join(found)
        if not ELSEWHERE.match(target):
            yield target


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    names: Counter[str] = Counter()
    found = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w -]", "", words).replace(" ", "-")
        found.add(f"{name}-{names[name]}" if names[name] else name)
        names[name] += 1
    return found


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    return [link for link in links(page.read_text(encoding="utf-8")) if not leads_somewhere(page, link)]


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    if not target.exists():
        return False
    return not anchor or (target.suffix == ".md" and anchor in anchors(target.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_name_existing_files_and_headings(page: Path) -> None:
    assert broken(page) == []


def test_the_checker_covers_every_page_and_finds_links_in_them() -> None:
    names = {str(page.relative_to(ROOT)) for page in pages()}
    assert {"README.md", "docs/evidence/faults.md", "testkit/README.md", "integration-tests/SERVERS.md"} <= names
    assert sum(1 for page in pages() for _ in links(page.read_text(encoding="utf-8"))) > len(names)


@pytest.mark.parametrize(
    ("link", "is_broken"),
    [
        ("[a](other.md)", False),
        ("[a](other.md#the-second--heading)", False),
        ("[a](other.md#twice-1)", False),
        ("[a](#here-code-too)", False),
        ("![a](missing.png)", True),
        ("[a](missing.md)", True),
        ("[a](other.md#third)", True),
        ("[a](other.md#twice-2)", True),
        ("[a](#nowhere)", True),
        ("[a]\n\n[a]: missing.md", True),
        ('<a href="missing.md">a</a>', True),
        ("[a](https://example.com/missing.md)", False),
        ("```\n[a](missing.md)\n```", False),
        ("`[a](missing.md)`", False),
    ],
)
def test_the_checker_finds_broken_links(tmp_path: Path, link: str, *, is_broken: bool) -> None:
    (tmp_path / "other.md").write_text("# First\n\n## The second, & heading\n\n## Twice\n\n## Twice\n")
    page = tmp_path / "page.md"
    page.write_text(f"# Here: `code`, too\n\n{link}\n")
    assert bool(broken(page)) == is_broken
