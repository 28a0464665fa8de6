"""The pictures of the documentation are those that the scripts draw, and have a colour for light and for dark pages."""

from __future__ import annotations

import re
from pathlib import Path

import latency_page
import picture
import pictures
import pytest


def contrast(one: str, other: str) -> float:
    """Of two colours, as WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", pictures.DRAWN)
def test_a_picture_is_current(tmp_path: Path, name: str) -> None:
    pictures.draw(tmp_path)
    assert (tmp_path / name).read_text() == (pictures.PICTURES / name).read_text(), "run `make pictures`"


def test_the_picture_of_latency_shows_the_figures_of_its_page(tmp_path: Path) -> None:
    page = (pictures.PICTURES.parent / "evidence" / "latency.md").read_text()
    publishers, ways = ({name: key for key, name in known.items()} for known in (latency_page.NAMES, latency_page.WAYS))
    rows = re.findall(r"^\| ([^:|]+): ([^|]+) \|(.*)\|$", page, re.MULTILINE)
    runs = [
        {"publisher": publishers[publisher], "way": ways[way], "load": load}
        | dict(zip(latency_page.QUANTILES, map(float, cells.split("|")[place : place + 3]), strict=True))
        for publisher, way, cells in rows
        for place, load in ((0, "steady"), (3, "bursts"))
    ]
    latency_page.draw(runs, tmp_path / "latency.svg")
    assert (tmp_path / "latency.svg").read_text() == (pictures.PICTURES / "latency.svg").read_text()


@pytest.mark.parametrize("file", sorted(pictures.PICTURES.glob("*.svg")), ids=lambda file: file.name)
def test_a_picture_uses_colours_of_the_theme_alone(file: Path) -> None:
    drawn = file.read_text().partition("</style>")[2]
    assert re.findall(r"#[0-9a-f]{6}", drawn) == []
    assert "var(--ink)" in drawn


@pytest.mark.parametrize("theme", [1, 2], ids=["light", "dark"])
def test_text_and_lines_stand_out_from_the_ground(theme: int) -> None:
    ground = picture.THEME[picture.GROUND][theme]
    for name, *colours in picture.THEME.values():
        if name not in ("ground", "faint"):
            assert contrast(colours[theme - 1], ground) >= 4.5, name
