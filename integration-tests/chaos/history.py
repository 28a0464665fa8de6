"""Decides whether a history is right: what the service acknowledged, against what the sink has. Pure.

A record is known by its place (stream, shard, sequence number), so a producer that sends again what it had no answer
for stores two records, and both must come. Order counts within a key: it is what is lost first when children of a split
or merge are read before their parents.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from .entry import Entry


class Place(NamedTuple):
    """Where a record is."""

    stream: str
    shard: str
    sequence: int


class Acked(NamedTuple):
    """A record that the service said it has, and when, in seconds since 1970."""

    place: Place
    entry: Entry
    at: float


class Row(NamedTuple):
    """A row of the sink.

    Attributes:
        entry: what its data says; None if that isn't what any producer wrote.
        key: the record's partition key.
        batch: the micro-batch that brought it.
        position: grows with the rows of a batch that one task read.
        at: when the sink had it, in seconds since 1970.
    """

    place: Place
    entry: Entry | None
    key: str
    batch: int
    position: int
    at: float


class Changed(NamedTuple):
    """A batch that Spark ran again came with other rows: the places of those it had only `before`, and only `now`."""

    batch: int
    before: tuple[Place, ...]
    now: tuple[Place, ...]


class Lost(NamedTuple):
    """No batch brought it; `passed` is the first one that brought a later record of its shard, if any did."""

    acked: Acked
    passed: int | None


class Doubled(NamedTuple):
    """It came more than once."""

    place: Place
    entry: Entry | None
    batches: tuple[int, ...]


class Reordered(NamedTuple):
    """It came after a later record of its key."""

    row: Row
    after: Row


class Corrupted(NamedTuple):
    """It isn't what was acknowledged at that place."""

    row: Row
    expected: Entry | None


class Stray(NamedTuple):
    """Nobody wrote it: not even a call without an answer can have."""

    row: Row


class Late(NamedTuple):
    """The sink had it only so many seconds after the service, or after the query was left alone."""

    row: Row
    seconds: float


Violation: TypeAlias = Lost | Doubled | Reordered | Corrupted | Stray | Late | Changed


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a history.

    Attributes:
        acked: records that the service acknowledged.
        rows: rows of the sink.
        latest_s: the longest that a record took from the service to the sink.
    """

    acked: int
    rows: int
    violations: tuple[Violation, ...]
    latest_s: float

    def count(self, kind: type[Violation]) -> int:
        """How many violations are of that kind."""
        return sum(isinstance(wrong, kind) for wrong in self.violations)


def check(
    acked: Sequence[Acked],
    unconfirmed: Iterable[Entry],
    rows: Sequence[Row],
    *,
    late_s: float,
    undisturbed_since: float,
    changed: Sequence[Changed] = (),
) -> Verdict:
    """Find all that is wrong.

    Args:
        acked: what the service said it has.
        unconfirmed: what was in calls without an answer, once for each call: it may be stored besides.
        rows: all that the sink has.
        late_s: the longest that a record may take to the sink, once the query is left alone.
        undisturbed_since: since when it is, in seconds since 1970.
        changed: what the sink has noticed itself.
    """
    known = {a.place: a for a in acked}
    by_place: dict[Place, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda r: (r.batch, r.position)):
        by_place[row.place].append(row)
    first = [copies[0] for copies in by_place.values()]
    ages = {row.place: row.at - known[row.place].at for row in first if row.place in known}
    violations: list[Violation] = [
        *_lost(acked, by_place),
        *(
            Doubled(place, copies[0].entry, tuple(r.batch for r in copies))
            for place, copies in by_place.items()
            if len(copies) > 1
        ),
        *_untrue(first, known, Counter(unconfirmed)),
        *_reordered(first),
        *_late(first, known, late_s, undisturbed_since),
        *changed,
    ]
    return Verdict(len(known), len(rows), tuple(violations), max(ages.values(), default=0.0))


def _late(first: Iterable[Row], known: dict[Place, Acked], late_s: float, undisturbed_since: float) -> Iterable[Late]:
    for row in first:
        acked = known.get(row.place)
        if acked is not None and (seconds := row.at - max(acked.at, undisturbed_since)) > late_s:
            yield Late(row, seconds)


def _lost(acked: Iterable[Acked], by_place: dict[Place, list[Row]]) -> Iterable[Lost]:
    came: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for place, copies in by_place.items():
        came[place.stream, place.shard].append((place.sequence, copies[0].batch))
    for of_shard in came.values():
        of_shard.sort()
    for a in acked:
        if a.place not in by_place:
            of_shard = came[a.place.stream, a.place.shard]
            later = of_shard[bisect_right(of_shard, (a.place.sequence, -1)) :]
            yield Lost(a, min((batch for _, batch in later), default=None))


def _untrue(
    first: Iterable[Row], known: dict[Place, Acked], unconfirmed: Counter[Entry]
) -> Iterable[Corrupted | Stray]:
    doubted = unconfirmed.copy()
    for row in first:
        acked = known.get(row.place)
        expected = acked.entry if acked else None
        if row.entry is None or row.entry.key != row.key or expected not in (None, row.entry):
            yield Corrupted(row, expected)
        elif acked is None and doubted[row.entry] == 0:
            yield Stray(row)
        elif acked is None:
            doubted[row.entry] -= 1


def _reordered(first: Iterable[Row]) -> Iterable[Reordered]:
    highest: dict[tuple[str, str], Row] = {}
    for row in sorted(first, key=lambda r: (r.batch, r.position)):
        if row.entry is None:
            continue
        key = (row.place.stream, row.entry.key)
        before = highest.get(key)
        if before is not None and before.entry is not None and row.entry.number < before.entry.number:
            yield Reordered(row, before)
        else:
            highest[key] = row
