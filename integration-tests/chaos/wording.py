"""Says in a line what is wrong, with all that it takes to find it: stream, shard, sequence numbers and batch."""

from __future__ import annotations

from .entry import Entry
from .history import Changed, Corrupted, Doubled, Late, Lost, Place, Reordered, Stray, Violation


def describe(wrong: Violation) -> str:  # noqa: PLR0911  (one case for each kind)
    """One line."""
    match wrong:
        case Lost(acked, passed):
            by = "no later record of the shard came" if passed is None else f"batch {passed} went past it"
            return f"lost: {_entry(acked.entry)} at {_place(acked.place)}, acknowledged at {acked.at:.3f}; {by}"
        case Doubled(place, entry, batches):
            return f"doubled: {_entry(entry)} at {_place(place)} came in batches {', '.join(map(str, batches))}"
        case Reordered(row, after):
            return (
                f"reordered: {_entry(row.entry)} at {_place(row.place)} came in batch {row.batch}, "
                f"after {_entry(after.entry)} at {_place(after.place)} in batch {after.batch}"
            )
        case Corrupted(row, expected):
            return (
                f"corrupted: {_place(row.place)} in batch {row.batch} has {_entry(row.entry)} under key {row.key}, "
                f"expected {_entry(expected)}"
            )
        case Stray(row):
            return f"stray: {_entry(row.entry)} at {_place(row.place)} in batch {row.batch} was never written"
        case Late(row, seconds):
            return f"late: {_entry(row.entry)} at {_place(row.place)} in batch {row.batch} came after {seconds:.1f} s"
        case Changed(batch, before, now):
            return f"changed: batch {batch} run again has other rows: first {_places(before)}, now {_places(now)}"


def _entry(entry: Entry | None) -> str:
    return "what nobody wrote" if entry is None else f"{entry.key}#{entry.number}"


def _place(place: Place) -> str:
    return f"{place.stream}/{place.shard}/{place.sequence}"


def _places(places: tuple[Place, ...], shown: int = 5) -> str:
    more = f" and {len(places) - shown} more" if len(places) > shown else ""
    return (", ".join(map(_place, places[:shown])) or "nothing") + more
