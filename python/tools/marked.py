"""Parts of Markdown pages that programs write: what is between two comments, and figures in it."""

from __future__ import annotations

from pathlib import Path

# From here on, digits behind the point say nothing.
LARGE = 100


def put(page: Path, name: str, text: str) -> None:
    """Writes a page's part anew, between `<!-- name: ... -->` and `<!-- end of name -->`.

    Raises:
        ValueError: if the page has no such part.
    """
    before, _, after = _split(page, name)
    page.write_text(f"{before}\n{text.strip()}\n\n{after}")


def get(page: Path, name: str) -> str:
    """The text of such a part.

    Raises:
        ValueError: if the page has no such part.
    """
    return _split(page, name)[1].strip()


def number(value: float) -> str:
    """A figure as the results have it, without needless zeros."""
    return f"{value:,.0f}" if abs(value) >= LARGE else f"{value:g}"


def _split(page: Path, name: str) -> tuple[str, str, str]:
    before, begin, rest = page.read_text().partition(f"<!-- {name}: ")
    comment, close, part = rest.partition("-->\n")
    part, end, after = part.partition(f"<!-- end of {name} -->")
    if not (begin and close and end):
        raise ValueError(f"{page} has no part '{name}', which begins and ends with a comment of that name")
    return f"{before}{begin}{comment}{close}", part, f"{end}{after}"
