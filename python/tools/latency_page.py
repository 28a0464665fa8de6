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

COLOURS = {"raw": picture.GREY, "micro-batch": picture.BLUE, "real-time": picture.RED}
WAYS = {"raw": "the bare SDK", "micro-batch": "micro-batches", "real-time": "real-time mode"}
NAMES = {"polling": "polling", "efo": "enhanced fan-out"}
LOADS = {"steady": "200 records a second, one by one", "bursts": "200 records at a random moment of each second"}


def draw(measured: list[Run], to: Path) -> None:
    """A panel for each publisher and load."""
    figure = Figure(figsize=(10, 8), layout="constrained")
    panels = figure.subplots(len(NAMES), len(LOADS), sharex=True, sharey=True)
    for row, publisher in zip(panels, NAMES, strict=True):
        for panel, load in zip(row, LOADS, strict=True):
            for run in measured:
                if (run["publisher"], run["load"]) == (publisher, load):
                    steps = run["cdf_ms"]
                    shares = [n / (len(steps) - 1) for n in range(len(steps))]
                    label = f"{run['way']}: median {run['p50_ms']:.0f} ms, 99% within {run['p99_ms']:.0f} ms"
                    panel.plot(steps, shares, color=COLOURS[run["way"]], label=label)
            panel.set_title(f"{NAMES[publisher]}, {LOADS[load]}", fontsize=10)
            panel.set_xscale("log")
            panel.grid(alpha=0.3)
            # Below the axes, where no curve is.
            panel.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.1), frameon=False)
    figure.supxlabel("from PutRecords to the program (ms)", fontsize=10)
    figure.supylabel("share of the records", fontsize=10)
    picture.save(figure, to, "Which share of the records had arrived after which time")


def check(measured: list[Run]) -> None:
    """What records took that arrived says nothing of those that didn't.

    Raises:
        ValueError: if a run has other records than it should have.
    """
    for run in measured:
        if run["records"] != run["expected"]:
            called = f"{run['publisher']}, {run['way']}, {run['load']}"
            raise ValueError(f"{called}: {run['records']:,} records came, and {run['expected']:,} should have")


def table(measured: list[Run], floor: Run) -> str:
    """A line for each way of reading, in ms; and beside them a batch that reads nothing."""
    runs = {(run["publisher"], run["way"], run["load"]): run for run in measured}
    lines = [
        "| ms | one by one: median | 99% | 99.9% | bursts: median | 99% | 99.9% |",
        "|---|---|---|---|---|---|---|",
    ]
    for publisher, name in NAMES.items():
        for way, called in WAYS.items():
            figures = [
                f"{runs[publisher, way, load][q]:.1f}" for load in LOADS for q in ("p50_ms", "p99_ms", "p999_ms")
            ]
            lines.append(f"| {name}: {called} | {' | '.join(figures)} |")
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
    *told, nothing_read = [json.loads(line) for line in lines.read_text().splitlines()]
    check(told)
    draw(told, page.parents[1] / "pictures" / "latency.svg")
    marked.put(page, "figures", table(told, nothing_read))
