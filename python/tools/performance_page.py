"""Writes what `make bench` measured into docs/evidence/performance.md: goals, and a table of each kind of measurement.

The comparison from PySpark goes into peers.md beside it, too.

python python/tools/performance_page.py benchmarks/results docs/evidence/performance.md

The newest results that hold all of `make bench` are shown, and beside them the newest comparison from PySpark
(`*-yardstick.jsonl`), whose bare loop has its best form. A goal beside the SDK is met only where that comparison
meets it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import marked

Figure = dict[str, Any]

# The files of comparisons from PySpark, whose lines are no figures.
COMPARISONS = "*-yardstick.jsonl"
# A goal as `make bench` writes it.
GOAL = re.compile(r"(at least|at most) ([\d.]+)")
# The name of a ratio beside the bare loop, and what the comparison from PySpark calls it.
BESIDE_LOOP = re.compile(r"(?P<place>.+)\.(?P<what>throughput|cpu)_to_sdk")
RATIOS = {"throughput": "ratio", "cpu": "cpu_ratio"}

# From here on, digits behind the point say nothing.
LARGE = 100

# What every whole run has.
LANDMARKS = ("read.polling.1000B.16shards.cpu", "read.efo.1000B.16shards.cpu", "sink.100B.cpu")

READ = re.compile(r"read\.(polling|efo)\.(\d+)B\.(\d+)shards(\.tls)?\.(\w+)")
SINK = re.compile(r"sink\.(?P<row>\d+)B\.(?P<column>.+)")
COST = re.compile(r"cost\.(polling|efo)\.(\w+)")
BUFFER = re.compile(r"buffer\.(?P<column>polling|efo)\.(?P<row>\d+)MiB\.throughput")
TRANSPORT = re.compile(r"transport\.(?P<row>\w+)\.(?P<column>throughput|cpu)")
TABLES = (READ, SINK, COST, BUFFER, TRANSPORT)

KINDS = {"polling": "polling", "efo": "fan-out"}

USES = {
    "event_loops": "event loops: network, decoding",
    "sdk_completion": "the SDK's threads for results",
    "readers": "shard readers",
    "tasks": "Spark's tasks: rows, sink",
    "collection": "garbage collection",
    "compilation": "compilers",
    "others": "the driver's planning, and the rest",
}

READ_COLUMNS = {
    "throughput_to_sdk": "throughput to the SDK's",
    "cpu_to_sdk": "CPU to the SDK's",
    "throughput": "MB/s",
    "cpu": "CPU s/GB",
    "cpu_of_sdk": "the SDK's CPU s/GB",
    "per_core": "MB/s per core",
    "garbage": "garbage, B/record",
    "garbage_of_sdk": "the SDK's garbage",
}

COST_ROWS = {
    "cores_per_100_shards": "cores for 100 shards at 1 MB/s each",
    "calls_per_gb": "calls per GB at 1 MB/s of each shard",
    "catch_up_calls_per_gb": "calls per GB of a catch-up",
    "idle_calls_per_shard_hour": "calls per hour of an idle shard",
}

SINK_COLUMNS = {
    "cpu_to_sdk": "CPU to the loop's",
    "throughput_to_sdk": "throughput to the loop's",
    "cpu": "CPU µs/row",
    "cpu_of_sdk": "the loop's CPU µs/row",
    "per_core": "MB/s per core",
    "aggregated.cpu_to_sdk": "aggregated: CPU to the loop's",
    "aggregated.per_core": "aggregated: MB/s per core",
}


def read(file: Path) -> list[Figure]:
    """The lines of a run."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def whole_runs(results: Path) -> list[list[Figure]]:
    """The results that hold all of `make bench`, the oldest first."""
    files = sorted(set(results.glob("*.jsonl")) - set(results.glob(COMPARISONS)))
    runs = [read(file) for file in files]
    whole = [run for run in runs if {figure["name"] for figure in run} >= set(LANDMARKS)]
    return sorted(whole, key=lambda run: str(run[0]["date"]))


