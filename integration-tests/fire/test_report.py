"""The report counts each kind of wrong, and runs add up."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .entry import Entry
from .history import Acked, Doubled, Late, Lost, Place, Row, Verdict
from .outcome import LifeOutcome, TrialOutcome
from .plan import recoveries
from .report import figures, line, table, total

AT = Place("s0", "shardId-000000000000", 7)
ENTRY = Entry("k", 1)
LOST = Lost(Acked(AT, ENTRY, 1.0), passed=3)
DOUBLED = Doubled(AT, ENTRY, (3, 4))
LATE = Late(Row(AT, ENTRY, "k", 3, 0, 100.0), 99.0)


def outcome(*wrongs: Lost | Doubled | Late, stuck: str | None = None) -> TrialOutcome:
    trial = recoveries("5.0", 4)
    lives = [
        LifeOutcome(life, died="caught up", killed=True, batches=4, started_s=2.0, first_batch_s=5.0, caught_up_s=9.0)
        for life in trial.lives
    ]
    lives[0].executors_killed = 2
    lives[0].deeds = Counter({"split": 1})
    lives[-1].killed = False
    return TrialOutcome(trial, lives, Verdict(100, 101, wrongs, 42.0), 60.0, stuck)


def test_what_is_right_is_told_as_right() -> None:
    told = line(outcome())
    assert told["right"]
    assert told["wrongs"] == []
    assert (told["driver kills"], told["executor kills"], told["restarts"], told["batches"]) == (3, 2, 3, 16)
    assert (told["records"], told["rows"], told["slowest recovery s"], told["latest record s"]) == (100, 101, 5.0, 42.0)


def test_each_wrong_is_counted_and_told_with_its_place() -> None:
    told = line(outcome(LOST, DOUBLED, DOUBLED, LATE))
    assert not told["right"]
    assert (told["lost"], told["doubled"], told["late"], told["reordered"]) == (1, 2, 1, 0)
    assert told["wrongs"][0].startswith("lost: k#1 at s0/shardId-000000000000/7")
    assert "WRONG 5.0: doubled: k#1" in table([outcome(), outcome(DOUBLED)])


def test_a_trial_that_got_stuck_is_wrong() -> None:
    told = line(outcome(stuck="3 records didn't come"))
    assert not told["right"]
    assert (told["stuck"], told["stuck why"]) == (1, "3 records didn't come")


def test_recovery_counts_lives_to_which_nothing_was_done_from_the_start_of_the_query() -> None:
    rows: list[dict[str, Any]] = figures([outcome()])["recovery"]
    # The first life, which polls, was not left alone.
    assert [(row["publisher"], row["lives"]) for row in rows] == [("polling", 2), ("efo", 1)]
    assert rows[0]["first batch s"] == {"median": 3.0, "most": 3.0}
    assert rows[0]["no lag s"] == {"median": 7.0, "most": 7.0}


def test_runs_add_up_but_for_what_is_the_longest() -> None:
    sums = total([line(outcome()), line(outcome(LOST))])
    assert (sums["trials"], sums["trials that were right"], sums["lost"], sums["driver kills"]) == (2, 1, 1, 6)
    assert (sums["kills: caught up"], sums["deeds: split"]) == (6, 2)
    assert (sums["slowest recovery s"], sums["latest record s"]) == (5.0, 42.0)
