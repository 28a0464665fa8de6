"""Builds the documentation's site into build/site, without network, and fails on any link that leads nowhere.

`make docs` runs it. Sources are docs/, the Markdown of elsewhere that PAGES names, and each file of the repository that
a page links to, which becomes a page with its text. Links in the sources are those of the repository, so they work
there too.
"""

from __future__ import annotations

import os.path
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import notebook

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "docs"
BUILD = ROOT / "build" / "site"

# Pages of the site that stand elsewhere in the repository.
PAGES = {
    "index.md": "README.md",
    "contributing/changelog.md": "CHANGELOG.md",
    "contributing/index.md": "CONTRIBUTING.md",
    "evidence/servers.md": "integration-tests/SERVERS.md",
    "how-to/programs.md": "examples/README.md",
    "reference/local-server.md": "testkit/README.md",
}
PLACES = {source: page for page, source in PAGES.items()}

LANGUAGES = {".py": "python", ".scala": "scala", ".sbt": "scala", ".yaml": "yaml", ".json": "json", ".sh": "bash"}
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
CODE = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)$|`[^`\n]*`)", re.DOTALL | re.MULTILINE)


class SiteError(Exception):
    """The site can't be built, or has a page that a reader can't use."""


def build(to: Path = BUILD) -> list[str]:
    """Build the site anew, and return what is wrong with it.

    Args:
        to: a folder for this alone; the site is in `site` below it.

    Raises:
        SiteError: if the generator reports anything.
    """
    shutil.rmtree(to, ignore_errors=True)
    assemble(to / "docs")
    shutil.copy(ROOT / "mkdocs.yml", to / "mkdocs.yml")
    command = [str(Path(sys.executable).parent / "zensical"), "build", "--strict", "--clean"]
    done = subprocess.run(
        command, cwd=to, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False
    )
    if done.returncode != 0:
        raise SiteError(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).partition("Traceback")[0])
    return sorted(problems(to / "site"))


def assemble(to: Path) -> None:
    """Copy all sources into one folder, with their links changed to lead to each other there."""
    shutil.copytree(SOURCES, to)
    for page, source in PAGES.items():
        (to / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / source, to / page)
    for file in to.rglob("*.ipynb"):
        file.with_suffix(".md").write_text(notebook.as_markdown(file), encoding="utf-8")
        file.unlink()
    linked: set[str] = set()
    for file in sorted(to.rglob("*.md")):
        page = file.relative_to(to).as_posix()
        text = file.read_text(encoding="utf-8")
        linked.update(outside(page, text))
        file.write_text(with_links(text, partial(on_site, page)), encoding="utf-8")
    for path in linked:
        target = to / source_page(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(shown(path), encoding="utf-8")


def outside(page: str, text: str) -> Iterator[str]:
    """The repository's files that a page links to, and that are no pages of the site."""
    for link in links_of(text):
        path = in_repository(page, link)
        if path and not path.startswith("docs/") and path not in PLACES and (ROOT / path).is_file():
            yield path


def links_of(markdown: str) -> list[str]:
    """Where a page's links lead. Code has no links."""
    return [link for part in CODE.split(markdown)[::2] for _, link, _ in LINK.findall(part)]


def on_site(page: str, link: str) -> str:
    """What a link of a page becomes; one that leads nowhere stays, and the generator reports it."""
    path = in_repository(page, link)
    if path is None:
        return link
    if path.startswith("docs/"):
        target = re.sub(r"\.ipynb$", ".md", path.removeprefix("docs/"))
    elif path in PLACES:
        target = PLACES[path]
    elif (ROOT / path).is_file():
        target = source_page(path)
    else:
        return link
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


def in_repository(page: str, link: str) -> str | None:
    """The path that a link of a page names; None for links to other sites."""
    if re.match(r"[a-z][a-z+.-]*:|/", link):
        return None
    origin = PAGES.get(page, f"docs/{page}")
    return os.path.normpath(posixpath.join(posixpath.dirname(origin), link))


def source_page(path: str) -> str:
    """The page that shows a file."""
    return f"source/{path}.md"


def shown(path: str) -> str:
    """The text of such a page."""
    language = LANGUAGES.get(Path(path).suffix, "text")
    text = (ROOT / path).read_text(encoding="utf-8")
    return f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n~~~~{language}\n{text.rstrip()}\n~~~~\n"


def with_links(markdown: str, change: Callable[[str], str]) -> str:
    """The text with each link changed. Code has no links."""
    parts = CODE.split(markdown)
    return "".join(
        part if number % 2 else LINK.sub(lambda found: f"{found[1]}{change(found[2])}{found[3]}", part)
        for number, part in enumerate(parts)
    )


class Html(HTMLParser):
    """What a page of the site has: anchors, links, what a browser loads to show it, and the headings of tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.headings: list[list[str]] = []
        self._heading = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called for each tag."""
        values = {name: value for name, value in attrs if value is not None}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "thead":
            self.headings.append([])
        if tag == "th" and self.headings:
            self.headings[-1].append("")
            self._heading = True
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in ("script", "img", "source", "iframe") and "src" in values:
            self.loaded.append(values["src"])
        if tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload", "modulepreload"):
            self.loaded.append(values["href"])

    def handle_endtag(self, tag: str) -> None:
        """Called for each tag's end."""
        if tag == "th":
            self._heading = False

    def handle_data(self, data: str) -> None:
        """Called for each text."""
        if self._heading:
            self.headings[-1][-1] += data.strip()


def problems(site: Path) -> Iterator[str]:
    """Links of the built pages that lead nowhere, what a page loads from elsewhere, and tables without headings."""
    pages = {file: Html(file.read_text(encoding="utf-8")) for file in site.rglob("*.html") if file.name != "404.html"}
    for file, page in pages.items():
        name = file.relative_to(site)
        yield from (f"{name}: a table without headings" for table in page.headings if not any(table[1:] or table))
        for link in {*page.links, *page.loaded}:
            if re.match(r"[a-z][a-z+.-]*:|//", link):
                if link in page.loaded and not link.startswith("data:"):
                    yield f"{name}: loads {link}"
                continue
            path, _, anchor = unquote(link).partition("#")
            target = (file.parent / path).resolve() if path else file
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                yield f"{name}: no page {link}"
            elif anchor and target in pages and anchor not in pages[target].anchors:
                yield f"{name}: no anchor {link}"


if __name__ == "__main__":
    try:
        wrong = build()
    except SiteError as error:
        sys.exit(str(error))
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{BUILD / 'site' / 'index.html'}; with search: python3 -m http.server -d {BUILD / 'site'}")