def number(value: float) -> str:
    """As the results have it, without needless zeros."""
    return f"{value:,.0f}" if abs(value) >= LARGE else f"{value:g}"


def spread(figure: Figure) -> str:
    """The median, and what lies around it."""
    if figure["rounds"] == 1:
        return number(figure["value"])
    return f"{number(figure['value'])} ({number(figure['least'])} to {number(figure['most'])})"


def comparisons(results: Path) -> list[Figure]:
    """The newest comparison from PySpark, a line for each publisher, size of records and number of shards."""
    files = sorted(results.glob(COMPARISONS))
    return read(files[-1]) if files else []


def place(line: Figure) -> str:
    """What `make bench` calls the query of a comparison."""
    tls = ".tls" if line["tls"] else ""
    return f"read.{line['mode']}.{line['bytes']}B.{line['shards']}shards{tls}"


def met(figure: Figure, compared: list[Figure]) -> tuple[str, str]:
    """A figure beside the loop's best form, and whether its goal is met.

    A ratio beside the bare loop of `make bench` decides nothing, because that loop is not the best there is.
    """
    ratio = BESIDE_LOOP.fullmatch(figure["name"])
    if ratio is None:
        return "", verdict(figure["goal"], figure["value"])
    value = next((line[RATIOS[ratio["what"]]] for line in compared if place(line) == ratio["place"]), None)
    if value is None:
        return "not measured", "open"
    return number(value), verdict(figure["goal"], value)


def verdict(goal: str, value: float) -> str:
    """Whether a value meets a goal."""
    found = GOAL.fullmatch(goal)
    if found is None:
        raise ValueError(f"'{goal}' is not a goal such as 'at least 0.8'")
    limit = float(found[2])
    return "yes" if (value >= limit if found[1] == "at least" else value <= limit) else "**no**"


def goals(figures: list[Figure], compared: list[Figure]) -> str:
    """A line for each goal, with whether it is met against the baseline's best form."""
    lines = [
        "| figure | goal | `make bench`: median (spread) | beside the loop's best form | met |",
        "|---|---|---|---|---|",
    ]
    for figure in figures:
        if figure["goal"] is not None:
            best, result = met(figure, compared)
            lines.append(
                f"| `{figure['name']}`, {figure['unit']} | {figure['goal']} | {spread(figure)} | {best} | {result} |"
            )
    return "\n".join(lines)


def from_pyspark(compared: list[Figure]) -> str:
    """A line for each query of the comparison from PySpark."""
    lines = [
        "| publisher, record, shards | MB/s | the loop's MB/s | throughput to the loop's | CPU s/GB "
        "| the loop's CPU s/GB | CPU to the loop's | first query: throughput, CPU | last query: throughput |",
        "|---" * 9 + "|",
    ]
    for line in compared:
        tls = ", TLS" if line["tls"] else ""
        called = f"{KINDS[line['mode']]}, {line['bytes']:,} B, {line['shards']}{tls}"
        columns = ("ours_mb_s", "raw_mb_s", "ratio", "ours_cpu_gb", "raw_cpu_gb", "cpu_ratio")
        cells = [number(line[column]) for column in columns]
        first = f"{number(line['first_ratio'])}, {number(line['first_cpu_ratio'])}"
        lines.append(f"| {called} | {' | '.join(cells)} | {first} | {number(line['last_ratio'])} |")
    of = compared[0]
    return "\n".join(lines) + f"\n\nCommit {of['commit']}, {of['date']}, {of['machine']}; {of['method']}."


