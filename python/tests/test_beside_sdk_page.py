"""Tests of the page and the picture that show queries beside the SDK alone."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import bench
import beside_sdk
import beside_sdk_page
import marked
import pictures
from test_beside_sdk import turn

ROOT = pictures.PICTURES.parents[1]
PAGE = ROOT / "docs" / "evidence" / "performance.md"
READING = [setting for setting in beside_sdk.SETTINGS if not setting.writes]


def measured(name: str = "polling-16-shards", **more: object) -> dict[str, Any]:
    setting = next(setting for setting in beside_sdk.SETTINGS if setting.name == name)
    turns = [turn(100, 200), turn(190, 200), turn(210, 200)]
    where = {"commit": "abc", "date": "2026-01-02T03:04:05Z", "machine": "2 cores", "versions": "Java 17"}
    line = {**asdict(setting), **beside_sdk.summary(turns), "turns": turns, "megabytes": 2000}
    return {**line, "form": setting.forms()[0], **where, **more}


def test_the_newest_line_of_each_setting_is_shown_in_the_order_of_the_page(tmp_path: Path) -> None:
    lines = [measured("fan-out-cold"), measured(date="2026-01-03", commit="new"), measured()]
    for number, line in enumerate(lines):
        bench.keep(line, tmp_path / f"{number}-beside-sdk.jsonl")
    shown = [(line["name"], line["commit"]) for line in beside_sdk_page.newest(tmp_path)]
    assert shown == [("polling-16-shards", "new"), ("fan-out-cold", "abc")]


def test_a_setting_is_called_what_a_person_reads() -> None:
    assert beside_sdk_page.called(measured()) == "polling, 16 shards, 1,000 B"
    assert beside_sdk_page.called(measured("fan-out-1-shard")) == "fan-out, 1 shard, 1,000 B"
    assert beside_sdk_page.called(measured("fan-out-tls")) == "fan-out, 16 shards, 1,000 B, TLS"
    assert beside_sdk_page.called(measured("polling-cold")) == "polling, 16 shards, 1,000 B, first query of a JVM"


def test_a_missed_goal_stands_as_missed() -> None:
    row = beside_sdk_page.table([measured()], READING).splitlines()[2]
    assert row == (
        "| polling, 16 shards, 1,000 B | 190 | 200 | 0.95 | at least 0.95: met | 5.26 | 5 | 1.05 "
        "| at most 1: **missed** |"
    )
    assert "at least 0.95: **missed**" in beside_sdk_page.table([measured(throughput_to_loop=0.949)], READING)
    assert beside_sdk_page.verdict(measured("polling-tls"), beside_sdk_page.CPU) == ""


def test_a_setting_that_was_not_measured_keeps_its_goal() -> None:
    rows = beside_sdk_page.table([measured()], READING).splitlines()[3:]
    assert len(rows) == len(READING) - 1
    assert rows[0] == (
        "| fan-out, 16 shards, 1,000 B |  |  |  | at least 0.95: not measured |  |  |  | at most 1.05: not measured |"
    )
    assert rows[-3] == "| fan-out, 16 shards, 1,000 B, TLS |  |  |  | at least 0.9: not measured |  |  |  |  |"


def test_turns_have_the_loops_best_form() -> None:
    row = beside_sdk_page.turns([measured(throughput_interval=[0.4, 1.5], cpu_interval=[0.7, 2.5])]).splitlines()[2]
    assert row == (
        "| polling, 16 shards, 1,000 B | 3 | 0.4 to 1.5 | 0.5 | 1.05 | 0.7 to 2.5 | 2 | 0.952 "
        "| HTTP/1.1, answers of 1,000 records (1 MB) |"
    )
    assert beside_sdk_page.form(measured("fan-out-tls")) == "HTTP/2, windows of 512 KiB"
    assert beside_sdk_page.form(measured("sink-100B")) == "HTTP/1.1"


def test_writing_has_tables_of_its_own() -> None:
    parts = beside_sdk_page.parts([measured(), measured("sink-562B")])
    assert "sink, 4 shards, 562 B" in parts["sink-turns"]
    assert "sink" not in parts["catch-up"]
    assert parts["sink"].splitlines()[2] == (
        "| sink, 4 shards, 562 B | 190 | 200 | 0.95 |  | 5.26 | 5 | 1.05 | at most 1.05: met |"
    )


def test_the_stamp_has_each_commit_with_its_settings() -> None:
    one, other = measured(), measured("fan-out-16-shards", commit="def")
    text = "Commit abc, 2026-01-02; 2,000 MB a turn, `make bench-beside-sdk`, 2 cores, Java 17."
    assert beside_sdk_page.stamp([one]) == text
    assert "def, 2026-01-02 (fan-out, 16 shards, 1,000 B)" in beside_sdk_page.stamp([one, other])


def test_the_page_shows_the_newest_results() -> None:
    lines = beside_sdk_page.newest(ROOT / "benchmarks" / "results")
    for name, text in beside_sdk_page.parts(lines).items():
        assert marked.get(PAGE, name) == text


def test_the_picture_shows_the_newest_results(tmp_path: Path) -> None:
    beside_sdk_page.draw(beside_sdk_page.newest(ROOT / "benchmarks" / "results"), tmp_path / "drawn.svg")
    assert (tmp_path / "drawn.svg").read_text() == (pictures.PICTURES / beside_sdk_page.PICTURE).read_text()
