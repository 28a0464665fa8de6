"""Pictures that are readable on light and dark pages: SVG whose few colours follow the reader's setting.

matplotlib draws a picture with the colours `INK` and others below; `save` replaces each by a variable of a style sheet,
which has two values. The ground is part of the picture, so it is readable also where a page is dark and the reader's
setting is light. The same drawing makes the same bytes.
"""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

mpl.use("Agg")
mpl.rcParams["svg.fonttype"] = "none"
mpl.rcParams["svg.hashsalt"] = "kinesis-spark"
mpl.rcParams["font.family"] = "sans-serif"

# What stands for what while drawing; colours that matplotlib writes as they are.
GROUND, INK, FAINT, BLUE, RED, GREEN, GREY = (f"#0000{n:02x}" for n in range(1, 8))

# On light and on dark ground, with a contrast of 4.5 at least, except for FAINT, which is for grids and areas.
THEME = {
    GROUND: ("ground", "#ffffff", "#1e2129"),
    INK: ("ink", "#24292f", "#d7dae0"),
    FAINT: ("faint", "#d0d7de", "#444b57"),
    BLUE: ("blue", "#0a5cc2", "#79b0ff"),
    RED: ("red", "#b3261e", "#ff9388"),
    GREEN: ("green", "#1a7037", "#6fd08c"),
    GREY: ("grey", "#667080", "#9aa4b2"),
}

for name, colour in {
    "figure.facecolor": GROUND,
    "axes.facecolor": GROUND,
    "savefig.facecolor": GROUND,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": FAINT,
    "legend.labelcolor": INK,
    "legend.facecolor": GROUND,
}.items():
    mpl.rcParams[name] = colour


def save(figure: Figure, to: Path, description: str) -> None:
    """Write a figure as SVG.

    Args:
        figure: what is drawn.
        to: the file.
        description: for readers who don't see it.
    """
    drawn = StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    text = drawn.getvalue()
    for colour, (variable, _, _) in THEME.items():
        text = text.replace(colour, f"var(--{variable})")
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px system-ui, sans-serif", text)
    light = "".join(f"--{variable}: {value}; " for variable, value, _ in THEME.values())
    dark = "".join(f"--{variable}: {value}; " for variable, _, value in THEME.values())
    style = f"<style>:root {{ {light}}} @media (prefers-color-scheme: dark) {{ :root {{ {dark}}} }}</style>"
    text = re.sub(r"(<svg [^>]*)>", rf'\1 role="img"><title>{description}</title>{style}', text, count=1)
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE), encoding="utf-8")
