"""The checker finds each kind of violation with its place, and none in a right history."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest

from .entry import Entry, decode, encode
from .history import (
    Acked,
    Changed,
    Corrupted,
    Doubled,
    Late,
    Lost,
    Place,
    Reordered,
    Row,
    Stray,
    Verdict,
    check,
)
from .wording import describe

LATE_S = 60.0
PARENT, CHILD = "shardId-000000000000", "shardId-000000000001"


def place(sequence: int, shard: str = PARENT) -> Place:
    return Place("s0", shard, sequence)


@dataclass(frozen=True)
class History:
    """What was acknowledged, what was in doubt, what came."""

    acked: tuple[Acked, ...]
    rows: tuple[Row, ...]
    unconfirmed: tuple[Entry, ...] = ()
    changed: tuple[Changed, ...] = ()
    undisturbed_since: float = 0.0

    def verdict(self) -> Verdict:
        rows = list(self.rows)
        # The sinks give rows in no order.
        random.Random(0).shuffle(rows)
        return check(
            self.acked,
            self.unconfirmed,
            rows,
            late_s=LATE_S,
            undisturbed_since=self.undisturbed_since,
            changed=self.changed,
        )


def right() -> History:
    """Two keys; in batch 2 their shard has ended and its child follows."""
    acked, rows = [], []
    for i in range(40):
        entry = Entry(f"k{i % 2}", i // 2 + 1)
        at = place(100 + i, PARENT if i < 30 else CHILD)
        acked.append(Acked(at, entry, 1000.0 + i))
        rows.append(Row(at, entry, entry.key, i // 15, i % 15, 1010.0 + i))
    return History(tuple(acked), tuple(rows))


def only(history: History) -> object:
    (wrong,) = history.verdict().violations
    return wrong


def test_a_right_history_has_nothing_wrong() -> None:
    verdict = right().verdict()
    assert verdict.violations == ()
    assert (verdict.acked, verdict.rows, verdict.latest_s) == (40, 40, 10.0)


def test_a_lost_record_is_named_with_the_batch_that_went_past_it() -> None:
    history = right()
    wrong = only(replace(history, rows=history.rows[:20] + history.rows[21:]))
    assert wrong == Lost(history.acked[20], passed=1)
    assert "k0#11 at s0/shardId-000000000000/120" in describe(wrong)
    assert "batch 1 went past it" in describe(wrong)


def test_records_lost_at_the_end_of_a_shard_have_no_batch_past_them() -> None:
    history = right()
    violations = replace(history, rows=history.rows[:-3]).verdict().violations
    assert violations == tuple(Lost(acked, None) for acked in history.acked[-3:])


def test_everything_is_lost_if_nothing_came() -> None:
    assert replace(right(), rows=()).verdict().count(Lost) == 40


@pytest.mark.parametrize("batch", [1, 2])
def test_a_record_that_came_twice_is_doubled_once_and_not_reordered(batch: int) -> None:
    history = right()
    again = history.rows[20]._replace(batch=batch, position=40)
    wrong = only(replace(history, rows=(*history.rows, again)))
    assert wrong == Doubled(again.place, again.entry, (1, batch))
    assert f"came in batches 1, {batch}" in describe(wrong)


def test_two_records_of_a_key_in_the_wrong_order_within_a_batch_are_found() -> None:
    history = right()
    rows = list(history.rows)
    rows[20], rows[22] = rows[20]._replace(position=7), rows[22]._replace(position=5)
    wrong = only(replace(history, rows=tuple(rows)))
    assert wrong == Reordered(rows[20], rows[22])
    assert "s0/shardId-000000000000/120 came in batch 1, after k0#12" in describe(wrong)


def test_a_child_that_is_read_before_the_end_of_its_parent_is_found() -> None:
    history = right()
    rows = [
        row._replace(batch=0, position=20 + row.position) if row.place.shard == CHILD else row for row in history.rows
    ]
    violations = replace(history, rows=tuple(rows)).verdict().violations
    # All of the parent's that came in batch 1, after the child's of batch 0.
    assert {(wrong.row.place, wrong.row.batch) for wrong in violations if isinstance(wrong, Reordered)} == {
        (row.place, 1) for row in rows[15:30]
    }
    assert len(violations) == 15


def test_keys_of_different_streams_have_orders_of_their_own() -> None:
    history = right()
    acked = [
        a._replace(place=a.place._replace(stream="s1"), entry=a.entry._replace(number=1)) for a in history.acked[-2:]
    ]
    rows = [r._replace(place=a.place, entry=a.entry) for r, a in zip(history.rows[-2:], acked, strict=True)]
    assert replace(history, acked=(*history.acked, *acked), rows=(*history.rows, *rows)).verdict().violations == ()


@pytest.mark.parametrize(
    "entry", [None, Entry("k0", 12), Entry("k1", 11)], ids=["broken", "another number", "another key"]
)
def test_a_record_that_isnt_what_was_acknowledged_is_corrupted(entry: Entry | None) -> None:
    history = right()
    rows = list(history.rows)
    rows[20] = rows[20]._replace(entry=entry)
    violations = replace(history, rows=tuple(rows)).verdict().violations
    assert Corrupted(rows[20], Entry("k0", 11)) in violations
    assert "expected k0#11" in describe(violations[0])


def test_a_record_under_the_partition_key_of_another_is_corrupted() -> None:
    history = right()
    row = history.rows[20]._replace(key="k1")
    assert only(replace(history, rows=(*history.rows[:20], row, *history.rows[21:]))) == Corrupted(row, Entry("k0", 11))


def test_a_record_that_nobody_wrote_is_a_stray() -> None:
    history = right()
    row = Row(place(500, CHILD), Entry("k0", 21), "k0", 2, 90, 1050.0)
    assert only(replace(history, rows=(*history.rows, row))) == Stray(row)


def test_what_was_in_a_call_without_an_answer_may_be_there_as_often_as_it_was_sent() -> None:
    history = right()
    entry = Entry("k1", 20)
    copies = [Row(place(500 + i, CHILD), entry, "k1", 2, 90 + i, 1050.0) for i in range(3)]
    rows = (*history.rows, *copies)
    assert replace(history, rows=rows, unconfirmed=(entry,) * 3).verdict().violations == ()
    assert only(replace(history, rows=rows, unconfirmed=(entry,) * 2)) == Stray(copies[2])
    assert replace(history, unconfirmed=(entry,)).verdict().violations == ()


def test_a_record_that_takes_longer_than_it_may_is_late() -> None:
    history = right()
    row = history.rows[20]._replace(at=1020.0 + LATE_S + 1)
    wrong = only(replace(history, rows=(*history.rows[:20], row, *history.rows[21:])))
    assert wrong == Late(row, LATE_S + 1)
    assert "came after 61.0 s" in describe(wrong)


def test_nothing_is_late_while_the_query_isnt_left_alone() -> None:
    history = right()
    row = history.rows[20]._replace(at=5000.0 + LATE_S)
    kept_down = replace(history, rows=(*history.rows[:20], row, *history.rows[21:]), undisturbed_since=5000.0)
    assert kept_down.verdict().violations == ()
    assert only(replace(kept_down, undisturbed_since=4999.0)) == Late(row, LATE_S + 1)


def test_what_a_sink_noticed_is_wrong_too() -> None:
    changed = Changed(7, (place(1),), (place(2), place(3)))
    wrong = only(replace(right(), changed=(changed,)))
    assert wrong == changed
    assert describe(changed) == (
        "changed: batch 7 run again has other rows: first s0/shardId-000000000000/1, "
        "now s0/shardId-000000000000/2, s0/shardId-000000000000/3"
    )


def test_sequence_numbers_are_compared_as_numbers() -> None:
    long, short = Acked(place(10**56), Entry("k", 2), 0.0), Acked(place(9), Entry("k", 1), 0.0)
    rows = (Row(long.place, long.entry, "k", 3, 0, 1.0),)
    assert only(History((short, long), rows)) == Lost(short, passed=3)


def test_an_entry_survives_its_data_and_a_changed_byte_does_not() -> None:
    entry = Entry("k7", 1234)
    data = encode(entry)
    assert decode(data.decode()) == entry
    for i in range(len(data)):
        changed = data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :]
        assert decode(changed.decode()) is None
    assert decode("") is None
    assert decode(data.decode()[:-1]) is None
