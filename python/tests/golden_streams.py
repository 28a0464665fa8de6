"""Streams whose sequence numbers are the same each time, and queries over them that stop half-way.

As a program with the name of a file, on any Spark: writes what later builds are tested with (`make golden`), for each
of `QUERIES` the checkpoint, the rows of its last batch, and a positions file of its end.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark
from pyspark.sql import DataFrame, SparkSession

from kinesis_spark import (
    EnhancedFanOut,
    KinesisOptions,
    LocalKinesis,
    Polling,
    Record,
    positions,
    read_stream,
    session,
)

SPARK = tuple(map(int, pyspark.__version__.split(".")[:2]))
# 2026-01-01. The server's clock moves only by `advance_clock`, and sequence numbers have its seconds.
BEGAN_MS = 1_767_225_600_000
PARENT = "shardId-000000000000"
CHILDREN = ("shardId-000000000002", "shardId-000000000003")
# The first real-time trigger of PySpark.
REAL_TIME = (4, 2)


@dataclass(frozen=True)
class Query:
    """What a golden checkpoint is of.

    Attributes:
        streams: in one source.
        publisher: by which it reads.
        is_real_time: whether it was in real-time mode.
    """

    streams: tuple[str, ...]
    publisher: Polling | EnhancedFanOut
    is_real_time: bool = False

    def rows(self, spark: SparkSession, kinesis: LocalKinesis) -> DataFrame:
        """The texts of its records."""
        options: KinesisOptions = kinesis.options(self.streams)
        if not self.is_real_time:
            options = options.replace(max_records_per_trigger=30)
        rows = read_stream(spark, options.replace(record_publisher=self.publisher))
        return rows.selectExpr("CAST(data AS STRING) AS text")


QUERIES = {
    "polling": Query(("orders",), Polling()),
    "fan-out": Query(("orders",), EnhancedFanOut("golden")),
    "two-streams": Query(("orders", "refunds"), Polling()),
    "real-time": Query(("orders",), Polling(), is_real_time=True),
}


@contextmanager
def half_way() -> Iterator[LocalKinesis]:
    """A server with streams that are half filled: `orders` had two shards, one of which was split."""
    with LocalKinesis(arguments=["--manual-clock"]) as kinesis:
        kinesis.client.control("POST", "clock", {"setMillis": BEGAN_MS})
        kinesis.create_stream("orders", shards=2)
        kinesis.create_stream("refunds", shards=1)
        _put(kinesis, "a")
        kinesis.split("orders", PARENT)
        _put(kinesis, "b")
        yield kinesis


def fill(kinesis: LocalKinesis) -> None:
    """The other half: the children of the split are merged."""
    kinesis.merge("orders", *CHILDREN)
    _put(kinesis, "c")


def texts(query: Query, parts: str) -> Counter[str]:
    """What the streams of a query got."""
    return Counter(f"{stream}-{part}-{i}" for stream in query.streams for part in parts for i in range(20))


def _put(kinesis: LocalKinesis, part: str) -> None:
    kinesis.advance_clock(timedelta(seconds=10))
    for stream in ("orders", "refunds"):
        names = (f"{stream}-{part}-{i}" for i in range(20))
        kinesis.put_records(stream, [Record(text, text.encode()) for text in names])


def run(rows: DataFrame, checkpoint: Path) -> dict[int, Counter[str]]:
    """The rows of each batch of a query that ends with what there is."""
    found: dict[int, Counter[str]] = {}

    def keep(batch: DataFrame, number: int) -> None:
        found[number] = Counter(row["text"] for row in batch.collect())

    writer = rows.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
    assert writer.trigger(availableNow=True).start().awaitTermination(300)
    return found


def run_in_real_time(rows: DataFrame, checkpoint: Path, expected: Counter[str]) -> dict[int, Counter[str]]:
    """The same of a query in real-time mode, which ends once its records are committed: all as if in one batch."""
    heard = checkpoint.parent / "heard"
    heard.mkdir()
    writer = rows.writeStream.foreach(lambda row: (heard / row["text"]).touch()).outputMode("update")
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(realTime="5 seconds").start()  # type: ignore[call-overload]  # not in PySpark's overloads
    while sum(progress.numInputRows for progress in query.recentProgress) < expected.total():
        assert query.isActive, query.exception()
        query.awaitTermination(1)
    query.stop()
    found = Counter(file.name for file in heard.iterdir())
    shutil.rmtree(heard)
    return {0: found}


def files(folder: Path) -> dict[str, str]:
    """The texts in a folder by their paths, without checksums."""
    found = (file for file in sorted(folder.rglob("*")) if file.is_file() and file.suffix != ".crc")
    return {str(file.relative_to(folder)): file.read_text() for file in found}


def main(golden: Path) -> None:
    """Writes the golden file of this Spark and this version of the connector."""
    spark = session.builder("golden", "local[4]").config("spark.ui.enabled", "false").getOrCreate()
    made: dict[str, object] = {}
    for name, query in QUERIES.items():
        if query.is_real_time and SPARK < REAL_TIME:
            continue
        with half_way() as kinesis, TemporaryDirectory() as folder:
            rows, before, checkpoint = query.rows(spark, kinesis), texts(query, "ab"), Path(folder, "checkpoint")
            batches = run_in_real_time(rows, checkpoint, before) if query.is_real_time else run(rows, checkpoint)
            assert sum(batches.values(), Counter()) == before, name
            positions.save(spark, positions.after_batch(spark, str(checkpoint)), Path(folder, "positions"))
            made[name] = {
                "checkpoint": files(checkpoint),
                "lastBatch": sorted(batches[max(batches)].elements()),
                "positions": Path(folder, "positions").read_text(),
            }
    golden.write_text(json.dumps(made, indent=1) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
