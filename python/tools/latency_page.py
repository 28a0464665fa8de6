"""Writes what the latency benchmark measured into docs/evidence/latency.md: a table, and a picture beside it.

python python/tools/latency_page.py latency.jsonl docs/evidence/latency.md
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import marked
import picture
from matplotlib.figure import Figure

Run = dict[str, Any]

QUANTILES = ("p50_ms", "p99_ms", "p999_ms")
COLOURS = {"raw": picture.GREY, "micro-batch": picture.BLUE, "real-time": picture.RED}
WAYS = {"raw": "the bare SDK", "micro-batch": "micro-batches", "real-time": "real-time mode"}
NAMES = {"polling": "polling", "efo": "enhanced fan-out"}
LOADS = {"steady": "200 records a second, one by one", "bursts": "200 records at once, once a second"}


def draw(measured: list[Run], to: Path) -> None:
    """A panel for each load, a line for each way of reading: from the median by the 99% to the 99.9% quantile."""
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    ways = [(publisher, way) for publisher in NAMES for way in WAYS]
    for panel, load in zip(figure.subplots(1, len(LOADS), sharex=True, sharey=True), LOADS, strict=True):
        for row, (publisher, way) in enumerate(reversed(ways)):
            (run,) = [run for run in measured if (run["publisher"], run["way"], run["load"]) == (publisher, way, load)]
            # As the table has them.
            quantiles = [round(run[name], 1) for name in QUANTILES]
            panel.plot(quantiles, [row] * len(quantiles), color=COLOURS[way], linewidth=2)
            panel.scatter(quantiles, [row] * len(quantiles), color=COLOURS[way], marker="|", s=90)
            panel.scatter(quantiles[:1], [row], color=COLOURS[way], s=36)
        panel.set_title(LOADS[load], fontsize=10)
        panel.set_xscale("log")
        panel.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
        panel.grid(axis="x", alpha=0.6)
        panel.set_yticks(range(len(ways)), [f"{NAMES[publisher]}: {WAYS[way]}" for publisher, way in reversed(ways)])
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)
    figure.supxlabel("ms from PutRecords to the program: median (dot), 99%, 99.9%", fontsize=10)
    picture.save(figure, to, "Median, 99% and 99.9% quantiles of the latency of each way of reading")


def check(measured: list[Run]) -> None:
    """What records took that arrived says nothing of those that didn't.

    Raises:
        ValueError: if a run has other records than it should have.
    """
    for run in measured:
        if run["records"] != run["expected"]:
            called = f"{run['publisher']}, {run['way']}, {run['load']}"
            raise ValueError(f"{called}: {run['records']:,} records came, and {run['expected']:,} should have")


def table(measured: list[Run], floor: Run, between: str = ": ") -> str:
    """A line for each way of reading, in ms; and beside them a batch that reads nothing."""
    runs = {(run["publisher"], run["way"], run["load"]): run for run in measured}
    lines = [
        "| ms | one by one: median | 99% | 99.9% | bursts: median | 99% | 99.9% |",
        "|---|---|---|---|---|---|---|",
    ]
    for publisher, name in NAMES.items():
        for way, called in WAYS.items():
            if (publisher, way, "steady") in runs:
                figures = [f"{runs[publisher, way, load][q]:.1f}" for load in LOADS for q in QUANTILES]
                lines.append(f"| {name}{between}{called} | {' | '.join(figures)} |")
    fewest = min(run["records"] for run in measured)
    note = (
        f"At least {fewest:,} records each. A batch of Spark's rate source took {floor['p50_ms']:.0f} ms "
        f"(median), {floor['p99_ms']:.0f} ms (99%)."
    )
    return "\n".join([*lines, "", note, "", stamp(floor)])


def stamp(run: Run) -> str:
    """Where the figures are from."""
    return f"Commit {run['commit']}, {run['date'][:10]}, seed {run['seed']:.0f}, `{run['command']}`, {run['machine']}."


if __name__ == "__main__":
    lines, page = map(Path, sys.argv[1:])
    by_master: dict[str, list[Run]] = {"local": [], "cluster": []}
    for told in map(json.loads, lines.read_text().splitlines()):
        by_master[told["master"]].append(told)
    *local, nothing_read = by_master["local"]
    *cluster, nothing_read_there = by_master["cluster"]
    check(local + cluster)
    draw(local, page.parents[1] / "pictures" / "latency.svg")
    marked.put(page, "figures", table(local, nothing_read))
    marked.put(page, "cluster", table(cluster, nothing_read_there, between=", "))
