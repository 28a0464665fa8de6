"""Writes what `make bench-peers` measured into docs/evidence/peers.md: a table of all readers, and their settings.

python python/tools/peers_page.py benchmarks/results docs/evidence/peers.md

The newest results are shown.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import marked

Figure = dict[str, Any]

READERS = {
    "connector": "this connector",
    "flink": "Flink",
    "kcl": "KCL",
    "boto3": "Python source over boto3",
}
WAYS = {
    "polling": "polling",
    "polling without pauses": "polling, no pause between calls",
    "fan-out": "fan-out",
    "real-time polling": "polling, real-time mode",
    "real-time fan-out": "fan-out, real-time mode",
}
COLUMNS = {
    "throughput": "catch-up, MB/s",
    "cpu": "CPU s/GB",
    "first.throughput": "first time: MB/s",
    "first.cpu": "first time: CPU s/GB",
    "start": "start, s",
    "latency.p50": "latency: median, ms",
    "latency.p99": "99%, ms",
}


def newest(results: Path) -> list[Figure]:
    """The figures of the last run.

    Raises:
        FileNotFoundError: if there is none.
    """
    runs = [[json.loads(line) for line in file.read_text().splitlines()] for file in results.glob("*-peers.jsonl")]
    if not runs:
        raise FileNotFoundError(f"{results} has no results of `make bench-peers`")
    return max(runs, key=lambda run: str(run[0]["date"]))


def spread(figure: Figure | None) -> str:
    """The median, and what lies around it; nothing where nothing was measured."""
    if figure is None:
        return ""
    if figure["rounds"] == 1:
        return marked.number(figure["value"])
    return f"{marked.number(figure['value'])} ({marked.number(figure['least'])} to {marked.number(figure['most'])})"


def table(figures: list[Figure]) -> str:
    """A line for each way of reading of each reader."""
    of = {(figure["way"], figure["reader"], figure["what"]): figure for figure in figures}
    lines = [f"| way | reader | {' | '.join(COLUMNS.values())} |", "|---" * (len(COLUMNS) + 2) + "|"]
    for way, called in WAYS.items():
        for reader, name in READERS.items():
            cells = [spread(of.get((way, reader, what))) for what in COLUMNS]
            if any(cells):
                lines.append(f"| {called} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def received(figures: list[Figure]) -> str:
    """What was put while latencies were measured, and what of it didn't come once."""
    counted = [figure for figure in figures if figure["what"] == "latency.p50"]
    put = sum(figure["expected"] for figure in counted)
    wrong = [
        f"{READERS[figure['reader']]}, {WAYS[figure['way']]}: {figure['expected'] - figure['records']:,} of "
        f"{figure['expected']:,} missing, {figure['repeated']:,} repeated"
        for figure in counted
        if figure["records"] != figure["expected"] or figure["repeated"]
    ]
    return (
        f"Of {put:,} records whose latency counts: {'; '.join(wrong) or 'each reader received each of its own once'}."
    )


def settings(figures: list[Figure]) -> str:
    """A line for each reader."""
    about = {figure["reader"]: figure["about"] for figure in figures}
    lines = ["| reader | version and settings |", "|---|---|"]
    lines += [f"| {name} | {about[reader]} |" for reader, name in READERS.items() if reader in about]
    return "\n".join(lines)


def methods(figures: list[Figure]) -> str:
    """How the columns were measured."""
    of = {figure["what"].split(".")[0]: figure["method"] for figure in figures}
    cores = [figure["server_cores"] for figure in figures if "server_cores" in figure]
    server = f"The server took {marked.number(min(cores))} to {marked.number(max(cores))} cores meanwhile"
    return "\n".join(
        [
            f"- Catch-up and its CPU: {of['throughput']}. {server}.",
            f"- First time: {of['first']}.",
            f"- Start: {of['start']}.",
            f"- Latency: {of['latency']}.",
        ]
    )


def stamp(figure: Figure) -> str:
    """Where the figures are from."""
    seed, machine = f"{figure['seed']:.0f}", figure["machine"]
    return f"Commit {figure['commit']}, {figure['date'][:10]}, seed {seed}, `make bench-peers`, {machine}."


if __name__ == "__main__":
    results, page = map(Path, sys.argv[1:])
    figures = newest(results)
    marked.put(page, "figures", f"{table(figures)}\n\n{received(figures)}\n\n{stamp(figures[0])}")
    marked.put(page, "settings", settings(figures))
    marked.put(page, "methods", methods(figures))
