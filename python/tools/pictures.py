"""Draws the pictures of docs/pictures that need no measurement. `make pictures` runs it; a test compares.

`lag_picture.py` and `latency_page.py` draw those of measurements.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import picture
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from picture import BLUE, FAINT, GREEN, GREY, GROUND, INK

Place = tuple[float, float, float, float]
Point = tuple[float, float]

# The height of a label of one line.
LINE = 4.4
PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"


def data_flow() -> Figure:
    """From shards to rows, and what the checkpoint holds."""
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    axes = _canvas(figure, 100, 46)
    _box(axes, (1, 4, 17, 38), "Kinesis")
    _box(axes, (25, 4, 40, 24), "executors")
    _box(axes, (25, 33, 40, 11), "driver")
    _box(axes, (72, 33, 26, 11), "checkpoint")
    for row, shard in ((20, 0), (13, 1), (6, 2)):
        _label(axes, (9.5, row + 2.2, 13, LINE), f"shard {shard}", BLUE)
        _label(axes, (34, row + 2.2, 13, LINE), "reader", GREEN)
        _label(axes, (54, row + 2.2, 15, LINE), "buffer", GREEN)
        _arrow(axes, (16.2, row + 2.2), (27.2, row + 2.2), "records" if shard == 0 else "")
        _arrow(axes, (40.8, row + 2.2), (46.2, row + 2.2))
        _arrow(axes, (61.8, row + 2.2), (73.6, 15.2))
    _label(axes, (84, 15.2, 20, 11), "micro-batch:\na range of each shard,\nrows to the query", BLUE)
    _label(axes, (45, 37.3, 32, LINE), "plans where the batch ends", INK)
    _label(axes, (85, 37.3, 21, LINE), "range of each batch", INK)
    _arrow(axes, (34, 28.4), (34, 34.4), "how far each has read", side=0.8)
    _arrow(axes, (61.4, 37.3), (74, 37.3), "before it runs")
    _arrow(axes, (85, 34.3), (85, 21.4), "read by the batch,\nand by its repeats", side=0.8)
    return figure


def shard_life() -> Figure:
    """The life of shards over a split and a merge, with the order in which a query reads them."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.add_subplot()
    # Where each is in time and in hash keys, when it is read, and what becomes of it.
    shards = [
        ("shard 0", 0, 4, 0.5, 1.0, "read first", "closed by a split"),
        ("shard 1", 0, 7, 0.0, 0.5, "read first", "closed by a merge"),
        ("shard 2", 4, 10, 0.75, 1.0, "read after 0", "open"),
        ("shard 3", 4, 7, 0.5, 0.75, "read after 0", "closed by a merge"),
        ("shard 4", 7, 10, 0.0, 0.75, "read after 1 and 3", "open"),
    ]
    for name, begin, end, low, high, turn, life in shards:
        colour = BLUE if life == "open" else GREY
        axes.add_patch(
            Rectangle((begin, low), end - begin, high - low, facecolor=GROUND, edgecolor=colour, linewidth=1.5)
        )
        axes.text((begin + end) / 2, (low + high) / 2, f"{name}\n{life}\n{turn}", ha="center", va="center", size=10)
    for time, event in ((4, "split"), (7, "merge")):
        axes.text(time, 1.02, event, color=GREEN, ha="center", size=10)
    axes.set(xlim=(0, 10), ylim=(0, 1), yticks=[0, 0.5, 1], yticklabels=["0", "2¹²⁷", "2¹²⁸"])
    axes.set_xticks([])
    axes.set_xlabel("time")
    axes.set_ylabel("hash keys")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure


DRAWN: dict[str, tuple[Callable[[], Figure], str]] = {
    "data-flow.svg": (
        data_flow,
        "Records flow from shards through readers and buffers on the executors to micro-batches. The driver plans "
        "where a batch ends and writes its ranges to the checkpoint before it runs.",
    ),
    "shard-life.svg": (
        shard_life,
        "Shards over time and hash keys: shard 0 is split into 2 and 3, then 1 and 3 are merged into 4. Parents are "
        "read before their children.",
    ),
}


def draw(to: Path) -> None:
    """Draw all of them into a folder."""
    for name, (make, description) in DRAWN.items():
        picture.save(make(), to / name, description)


def _canvas(figure: Figure, width: float, height: float) -> Axes:
    axes = figure.add_subplot()
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    return axes


def _box(axes: Axes, place: Place, title: str) -> None:
    """A frame, with its title at the upper left; the place begins at the lower left."""
    x, y, width, height = place
    style = "round,pad=0.2,rounding_size=1.2"
    axes.add_patch(FancyBboxPatch((x, y), width, height, style, facecolor=GROUND, edgecolor=FAINT, linewidth=1.5))
    axes.text(x + 1, y + height - 1, title, color=GREY, size=10, va="top")


def _label(axes: Axes, place: Place, text: str, colour: str) -> None:
    """A text in a frame around it; the place begins at its middle."""
    x, y, width, height = place
    corner = (x - width / 2, y - height / 2)
    style = "round,pad=0.1,rounding_size=0.8"
    axes.add_patch(FancyBboxPatch(corner, width, height, style, facecolor=GROUND, edgecolor=colour, linewidth=1.4))
    axes.text(x, y, text, ha="center", va="center", size=10, linespacing=1.4)


def _arrow(axes: Axes, begin: Point, end: Point, text: str = "", side: float = 0) -> None:
    style = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=end, xytext=begin, arrowprops=style)
    middle = ((begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2)
    if begin[0] == end[0]:
        axes.text(middle[0] + side, middle[1], text, size=9, va="center", ha="right" if side <= 0 else "left")
    else:
        axes.text(middle[0], middle[1] + 0.7, text, size=9, va="bottom", ha="center")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)
