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


def compared(**more: object) -> dict[str, Any]:
    line = {"mode": "efo", "bytes": 1000, "shards": 16, "tls": False, "ratio": 0.7, "cpu_ratio": 1.4}
    columns = {"ours_mb_s": 212.4, "raw_mb_s": 298, "ours_cpu_gb": 4.73, "raw_cpu_gb": 3.36}
    return {**line, **columns, "first_ratio": 0.3, "first_cpu_ratio": 3.1, "last_ratio": 0.8, **more}


def goal_of(name: str, value: float, goal: str, beside: list[dict[str, Any]]) -> list[str]:
    row = performance_page.goals([figure(name, value, goal, met=True)], beside).splitlines()[-1]
    return [cell.strip() for cell in row.strip("|").split("|")][2:]


def test_a_ratio_beside_the_bare_loop_is_judged_by_the_comparison_with_its_best_form() -> None:
    throughput, cpu = "read.efo.1000B.16shards.throughput_to_sdk", "read.efo.1000B.16shards.cpu_to_sdk"
    assert goal_of(throughput, 0.9, "at least 0.8", [compared()]) == ["0.9 (0.4 to 1.4)", "0.7", "**no**"]
    assert goal_of(throughput, 0.9, "at least 0.8", [compared(ratio=0.8)])[1:] == ["0.8", "yes"]
    assert goal_of(cpu, 1.1, "at most 1.5", [compared()])[1:] == ["1.4", "yes"]


def test_a_ratio_whose_loop_was_not_measured_in_its_best_form_is_open() -> None:
    name = "read.efo.1000B.16shards.tls.cpu_to_sdk"
    assert goal_of(name, 1.1, "at most 1.5", [compared()])[1:] == ["not measured", "open"]
    assert goal_of("sink.100B.cpu_to_sdk", 1.1, "at most 1.2", [compared()])[1:] == ["not measured", "open"]


def test_a_goal_without_a_bare_loop_is_judged_by_its_own_figure() -> None:
    assert goal_of("planning.10000shards", 138, "at most 150", [])[1:] == ["", "yes"]
    assert goal_of("planning.10000shards", 151, "at most 150", [])[1:] == ["", "**no**"]


def test_a_comparison_from_pyspark_has_a_line_for_each_query_and_where_it_was_made() -> None:
    stamped = {"commit": "abc", "date": "2026-01-02", "machine": "2 cores", "method": "six turns"}
    text = performance_page.from_pyspark([compared(**stamped), compared(shards=256, tls=True, **stamped)])
    assert "| fan-out, 1,000 B, 16 | 212 | 298 | 0.7 | 4.73 | 3.36 | 1.4 | 0.3, 3.1 | 0.8 |" in text
    assert "| fan-out, 1,000 B, 256, TLS |" in text
    assert text.endswith("Commit abc, 2026-01-02, 2 cores; six turns.")


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


def test_a_comparison_from_pyspark_is_no_run_of_make_bench(tmp_path: Path) -> None:
    (tmp_path / "2026-03-01-abc-yardstick.jsonl").write_text(json.dumps(compared()))
    assert performance_page.whole_runs(tmp_path) == []
    assert performance_page.comparisons(tmp_path) == [compared()]


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
