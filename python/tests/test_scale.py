"""The tables of `make bench-scale`, and what is read of a JVM and of connections."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import marked
import scale
from bench import keep

ROOT = Path(__file__).resolve().parents[2]

# Of `ss -tinH state established`.
CONNECTIONS = """\
0      0      [::ffff:127.0.0.1]:35123 [::ffff:127.0.0.1]:50322
\t cubic wscale:7,7 bytes_sent:700 bytes_acked:700 bytes_received:9000 segs_out:12
0      0      [::ffff:127.0.0.1]:35123 [::ffff:127.0.0.1]:50999
\t cubic wscale:7,7 segs_out:12
"""

# Of `jcmd PID GC.heap_info`, by two collectors.
G1 = """\
 garbage-first heap   total 262144K, used 52736K [0x00000000c0000000, 0x0000000100000000)
  region size 1024K, 6 young (6144K), 0 survivors (0K)
 Metaspace       used 90000K, committed 91000K, reserved 1130496K
"""
SERIAL = """\
 def new generation   total 78656K, used 1000K [0x00000000c0000000, 0x00000000c5550000, 0x00000000d5550000)
 tenured generation   total 174784K, used 40000K [0x00000000d5550000, 0x00000000e0000000, 0x0000000100000000)
 Metaspace       used 90000K, committed 91000K, reserved 1130496K
"""


def line(of: scale.Scale, **more: object) -> dict[str, Any]:
    where = {"commit": "0123456789ab", "date": "2026-12-01T01:02:03Z", "machine": "2 cores, 24 GiB"}
    figures = [name for name in FIGURES if name not in more]
    return {"name": of.name, **asdict(of), **dict.fromkeys(figures, 1), **where, **more}


FIGURES = (
    *(
        f"{span}_{what}"
        for span in ("idle", "busy")
        for what in scale.Used(0, 0, {}, {}).since(scale.Used(0, 0, {}, {}), 1)
    ),
    *("planning_ms", "batch_ms", "offset_bytes", "driver_heap_mb", "executor_heap_mb", "executor_buffers_mb"),
    *("driver_threads", "executor_threads"),
)


def test_bytes_of_a_connection_that_came_meanwhile_count() -> None:
    before = scale.by_peer("bytes_received", CONNECTIONS)
    assert before == {"[::ffff:127.0.0.1]:50322": 9000, "[::ffff:127.0.0.1]:50999": 0}
    after = {"[::ffff:127.0.0.1]:50322": 9500, "[::ffff:127.0.0.1]:51000": 20}
    assert scale.grown(before, after) == 520


def test_a_heap_is_read_of_any_collector() -> None:
    assert scale.heap_kb(G1) == 52736
    assert scale.heap_kb(SERIAL) == 41000


def test_growth_is_that_of_one_executor_for_a_thousand_shards() -> None:
    lines = [
        line(scale.Scale("polling", 1, 1), batch_ms=100),
        line(scale.Scale("polling", 10_001, 1), batch_ms=400),
        line(scale.Scale("polling", 10_001, 4), batch_ms=9000),
    ]
    assert "| ms of a batch | 30 |" in scale.growth(lines)


def test_the_newest_line_of_each_setting_is_shown_in_the_order_of_the_settings(tmp_path: Path) -> None:
    first, last = scale.SCALES[0], scale.SCALES[-1]
    for number, each in enumerate([line(last), line(first), line(first, date="2026-12-02", commit="new")]):
        keep(each, tmp_path / f"{number}-scale.jsonl")
    shown = [(each["name"], each["commit"]) for each in scale.shown(tmp_path)]
    assert shown == [(first.name, "new"), (last.name, "0123456789ab")]


def test_the_page_shows_the_newest_results() -> None:
    sections = scale.sections(scale.shown(ROOT / "benchmarks" / "results"))
    page = ROOT / "docs" / "evidence" / "scale.md"
    assert {name: marked.get(page, name) for name in sections} == sections