def reading(figures: list[Figure]) -> str:
    """A line for each way of reading, size of records and number of shards."""
    rows: dict[tuple[str, ...], dict[str, Figure]] = {}
    for figure in figures:
        if found := READ.fullmatch(figure["name"]):
            publisher, size, shards, tls, what = found.groups()
            rows.setdefault((publisher, size, shards, tls or ""), {})[what] = figure
    lines = [
        f"| publisher, record, shards | {' | '.join(READ_COLUMNS.values())} | server, cores |",
        "|---" * (len(READ_COLUMNS) + 2) + "|",
    ]
    for (publisher, size, shards, tls), row in sorted(
        rows.items(), key=lambda r: (r[0][0], r[0][3], *map(int, r[0][1:3]))
    ):
        called = f"{KINDS[publisher]}, {int(size):,} B, {shards}{', TLS' if tls else ''}"
        cells = [number(row[what]["value"]) for what in READ_COLUMNS]
        lines.append(f"| {called} | {' | '.join(cells)} | {number(next(iter(row.values()))['server_cores'])} |")
    return "\n".join(lines)


def costs(figures: list[Figure]) -> str:
    """What the CPU of reading goes to: connector and bare SDK, the largest cost first."""
    by = {figure["name"]: figure["by"] for figure in figures if "by" in figure}
    columns = [f"read.{publisher}.1000B.16shards.cpu{side}" for publisher in KINDS for side in ("", "_of_sdk")]
    uses = sorted({use for column in columns for use in by[column]}, key=lambda use: -by[columns[0]].get(use, 0))
    lines = [
        "| CPU s/GB, 1,000 B, 16 shards | polling | the SDK | fan-out | the SDK |",
        "|---|---|---|---|---|",
    ]
    for use in uses:
        cells = [number(by[column].get(use, 0)) for column in columns]
        lines.append(f"| {USES[use]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def by_row(figures: list[Figure], pattern: re.Pattern[str]) -> dict[str, dict[str, Figure]]:
    """Figures of one table: by row and column, which are the pattern's groups."""
    rows: dict[str, dict[str, Figure]] = {}
    for figure in figures:
        if found := pattern.fullmatch(figure["name"]):
            rows.setdefault(found["row"], {})[found["column"]] = figure
    return rows


def sinking(figures: list[Figure]) -> str:
    """A line for each size of rows."""
    lines = [f"| row | {' | '.join(SINK_COLUMNS.values())} |", "|---" * (len(SINK_COLUMNS) + 1) + "|"]
    for size, row in by_row(figures, SINK).items():
        lines.append(f"| {size} B | {' | '.join(number(row[what]['value']) for what in SINK_COLUMNS)} |")
    return "\n".join(lines)


def of_streams(figures: list[Figure]) -> str:
    """What a stream costs that is read all day: a line for each cost."""
    found = {figure["name"]: figure for figure in figures if COST.fullmatch(figure["name"])}
    lines = ["| what | polling | fan-out |", "|---|---|---|"]
    for what, called in COST_ROWS.items():
        cells = [number(found[f"cost.{publisher}.{what}"]["value"]) for publisher in KINDS]
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


def others(figures: list[Figure]) -> str:
    """A line for each figure of no other table."""
    lines = ["| figure | median (spread) | how |", "|---|---|---|"]
    for figure in figures:
        if not any(table.fullmatch(figure["name"]) for table in TABLES):
            lines.append(f"| `{figure['name']}`, {figure['unit']} | {spread(figure)} | {figure['method']} |")
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
    newest, compared = runs[-1], comparisons(results)
    marked.put(page, "goals", f"{goals(newest, compared)}\n\n{stamp(newest)}")
    if compared:
        for beside in (page, page.with_name("peers.md")):
            marked.put(beside, "pyspark", from_pyspark(compared))
    marked.put(page, "reading", reading(newest))
    marked.put(page, "costs", costs(newest))
    marked.put(page, "sink", sinking(newest))
    # A run that was given few minutes may lack these.
    for name, pattern, table in (
        ("streams", COST, of_streams),
        ("buffers", BUFFER, buffers),
        ("transport", TRANSPORT, transport),
    ):
        if any(pattern.fullmatch(figure["name"]) for figure in newest):
            marked.put(page, name, table(newest))
    marked.put(page, "others", others(newest))
