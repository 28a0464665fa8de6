"""Two transactional sinks, from both sides: how the query writes them, and how the harness reads them meanwhile.

Spark's own file sink has a batch's files in its log, or it has not. SQLite has a batch's rows and its id in one
transaction; a batch that comes again must have the same records, which are compared and not written twice.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

import duckdb

from .entry import decode
from .history import Changed, Place, Row

# More than any task writes of a batch.
_ROWS_OF_A_TASK = 2**32

SinkKind = Literal["parquet", "sqlite"]


class Written(NamedTuple):
    """A row as the query gives it to a sink; the columns of both are called so."""

    stream: str
    shard: str
    sequence: str
    key: str
    data: str

    @property
    def place(self) -> Place:
        return Place(self.stream, self.shard, int(self.sequence))

    def row(self, batch: int, position: int, at: float) -> Row:
        return Row(self.place, decode(self.data), self.key, batch, position, at)


class Sink(Protocol):
    """What the harness asks a sink."""

    def count(self) -> int:
        """Rows it has committed."""

    def rows(self) -> Iterator[Row]:
        """All of them."""

    def changed(self) -> list[Changed]:
        """Batches that came again and were not the same."""


class ParquetFiles:
    """The output directory of Spark's file sink, read without Spark: the files of its log and no others."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._sizes: dict[str, int] = {}

    def count(self) -> int:
        files = [file for _, _, file in self._committed()]
        fresh = [file for file in files if file not in self._sizes]
        if fresh:
            query = "SELECT file_name, sum(row_group_num_rows) FROM ("
            query += "SELECT DISTINCT file_name, row_group_id, row_group_num_rows FROM parquet_metadata(?)) GROUP BY 1"
            self._sizes |= dict.fromkeys(fresh, 0)
            self._sizes |= {name: int(size) for name, size in duckdb.execute(query, [fresh]).fetchall()}
        return sum(self._sizes[file] for file in files)

    def rows(self) -> Iterator[Row]:
        columns = ", ".join(f'"{name}"' for name in Written._fields)
        for batch, at, file in self._committed():
            query = f"SELECT file_row_number, {columns} FROM read_parquet(?, file_row_number = true)"  # noqa: S608
            task = _task(file)
            for number, *values in duckdb.execute(query, [file]).fetchall():
                yield Written(*values).row(batch, task * _ROWS_OF_A_TASK + number, at)

    def changed(self) -> list[Changed]:
        """Nothing: a batch that the log has is not looked at again."""
        return []

    def _committed(self) -> list[tuple[int, float, str]]:
        """Each file with its batch, and when that was committed; a compacted log names files of earlier ones again."""
        log = self._directory / "_spark_metadata"
        entries = sorted(
            (int(entry.name.split(".")[0]), entry) for entry in (log.glob("[0-9]*") if log.exists() else [])
        )
        files: dict[str, tuple[int, float, str]] = {}
        for batch, entry in entries:
            at = entry.stat().st_mtime
            for line in entry.read_text().splitlines()[1:]:
                path = unquote(urlsplit(json.loads(line)["path"]).path)
                files.setdefault(path, (batch, at, path))
        return list(files.values())


def _task(file: str) -> int:
    """The number of the task that wrote it, as Spark names the files: `part-00003-...`."""
    return int(Path(file).name.split("-")[1])


_SCHEMA = """
CREATE TABLE IF NOT EXISTS batches (id INTEGER PRIMARY KEY, at REAL);
CREATE TABLE IF NOT EXISTS rows (
  batch INTEGER, position INTEGER, stream TEXT, shard TEXT, sequence TEXT, key TEXT, data TEXT,
  PRIMARY KEY (batch, position)
);
CREATE TABLE IF NOT EXISTS changed (batch INTEGER, before TEXT, now TEXT);
"""


class SqliteTable:
    """A database in WAL mode, so that the harness reads while the query writes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with closing(self._connect()) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(_SCHEMA)

    def write(self, batch: int, rows: Iterable[Written], before_commit: Any = lambda: None) -> None:  # noqa: ANN401
        """A batch with its id, whole or not at all; rows of a batch that is there already are compared with it."""
        with closing(self._connect()) as database, database:
            database.execute("BEGIN IMMEDIATE")
            if database.execute("INSERT OR IGNORE INTO batches VALUES (?, ?)", (batch, time.time())).rowcount:
                database.executemany(
                    "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)",
                    ((batch, position, *row) for position, row in enumerate(rows)),
                )
            else:
                self._compare(database, batch, list(rows))
            before_commit()

    def count(self) -> int:
        with closing(self._connect()) as database:
            return int(database.execute("SELECT count(*) FROM rows").fetchone()[0])

    def rows(self) -> Iterator[Row]:
        query = "SELECT at, batch, position, stream, shard, sequence, key, data FROM rows JOIN batches ON batch = id"
        with closing(self._connect()) as database:
            for at, batch, position, *values in database.execute(query):
                yield Written(*values).row(batch, position, at)

    def changed(self) -> list[Changed]:
        with closing(self._connect()) as database:
            found = database.execute("SELECT batch, before, now FROM changed").fetchall()
        return [Changed(batch, _places(before), _places(now)) for batch, before, now in found]

    def _compare(self, database: sqlite3.Connection, batch: int, now: list[Written]) -> None:
        stored = database.execute(f"SELECT {', '.join(Written._fields)} FROM rows WHERE batch = ?", (batch,))  # noqa: S608
        before = [Written(*values) for values in stored]
        gone, come = (sorted(row.place for row in rows) for rows in (_without(before, now), _without(now, before)))
        if gone or come:
            database.execute("INSERT INTO changed VALUES (?, ?, ?)", (batch, json.dumps(gone), json.dumps(come)))

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=60, isolation_level=None)


def _without(rows: Iterable[Written], others: Iterable[Written]) -> Iterable[Written]:
    """What is more often in the first; a row is all that it holds, not its place alone."""
    return (Counter(rows) - Counter(others)).elements()


def _places(text: str) -> tuple[Place, ...]:
    return tuple(Place(stream, shard, sequence) for stream, shard, sequence in json.loads(text))


def open_sink(kind: SinkKind, directory: Path) -> ParquetFiles | SqliteTable:
    """The sink of a trial."""
    return ParquetFiles(directory / "out") if kind == "parquet" else SqliteTable(directory / "out.db")
