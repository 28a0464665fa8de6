"""Tests of the page that shows what `make bench` measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import performance_page

STAMP = {"commit": "abc", "date": "2026-01-02T03:04:05Z", "seed": 16, "machine": "2 cores"}


def figure(
    name: str, value: float, goal: str | None = None, *, met: bool | None = None, **more: object
) -> dict[str, Any]:
    spread = {
        "least": round(value - 0.5, 2),
        "most": round(value + 0.5, 2),
        "rounds": 3,
        "unit": "ratio",
        "method": "as ever",
    }
    return {"name": name, "value": value, "goal": goal, "met": met, **spread, **STAMP, **more}


def test_a_goal_is_met_or_missed() -> None:
    goal = "at most 150"
    assert performance_page.verdict(figure("planning.10000shards", 138, goal, met=True)) == f"{goal}: met"
    assert performance_page.verdict(figure("planning.10000shards", 151, goal, met=False)) == f"{goal}: **missed**"
    assert performance_page.verdict(figure("planning.1000shards", 1)) == ""


def test_a_part_has_a_line_for_each_of_its_figures_that_was_measured() -> None:
    planning = {**figure("planning.1000shards", 15), "unit": "ms"}
    figures = [planning, figure("memory.100B.heap_of_data", 2)]
    parts = [performance_page.named(figures, names).splitlines()[2:] for names in performance_page.PARTS.values()]
    assert parts == [
        ["| planning a batch of 1,000 shards | 15 (14.5 to 15.5) ms |  |"],
        [],
        ["| records of 100 B: heap to the bytes of data and keys | 2 (1.5 to 2.5) |  |"],
    ]


def test_the_page_has_which_figures_were_measured_at_which_commit() -> None:
    figures = [figure("planning.x", 1), figure("cost.x", 1), {**figure("cost.y", 1), "commit": "def"}]
    assert performance_page.stamp(figures[:2]) == "Commit abc, 2026-01-02; seed 16, `make bench`, 2 cores."
    assert performance_page.stamp(figures) == (
        "Commit abc, 2026-01-02 (planning, cost); def, 2026-01-02 (cost); seed 16, `make bench`, 2 cores."
    )


def test_whole_runs_are_sorted_by_date_and_partial_ones_are_left_out(tmp_path: Path) -> None:
    def keep(file: str, date: str, names: tuple[str, ...]) -> None:
        lines = [json.dumps({**figure(name, 1), "date": date}) for name in names]
        (tmp_path / file).write_text("\n".join(lines))

    keep("a.jsonl", "2026-03-01", performance_page.LANDMARKS)
    keep("b.jsonl", "2026-02-01", performance_page.LANDMARKS)
    keep("c.jsonl", "2026-04-01", performance_page.LANDMARKS[:1])
    assert [run[0]["date"] for run in performance_page.whole_runs(tmp_path)] == ["2026-02-01", "2026-03-01"]


def test_tables_of_costs_buffers_and_settings_have_a_line_for_each() -> None:
    costs = [
        figure(f"cost.{publisher}.{what}", 7) for publisher in ("polling", "efo") for what in performance_page.COST_ROWS
    ]
    assert len(performance_page.of_streams(costs).splitlines()) == 2 + len(performance_page.COST_ROWS)
    sizes = [
        figure(f"buffer.{publisher}.{mib}MiB.throughput", mib) for mib in (64, 16) for publisher in ("polling", "efo")
    ]
    assert [line.split()[1] for line in performance_page.buffers(sizes).splitlines()[2:]] == ["16m", "64m"]
    setting = [
        figure(f"transport.8_streams.{what}", 3, method="a loop; at most 8 streams") for what in ("throughput", "cpu")
    ]
    assert performance_page.transport(setting).splitlines()[2].startswith("| at most 8 streams | ")
