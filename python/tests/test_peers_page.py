"""Tests of the page that shows what `make bench-peers` measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import peers_page

STAMP = {"commit": "abc", "date": "2026-01-02T03:04:05Z", "seed": 1, "machine": "2 cores"}


def figure(reader: str, way: str, what: str, value: float, **more: object) -> dict[str, Any]:
    one = {"rounds": 1, "method": "as ever", "about": f"{reader} 1.0"}
    return {"reader": reader, "way": way, "what": what, "value": value, **one, **STAMP, **more}


def test_each_way_of_each_reader_is_a_line_with_gaps_where_nothing_was_measured() -> None:
    figures = [
        figure("flink", "polling", "throughput", 120.5, rounds=3, least=80, most=121),
        figure("connector", "polling", "throughput", 90),
        figure("connector", "real-time fan-out", "latency.p50", 1.5),
    ]
    assert peers_page.table(figures).splitlines()[2:] == [
        "| polling | this connector | 90 |  |  |  |  |  |  |",
        "| polling | Flink | 120 (80 to 121) |  |  |  |  |  |  |",
        "| fan-out, real-time mode | this connector |  |  |  |  |  | 1.5 |  |",
    ]


def test_missing_and_repeated_records_are_reported() -> None:
    counts = {"expected": 3000, "records": 2990, "repeated": 2}
    figures = [
        figure("flink", "polling", "latency.p50", 1, expected=3000, records=3000, repeated=0),
        figure("kcl", "fan-out", "latency.p50", 1, **counts),
    ]
    assert peers_page.received(figures).endswith(" KCL, fan-out: 10 of 3,000 missing, 2 repeated.")
    assert "3,000 records" in peers_page.received(figures[:1])
    assert peers_page.received(figures[:1]).endswith("each reader received each of its own once.")


def test_the_newest_results_are_shown(tmp_path: Path) -> None:
    for name, date in [("a-peers.jsonl", "2026-02-01"), ("b-peers.jsonl", "2026-01-01"), ("c.jsonl", "2026-03-01")]:
        (tmp_path / name).write_text(json.dumps({**figure("flink", "polling", "cpu", 1), "date": date}))
    assert [each["date"] for each in peers_page.newest(tmp_path)] == ["2026-02-01"]
