"""The table of `make bench-containers`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import containers
import marked
from bench import keep

ROOT = Path(__file__).resolve().parents[2]


def line(of: containers.Container = containers.CONTAINERS[0], **more: object) -> dict[str, Any]:
    where = {"commit": "0123456789ab", "date": "2026-11-30T23:49:46Z", "machine": "2 cores, 24 GiB"}
    found = {"most_mb": 1383, "buffers_mb": 656, "killed": 0, "lost": 0}
    return {"name": of.name, **asdict(of), "heap_mb": 1024, **found, **where, **more}


def test_an_executor_that_was_killed_or_ran_out_of_heap_is_shown() -> None:
    rows = containers.table([line(), line(killed=1, lost=1), line(lost=1)]).splitlines()[2:5]
    assert rows == [
        "| polling | 8 | 1,000,000 B | 1,024 | 384 | 1,383 | 656 | no |",
        "| polling | 8 | 1,000,000 B | 1,024 | 384 | 1,383 | 656 | **yes** |",
        "| polling | 8 | 1,000,000 B | 1,024 | 384 | 1,383 | 656 | **its heap** |",
    ]


def test_the_newest_line_of_each_setting_is_shown_in_the_order_of_the_settings(tmp_path: Path) -> None:
    last = containers.CONTAINERS[-1]
    for number, each in enumerate([line(last), line(), line(date="2026-12-01", commit="new")]):
        keep(each, tmp_path / f"{number}-containers.jsonl")
    shown = [(each["name"], each["commit"]) for each in containers.shown(tmp_path)]
    assert shown == [(line()["name"], "new"), (last.name, "0123456789ab")]


def test_the_page_shows_the_newest_results() -> None:
    table = containers.table(containers.shown(ROOT / "benchmarks" / "results"))
    assert marked.get(ROOT / "docs" / "evidence" / "scale.md", "containers") == table
