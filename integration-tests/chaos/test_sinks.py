"""The sinks are read as they were written: whole batches, once, and a batch that comes back different is noticed."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from .entry import Entry, encode
from .history import Changed, Place, Row
from .sinks import ParquetFiles, SqliteTable, Written


def written(number: int) -> Written:
    return Written("s0", "shardId-000000000000", str(10**55 + number), "k", encode(Entry("k", number)).decode())


def places(*numbers: int) -> tuple[Place, ...]:
    return tuple(Place("s0", "shardId-000000000000", 10**55 + number) for number in numbers)


def come(rows: list[Row]) -> list[tuple[int, int]]:
    """Batch and number of each, in the order of batches and positions."""
    return [(r.batch, r.entry.number if r.entry else 0) for r in sorted(rows, key=lambda r: (r.batch, r.position))]


def test_a_batch_that_comes_again_is_not_written_twice(tmp_path: Path) -> None:
    table = SqliteTable(tmp_path / "out.db")
    table.write(0, [written(1), written(2)])
    table.write(1, [written(3)])
    table.write(1, [written(3)])
    assert come(list(table.rows())) == [(0, 1), (0, 2), (1, 3)]
    assert (table.count(), table.changed()) == (3, [])


def test_a_batch_that_dies_within_its_transaction_is_not_there(tmp_path: Path) -> None:
    table = SqliteTable(tmp_path / "out.db")

    def die() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.write(0, [written(1)], die)
    assert table.count() == 0
    table.write(0, [written(2)])
    assert come(list(table.rows())) == [(0, 2)]
    assert table.changed() == []


def test_a_batch_that_comes_again_with_other_records_is_noticed(tmp_path: Path) -> None:
    table = SqliteTable(tmp_path / "out.db")
    table.write(4, [written(1), written(2)])
    table.write(4, [written(2), written(3), written(4)])
    assert table.changed() == [Changed(4, places(1), places(3, 4))]
    assert come(list(table.rows())) == [(4, 1), (4, 2)]


def test_a_batch_that_comes_again_with_other_content_or_copies_is_noticed(tmp_path: Path) -> None:
    table = SqliteTable(tmp_path / "out.db")
    table.write(4, [written(1), written(2)])
    table.write(4, [written(2), written(1)._replace(data="another")])
    assert table.changed() == [Changed(4, places(1), places(1))]
    table.write(5, [written(3)])
    table.write(5, [written(3), written(3)])
    assert table.changed()[1:] == [Changed(5, (), places(3))]


def parquet(directory: Path, name: str, *numbers: int) -> str:
    """A file as Spark's tasks write them."""
    directory.mkdir(exist_ok=True)
    file = directory / f"part-{name}-c000.snappy.parquet"
    values = ", ".join(str(tuple(written(number))) for number in numbers)
    columns = ", ".join(f'"{column}"' for column in Written._fields)
    duckdb.execute(f"COPY (SELECT * FROM (VALUES {values}) t({columns})) TO '{file}' (FORMAT parquet)")  # noqa: S608
    return str(file)


def log(directory: Path, name: str, *files: str) -> None:
    """An entry of the file sink's log, as Spark writes it."""
    entries = [json.dumps({"path": f"file://{file}", "action": "add"}) for file in files]
    (directory / "_spark_metadata").mkdir(exist_ok=True)
    (directory / "_spark_metadata" / name).write_text("\n".join(["v1", *entries]))


def test_only_files_that_the_log_has_count_and_each_with_its_first_batch(tmp_path: Path) -> None:
    out = tmp_path / "out"
    sink = ParquetFiles(out)
    assert (sink.count(), list(sink.rows())) == (0, [])
    first, second = parquet(out, "00000-a", 1, 2), parquet(out, "00001-b", 3)
    log(out, "0", second, first)
    assert sink.count() == 3
    third = parquet(out, "00000-c", 4)
    parquet(out, "00000-died", 4, 5)
    log(out, "1.compact", second, first, third)
    assert sink.count() == 4
    assert come(list(sink.rows())) == [(0, 1), (0, 2), (0, 3), (1, 4)]
    assert sink.changed() == []
