"""Writes what `make bench` measured into docs/evidence/performance.md: a table of each kind of measurement.

python python/tools/performance_page.py benchmarks/results docs/evidence/performance.md

The newest results that hold all of `make bench` are shown. `beside_sdk_page.py` writes the comparison with the SDK.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import marked

Figure = dict[str, Any]

# What every whole run has.
LANDMARKS = ("planning.10000shards", "latency.efo.real-time.p50")

COST = re.compile(r"cost\.(polling|efo)\.(\w+)")
BUFFER = re.compile(r"buffer\.(?P<column>polling|efo)\.(?P<row>\d+)MiB\.throughput")
TRANSPORT = re.compile(r"transport\.(?P<row>\w+)\.(?P<column>throughput|cpu)")

KINDS = {"polling": "polling", "efo": "fan-out"}

# Figures without a table of their own, by part of the page, as a person reads them.
PARTS = {
    "planning": {
        "planning.1000shards": "planning a batch of 1,000 shards",
        "planning.10000shards": "planning a batch of 10,000 shards",
    },
    "latency": {
        f"{master}latency.{name}": f"{called}{where}"
        for master, where in (("", ""), ("cluster.", ", two executors"))
        for name, called in (
            ("efo.real-time.p50", "real-time mode, median"),
            ("efo.real-time.p999", "real-time mode, 99.9%"),
            ("efo.micro-batch.p50", "micro-batches, median"),
            ("efo.micro-batch.p50_beyond_empty_batch", "micro-batches, median beyond Spark's empty batch under load"),
            ("efo.micro-batch.p50_beyond_idle_empty_batch", "micro-batches, median beyond Spark's idle empty batch"),
            ("empty_batch", "Spark's empty batch under load, median"),
            ("idle_empty_batch", "Spark's idle empty batch, median"),
        )
    },
    "memory": {
        f"memory.{size}B.{name}": f"records of {size:,} B: {called}"
        for size in (100, 1000)
        for name, called in (
            ("heap_of_data", "heap to the bytes of data and keys"),
            ("heap_of_counted", "heap to what the memory budget counts"),
        )
    },
}

COST_ROWS = {
    "cores_per_100_shards": "cores for 100 shards at 1 MB/s each",
    "calls_per_gb": "calls per GB at 1 MB/s of each shard",
    "catch_up_calls_per_gb": "calls per GB of a catch-up",
    "idle_calls_per_shard_hour": "calls per hour of an idle shard",
}


def read(file: Path) -> list[Figure]:
    """The lines of a run."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def whole_runs(results: Path) -> list[list[Figure]]:
    """The results that hold all of `make bench`, the oldest first."""
    runs = [read(file) for file in results.glob("*.jsonl")]
    whole = [run for run in runs if {figure["name"] for figure in run} >= set(LANDMARKS)]
    return sorted(whole, key=lambda run: str(run[0]["date"]))


def spread(figure: Figure) -> str:
    """The median, and what lies around it."""
    if figure["rounds"] == 1:
        return marked.number(figure["value"])
    return f"{marked.number(figure['value'])} ({marked.number(figure['least'])} to {marked.number(figure['most'])})"


def verdict(figure: Figure) -> str:
    """The goal, and whether it is met."""
    if figure["goal"] is None:
        return ""
    return f"{figure['goal']}: {'met' if figure['met'] else '**missed**'}"


def by_row(figures: list[Figure], pattern: re.Pattern[str]) -> dict[str, dict[str, Figure]]:
    """Figures of one table: by row and column, which are the pattern's groups."""
    rows: dict[str, dict[str, Figure]] = {}
    for figure in figures:
        if found := pattern.fullmatch(figure["name"]):
            rows.setdefault(found["row"], {})[found["column"]] = figure
    return rows


def of_streams(figures: list[Figure]) -> str:
    """What a stream costs that is read all day: a line for each cost."""
    found = {figure["name"]: figure for figure in figures if COST.fullmatch(figure["name"])}
    lines = ["| what | polling | fan-out |", "|---|---|---|"]
    for what, called in COST_ROWS.items():
        cells = [marked.number(found[f"cost.{publisher}.{what}"]["value"]) for publisher in KINDS]
        lines.append(f"| {called} | {' | '.join(cells)} |")
    return "\n".join(lines)


def buffers(figures: list[Figure]) -> str:
    """Throughput by `readerBufferSize`: a line for each size."""
    lines = ["| `readerBufferSize` | polling, MB/s | fan-out, MB/s |", "|---|---|---|"]
    for mib, row in sorted(by_row(figures, BUFFER).items(), key=lambda item: int(item[0])):
        lines.append(f"| {mib}m | {' | '.join(spread(row[publisher]) for publisher in KINDS)} |")
    return "\n".join(lines)


def transport(figures: list[Figure]) -> str:
    """A line for each setting of HTTP/2."""
    lines = ["| setting | MB/s | CPU s/GB |", "|---|---|---|"]
    for row in by_row(figures, TRANSPORT).values():
        setting = row["throughput"]["method"].rsplit("; ", 1)[1]
        lines.append(f"| {setting} | {spread(row['throughput'])} | {spread(row['cpu'])} |")
    return "\n".join(lines)


def named(figures: list[Figure], names: dict[str, str]) -> str:
    """A line for each of these figures."""
    of = {figure["name"]: figure for figure in figures}
    lines = ["| figure | median (spread) | goal |", "|---|---|---|"]
    for name, called in names.items():
        if name in of:
            figure = of[name]
            unit = "" if figure["unit"] == "ratio" else f" {figure['unit']}"
            lines.append(f"| {called} | {spread(figure)}{unit} | {verdict(figure)} |")
    return "\n".join(lines)


def stamp(figures: list[Figure]) -> str:
    """Where the figures are from. Measurements of one file may have been made one by one, at several commits."""
    commits: dict[str, list[str]] = {}
    for figure in figures:
        kinds = commits.setdefault(f"{figure['commit']}, {figure['date'][:10]}", [])
        if (kind := figure["name"].split(".")[0]) not in kinds:
            kinds.append(kind)
    parts = [where if len(commits) == 1 else f"{where} ({', '.join(kinds)})" for where, kinds in commits.items()]
    return f"Commit {'; '.join(parts)}; seed {figures[0]['seed']:.0f}, `make bench`, {figures[0]['machine']}."


if __name__ == "__main__":
    results, page = map(Path, sys.argv[1:])
    runs = whole_runs(results)
    if not runs:
        sys.exit(f"{results} holds no whole run of `make bench`")
    newest = runs[-1]
    for name, names in PARTS.items():
        marked.put(page, name, named(newest, names))
    # A run that was given few minutes may lack these.
    for name, pattern, table in (
        ("streams", COST, of_streams),
        ("buffers", BUFFER, buffers),
        ("transport", TRANSPORT, transport),
    ):
        if any(pattern.fullmatch(figure["name"]) for figure in newest):
            marked.put(page, name, table(newest))
    marked.put(page, "bench", stamp(newest))
