"""The report counts each kind of wrong, and runs add up."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from .entry import Entry
from .history import Acked, Doubled, Late, Lost, Place, Row, Verdict
from .outcome import RunOutcome, TrialOutcome
from .plan import recoveries, restarts
from .report import figures, line, table, total

AT = Place("s0", "shardId-000000000000", 7)
ENTRY = Entry("k", 1)
LOST = Lost(Acked(AT, ENTRY, 1.0), passed=3)
DOUBLED = Doubled(AT, ENTRY, (3, 4))
LATE = Late(Row(AT, ENTRY, "k", 3, 0, 100.0), 99.0)


def outcome(*violations: Lost | Doubled | Late, stuck: str | None = None) -> TrialOutcome:
    trial = recoveries("5.0", 4)
    runs = [
        RunOutcome(run, died="caught up", killed=True, batches=4, started_s=2.0, first_batch_s=5.0, caught_up_s=9.0)
        for run in trial.runs
    ]
    runs[0].executors_killed = 2
    runs[0].actions = Counter({"split": 1})
    runs[-1].killed = False
    return TrialOutcome(trial, runs, Verdict(100, 101, violations, 42.0), 60.0, stuck)


def test_a_right_trial_is_reported_as_right() -> None:
    reported = line(outcome())
    assert reported["right"]
    assert reported["violations"] == []
    assert (reported["driver kills"], reported["executor kills"], reported["restarts"], reported["batches"]) == (
        3,
        2,
        3,
        16,
    )
    assert (reported["records"], reported["rows"], reported["slowest recovery s"], reported["latest record s"]) == (
        100,
        101,
        5.0,
        42.0,
    )


def test_each_violation_is_counted_and_reported_with_its_place() -> None:
    reported = line(outcome(LOST, DOUBLED, DOUBLED, LATE))
    assert not reported["right"]
    assert (reported["lost"], reported["doubled"], reported["late"], reported["reordered"]) == (1, 2, 1, 0)
    assert reported["violations"][0].startswith("lost: k#1 at s0/shardId-000000000000/7")
    assert "WRONG 5.0: doubled: k#1" in table([outcome(), outcome(DOUBLED)])


def test_a_stuck_trial_is_wrong() -> None:
    reported = line(outcome(stuck="3 records didn't come"))
    assert not reported["right"]
    assert (reported["stuck"], reported["errors"]) == (1, ["3 records didn't come"])


def test_recovery_counts_undisturbed_runs_from_the_start_of_the_query() -> None:
    rows: list[dict[str, Any]] = figures([outcome()])["recovery"]
    # The first run, which polls, was disturbed.
    assert [(row["publisher"], row["runs"]) for row in rows] == [("polling", 2), ("efo", 1)]
    assert rows[0]["first batch s"] == {"median": 3.0, "most": 3.0}
    assert rows[0]["no lag s"] == {"median": 7.0, "most": 7.0}


def test_reports_add_up_except_for_maxima() -> None:
    sums = total([line(outcome()), line(outcome(LOST))])
    assert (sums["trials"], sums["trials that were right"], sums["lost"], sums["driver kills"]) == (2, 1, 1, 6)
    assert (sums["kills: caught up"], sums["actions: split"]) == (6, 2)
    assert (sums["slowest recovery s"], sums["latest record s"]) == (5.0, 42.0)


def test_a_query_that_fails_under_a_fault_is_counted_and_wrong_only_in_strict_mode() -> None:
    failed = outcome()
    failed.runs[0].failures.append("under subscribe-outage: KINESIS_UNAVAILABLE")
    reported = line(failed)
    assert (reported["right"], reported["strictly right"], reported["query failures"]) == (True, False, 1)
    assert reported["failures"] == {"under subscribe-outage: KINESIS_UNAVAILABLE": 1}


def test_a_subscription_that_outlives_its_query_is_wrong() -> None:
    left = outcome()
    left.runs[-1].left_subscriptions = 2
    reported = line(left)
    assert (reported["right"], reported["leaks"]) == (False, 1)
    assert "WRONG 5.0: 2 subscriptions after the query stopped" in table([left])


def test_two_subscriptions_of_one_shard_for_long_are_wrong() -> None:
    doubled = outcome()
    doubled.runs[0].overlap_s = 5.0
    assert line(doubled)["errors"] == ["two subscriptions of one shard for 5.0 s"]


@pytest.mark.parametrize("died", ["failed", "idle"])
def test_restarts_that_end_before_their_last_start_are_wrong(died: str) -> None:
    trial = restarts("1.0", 500)
    cut, last = (RunOutcome(run, died=run.end.name) for run in trial.runs)
    cut.died, cut.starts = died, 30
    reported = line(TrialOutcome(trial, [cut, last], Verdict(100, 100, (), 1.0), 60.0))
    assert (reported["right"], reported["incomplete"], reported["leaks"]) == (False, 1, 0)
    assert reported["errors"] == [f"the restarts ended at start 30 of 500 ({died}): no footprints were compared"]


def test_two_subscriptions_of_one_shard_on_a_cluster_are_reported_and_not_wrong() -> None:
    doubled = outcome()
    doubled.runs[0].run = replace(doubled.runs[0].run, master="local-cluster[2,1,1024]")
    doubled.runs[0].overlap_s = 12.0
    reported = line(doubled)
    assert (reported["right"], reported["longest overlap s"], reported["longest overlap on clusters s"]) == (
        True,
        None,
        12.0,
    )
    assert re.search(r"^longest overlap s +-$", table([doubled]), re.MULTILINE)
