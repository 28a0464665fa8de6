"""Draws what the latency benchmark measured: which share of the records had come after which time, a line for each way.

python benchmarks/plot_latency.py latency.jsonl docs/latency.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

COLOURS = {"raw": "0.55", "micro-batch": "tab:blue", "real-time": "tab:red"}
NAMES = {"polling": "polling", "efo": "enhanced fan-out"}
LOADS = {"steady": "200 records a second, one by one", "bursts": "200 records once a second"}


def draw(measured: list[dict[str, Any]], to: Path) -> None:
    """A panel for each publisher and load."""
    figure, panels = plt.subplots(
        len(NAMES), len(LOADS), figsize=(10, 6.5), sharex=True, sharey=True, layout="constrained"
    )
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
            panel.legend(fontsize=8, loc="lower right")
    figure.supxlabel("from PutRecords to the program (ms)", fontsize=10)
    figure.supylabel("share of the records", fontsize=10)
    figure.savefig(to, dpi=110)


if __name__ == "__main__":
    lines, picture = map(Path, sys.argv[1:])
    draw([json.loads(line) for line in lines.read_text().splitlines()], picture)
