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
    spread = {"least": value - 0.5, "most": value + 0.5, "rounds": 3, "unit": "ratio", "method": "as ever"}
    return {"name": name, "value": value, "goal": goal, "met": met, **spread, **STAMP, **more}


def test_a_goal_is_listed_with_its_spread_and_whether_it_was_met_and_the_result_before() -> None:
    name = "read.efo.1000B.16shards.cpu_to_sdk"
    table = performance_page.goals([figure(name, 1.75, "at most 1.5", met=False)], [figure(name, 2.5)])
    assert table.splitlines()[-1] == f"| `{name}`, ratio | at most 1.5 | 1.75 (1.25 to 2.25) | **no** | 2.5 |"


def test_a_figure_without_a_goal_is_no_line_of_the_goals() -> None:
    assert len(performance_page.goals([figure("planning.1000shards", 1)], []).splitlines()) == 2


def test_the_page_tells_which_figures_were_measured_at_which_commit() -> None:
    figures = [figure("read.efo.x", 1), figure("sink.x", 1), {**figure("sink.y", 1), "commit": "def"}]
    assert performance_page.stamp(figures[:2]) == "Commit abc, 2026-01-02; seed 16, `make bench`, 2 cores."
    assert performance_page.stamp(figures) == (
        "Commit abc, 2026-01-02 (read, sink); def, 2026-01-02 (sink); seed 16, `make bench`, 2 cores."
    )


def test_whole_runs_are_sorted_by_date_and_partial_ones_are_left_out(tmp_path: Path) -> None:
    def keep(file: str, date: str, names: tuple[str, ...]) -> None:
        lines = [json.dumps({**figure(name, 1), "date": date}) for name in names]
        (tmp_path / file).write_text("\n".join(lines))

    keep("a.jsonl", "2026-03-01", performance_page.LANDMARKS)
    keep("b.jsonl", "2026-02-01", performance_page.LANDMARKS)
    keep("c.jsonl", "2026-04-01", performance_page.LANDMARKS[:1])
    assert [run[0]["date"] for run in performance_page.whole_runs(tmp_path)] == ["2026-02-01", "2026-03-01"]


def test_reading_has_a_line_for_each_way_size_and_number_of_shards() -> None:
    figures = [
        figure(f"read.{way}.{what}", 1.5, server_cores=0.4)
        for way in ("efo.1000B.16shards", "efo.1000B.16shards.tls", "polling.100B.1shards")
        for what in performance_page.READ_COLUMNS
    ]
    lines = performance_page.reading(figures).splitlines()[2:]
    assert [line.split(" | ")[0] for line in lines] == [
        "| fan-out, 1,000 B, 16",
        "| fan-out, 1,000 B, 16, TLS",
        "| polling, 100 B, 1",
    ]


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
