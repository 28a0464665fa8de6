"""The site builds without a warning, every link of it leads somewhere, and its pages load nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import docs_site
import pytest


def test_the_site_builds_and_every_link_of_it_leads_somewhere(tmp_path: Path) -> None:
    assert docs_site.build(tmp_path / "build") == []
    page = docs_site.Html((tmp_path / "build" / "site" / "how-to" / "programs.html").read_text(encoding="utf-8"))
    assert "../source/examples/backfill.py.html" in page.links
    # The search has the text of pages, and not that of programs.
    found = (tmp_path / "build" / "site" / "search.json").read_text(encoding="utf-8")
    assert "maxShardSkew" in found
    assert "from __future__" not in found


def test_a_page_that_links_to_nothing_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs_site, "SOURCES", tmp_path / "pages")
    monkeypatch.setattr(docs_site, "PAGES", {})
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.md").write_text("# Home\n\n[nothing](nothing.md)\n")
    with pytest.raises(docs_site.SiteError, match="does not exist"):
        docs_site.build(tmp_path / "build")


def test_every_page_is_in_the_menu_and_in_the_list_of_the_front_page() -> None:
    docs = {path.relative_to(docs_site.SOURCES).as_posix() for path in docs_site.SOURCES.rglob("*.md")}
    notebooks = {path.relative_to(docs_site.SOURCES).as_posix() for path in docs_site.SOURCES.rglob("*.ipynb")}
    in_menu = set(re.findall(r"^ +- (?:.+: )?(\S+\.md)$", (docs_site.ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert in_menu == docs | {name.replace(".ipynb", ".md") for name in notebooks} | set(docs_site.PAGES)
    listed = set(docs_site.links_of((docs_site.ROOT / "README.md").read_text(encoding="utf-8")))
    pages = {f"docs/{name}" for name in docs | notebooks if not name.startswith("operations/")}
    assert (pages | set(docs_site.PAGES.values()) - {"README.md"} | {"docs/operations/index.md"}) - listed == set()


@pytest.mark.parametrize(
    ("html", "problem"),
    [
        ('<a href="other.html#here">', None),
        ('<a href="https://example.com/">', None),
        ('<a href="missing.html">', "no page missing.html"),
        ('<a href="other.html#there">', "no anchor other.html#there"),
        ('<a href="#there">', "no anchor #there"),
        ('<img src="missing.png">', "no page missing.png"),
        ('<script src="https://example.com/a.js"></script>', "loads https://example.com/a.js"),
        ("<table><thead><tr><th>a</th><th><code>b</code></th></tr></thead></table>", None),
        ("<table><thead><tr><th>a</th><th></th></tr></thead></table>", "a table without headings"),
        ('<link rel="stylesheet" href="//fonts.example.com/a.css">', "loads //fonts.example.com/a.css"),
    ],
)
def test_the_checker_finds_what_a_reader_would_miss(tmp_path: Path, html: str, problem: str | None) -> None:
    (tmp_path / "index.html").write_text(html)
    (tmp_path / "other.html").write_text('<h1 id="here">Other</h1>')
    assert list(docs_site.problems(tmp_path)) == ([f"index.html: {problem}"] if problem else [])
