"""Writes what `make bench-beside-sdk` measured into docs/evidence/performance.md, and a picture beside it.

python python/tools/beside_sdk_page.py benchmarks/results docs/evidence/performance.md

The newest line of each setting is shown. A goal that is missed stands as missed,
and a setting without a line as not measured.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import bench
import marked
import picture
from beside_sdk import SETTINGS, SINKS, Setting
from matplotlib.axes import Axes
from matplotlib.figure import Figure

Line = dict[str, Any]

PICTURE = "beside-sdk.svg"
DESCRIPTION = "Throughput and CPU of PySpark queries that catch up or write, beside the AWS SDK alone, with the goals"
CALLED = {
    "polling": "polling",
    "efo": "fan-out",
    "sink": "sink",
    "aggregate": "aggregating sink",
    "ordered": "ordered sink",
}
COLORS = {"polling": picture.BLUE, "efo": picture.GREEN} | dict.fromkeys(SINKS, picture.GREY)
# What is compared.
THROUGHPUT, CPU = "throughput", "cpu"
BY_NAME = {setting.name: setting for setting in SETTINGS}


def newest(results: Path) -> list[Line]:
    """The newest line of each setting, in the order of the page."""
    return bench.newest(results, "beside-sdk", BY_NAME)


def called(line: Line) -> str:
    """The setting as a person reads it."""
    shards = f"{line['shards']} shard{'' if line['shards'] == 1 else 's'}"
    parts = [CALLED[line["kind"]], shards, f"{line['record_bytes']:,} B"]
    return ", ".join([*parts, *(["TLS"] if line["tls"] else []), *(["first query of a JVM"] if line["cold"] else [])])


def goal_of(line: Line, what: str) -> float | None:
    """The least throughput or the most CPU, to the loop's."""
    setting = BY_NAME[line["name"]]
    return setting.least_throughput if what == THROUGHPUT else setting.most_cpu


def verdict(line: Line, what: str) -> str:
    """The goal, and whether it is met."""
    goal, value = goal_of(line, what), line[f"{what}_to_loop"]
    if goal is None:
        return ""
    met = value >= goal if what == THROUGHPUT else value <= goal
    return f"{in_words(line, what)}: {'met' if met else '**missed**'}"


def in_words(line: Line, what: str) -> str:
    """The goal in words, if there is one."""
    goal = goal_of(line, what)
    return "" if goal is None else f"{'at least' if what == THROUGHPUT else 'at most'} {goal:g}"


def table(lines: list[Line], settings: Sequence[Setting]) -> str:
    """A line for each setting: medians of all turns, their ratio, and the goal; last those that were not measured."""
    rows = [
        "| query | MB/s | the SDK's MB/s | throughput to the SDK's | goal | CPU s/GB | the SDK's CPU s/GB "
        "| CPU to the SDK's | goal |",
        "|---" * 9 + "|",
    ]
    for line in lines:
        cells = [called(line)]
        for what, unit in ((THROUGHPUT, "mb_per_s"), (CPU, "cpu_s_per_gb")):
            values = (line[f"query_{unit}"], line[f"loop_{unit}"], line[f"{what}_to_loop"])
            cells += [*map(marked.number, values), verdict(line, what)]
        rows.append(f"| {' | '.join(cells)} |")
    there = {line["name"] for line in lines}
    for setting in map(asdict, settings):
        if setting["name"] not in there:
            goals = [in_words(setting, what) for what in (THROUGHPUT, CPU)]
            cells = [
                called(setting),
                *(cell for goal in goals for cell in ("", "", "", goal and f"{goal}: not measured")),
            ]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def turns(lines: list[Line]) -> str:
    """A line for each setting: how far its turns lie apart, and the loop's best form."""
    rows = [
        "| query | turns | throughput: 95% interval | first turn | last turn | CPU: 95% interval | first turn "
        "| last turn | the loop's best form |",
        "|---" * 9 + "|",
    ]
    for line in lines:
        cells = [called(line), str(len(line["turns"]))]
        for what in (THROUGHPUT, CPU):
            around = " to ".join(map(marked.number, line[f"{what}_interval"]))
            cells += [around, marked.number(line[f"{what}_first"]), marked.number(line[f"{what}_last"])]
        rows.append(f"| {' | '.join([*cells, form(line)])} |")
    return "\n".join(rows)


