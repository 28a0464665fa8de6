"""Tests the parts of the demo that check its result; `make demo` runs the demo itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import flights
import sink
from flights import Flight, Group, Totals
from measurements import Batch, Lines, Sent, rates_read, rates_sent

FLIGHT = Flight(number=1, scheduled=7_260, origin="JFK", carrier="B6", aircraft="N1", distance=100)


def test_flights_are_ordered_by_schedule_and_numbered_from_one() -> None:
    found = flights.load(2_000)
    assert [f.number for f in found] == list(range(1, 2_001))
    assert [f.scheduled for f in found] == sorted(f.scheduled for f in found)
    assert {f.origin for f in found} == {"JFK", "LGA", "EWR"}


def test_totals_are_grouped_by_hour_and_airport() -> None:
    found = flights.totals([FLIGHT, replace(FLIGHT, number=3, scheduled=7_199), replace(FLIGHT, number=4)])
    assert found == {Group(7_200, "JFK"): Totals(2, 5, 17), Group(3_600, "JFK"): Totals(1, 3, 9)}


def test_totals_differ_if_one_flight_is_lost_and_another_counted_twice() -> None:
    four = [replace(FLIGHT, number=n) for n in (1, 2, 3, 4)]
    assert flights.totals(four) != flights.totals([four[0], four[1], four[1], four[3]])
    # The same count and the same sum, but not the same squares: 1 + 4 = 2 + 3.
    assert flights.totals([four[0], four[0], four[3], four[3]]) != flights.totals(four)


def test_the_sink_stores_each_batch_of_each_query_once(tmp_path: Path) -> None:
    path = tmp_path / "result.db"
    sink.create(path)
    sink.create(path)
    group, other = Group(0, "JFK"), Group(0, "LGA")
    sink.write(path, "q", 0, [(group, Totals(1, 1, 1))])
    sink.write(path, "q", 1, [(group, Totals(2, 3, 5))])
    sink.write(path, "q", 0, [(group, Totals(1, 1, 1))])
    assert sink.totals(path) == {group: Totals(2, 3, 5)}
    # The first batch of a query over another checkpoint.
    sink.write(path, "r", 0, [(other, Totals(1, 1, 1))])
    assert sink.flights_counted(path) == 3


def test_an_incomplete_line_is_read_once_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    lines = Lines(path)
    assert lines.new() == []
    path.write_text('{"a": 1}\n{"a"')
    assert lines.new() == [{"a": 1}]
    assert lines.new() == []
    path.write_text('{"a": 1}\n{"a": 2}\n')
    assert lines.new() == [{"a": 2}]


def test_rates_are_computed_over_the_time_since_the_previous_point() -> None:
    sent = [Sent(0.0, 0), Sent(0.5, 100), Sent(1.0, 200), Sent(2.0, 600)]
    assert rates_sent(sent) == [(1.0, 200.0), (2.0, 400.0)]
    batches = [Batch(float(t), t, rows, 0.1, None, 0) for t, rows in ((1, 10), (3, 40))]
    assert rates_read(batches) == [(3.0, 20.0)]
