"""The query's result: a small SQLite database that takes each micro-batch whole or not at all, and once.

A batch is written in one transaction with its number and the query's id, so one that Spark runs again after a crash is
known and skipped, and one of another checkpoint isn't.
That is right only because the connector gives a re-run batch the same records, which is what the demo proves.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from flights import Group, Totals

_SCHEMA = """
CREATE TABLE IF NOT EXISTS batches (query TEXT, batch INTEGER, PRIMARY KEY (query, batch));
CREATE TABLE IF NOT EXISTS departures (
  hour INTEGER, origin TEXT, flights INTEGER, number_sum INTEGER, number_square_sum INTEGER, PRIMARY KEY (hour, origin)
);
"""


def create(path: Path) -> None:
    """Make the tables, if they aren't there."""
    with closing(_connect(path)) as database:
        # So that the display can read while the query writes.
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(_SCHEMA)


def write(path: Path, query: str, batch: int, changed: Iterable[tuple[Group, Totals]]) -> None:
    """Write the new totals of the groups that a batch changed, unless that batch was written before."""
    with closing(_connect(path)) as database, database:
        fresh = database.execute("INSERT OR IGNORE INTO batches VALUES (?, ?)", (query, batch)).rowcount
        if fresh:
            rows = [(*group, *totals) for group, totals in changed]
            database.executemany("INSERT OR REPLACE INTO departures VALUES (?, ?, ?, ?, ?)", rows)


def flights_counted(path: Path) -> int:
    """How many flights all groups have together."""
    with closing(_connect(path)) as database:
        return int(database.execute("SELECT COALESCE(SUM(flights), 0) FROM departures").fetchone()[0])


def totals(path: Path) -> dict[Group, Totals]:
    """Everything there is."""
    with closing(_connect(path)) as database:
        rows = database.execute(
            "SELECT hour, origin, flights, number_sum, number_square_sum FROM departures"
        ).fetchall()
    return {Group(hour, origin): Totals(*rest) for hour, origin, *rest in rows}


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=30)