def form(line: Line) -> str:
    """The loop's best form."""
    best = line["form"]
    if BY_NAME[line["name"]].writes:
        return f"HTTP/{best['http']}"
    if "window" in best:
        return f"HTTP/2, windows of {int(best['window']) >> 10:,} KiB"
    megabytes = int(best["limit"]) * line["record_bytes"] / 1e6
    return f"HTTP/{best['http']}, answers of {int(best['limit']):,} records ({megabytes:g} MB)"


def stamp(lines: list[Line]) -> str:
    """Where the figures are from. Settings may have been measured one by one, at several commits."""
    commits: dict[str, list[str]] = {}
    for line in lines:
        commits.setdefault(f"{line['commit']}, {line['date'][:10]}", []).append(called(line))
    parts = [where if len(commits) == 1 else f"{where} ({'; '.join(of)})" for where, of in commits.items()]
    sizes = sorted({line["megabytes"] for line in lines})
    machine = "; ".join(dict.fromkeys(f"{line['machine']}, {line['versions']}" for line in lines))
    megabytes = " or ".join(f"{size:,} MB" for size in sizes)
    return f"Commit {'; '.join(parts)}; {megabytes} a turn, `make bench-beside-sdk`, {machine}."


def draw(lines: list[Line], to: Path) -> None:
    """A panel for throughput and one for CPU: a bar for each setting, and a mark at its goal."""
    figure = Figure(figsize=(10, 0.34 * len(lines) + 1.5), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for panel, what in zip(panels, (THROUGHPUT, CPU), strict=True):
        _panel(panel, lines, what)
    panels[0].set_yticks(range(len(lines)), [called(line) for line in reversed(lines)], fontsize=9)
    panels[0].set_title("throughput: more is better", fontsize=10)
    panels[1].set_title("CPU for each GB: less is better", fontsize=10)
    figure.supxlabel("PySpark query to the AWS SDK alone, which is 1 (dotted); red mark: the goal", fontsize=10)
    picture.save(figure, to, DESCRIPTION)


def _panel(panel: Axes, lines: list[Line], what: str) -> None:
    for row, line in enumerate(reversed(lines)):
        value, goal = line[f"{what}_to_loop"], goal_of(line, what)
        panel.barh(row, value, height=0.6, color=COLORS[line["kind"]])
        panel.text(value, row, f" {value:g}", va="center", fontsize=8)
        if goal is not None:
            panel.plot([goal, goal], [row - 0.4, row + 0.4], color=picture.RED, linewidth=2)
    panel.axvline(1, color=picture.INK, linewidth=1, linestyle=":")
    panel.set_xlim(0, 1.15 * max([1.0, *(line[f"{what}_to_loop"] for line in lines)]))
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def parts(lines: list[Line]) -> dict[str, str]:
    """The generated parts of the page, by name."""
    found = {}
    for part, writes in (("catch-up", False), ("sink", True)):
        settings = [setting for setting in SETTINGS if setting.writes == writes]
        some = [line for line in lines if BY_NAME[line["name"]].writes == writes]
        found[part] = "\n\n".join([table(some, settings), *([stamp(some)] if some else [])])
        found[f"{part}-turns"] = turns(some)
    return found


if __name__ == "__main__":
    results, page = map(Path, sys.argv[1:])
    measured = newest(results)
    if not measured:
        sys.exit(f"{results} has no results of `make bench-beside-sdk`")
    for name, text in parts(measured).items():
        marked.put(page, name, text)
    draw(measured, page.parents[1] / "pictures" / PICTURE)
