"""Reads a stream as a batch, and hands over to a streaming query at an exact point: no record is lost or doubled.

    python examples/backfill.py                                      # on a local Kinesis server; more orders come
    python examples/backfill.py --stream orders --region eu-west-1   # on AWS

The point is kept in a file, so that a program which is started again after a failure hands over where it was to; and so
is that the batch is done, which is not read again then. A batch that fails on its way is read anew as a whole: it
belongs where writing it twice leaves it there once, such as a table that is overwritten. Once the query has a
checkpoint, that counts. docs/batch.md tells more.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from orders import come, show_all, source
from pyspark.sql import SparkSession

from kinesis_spark import KinesisSourceOptions, Positions, positions, read_batch, read_stream, session


def keep(file: Path, text: str) -> None:
    """Write a file that is there as a whole or not at all."""
    written = file.with_suffix(".new")
    written.write_text(text)
    written.replace(file)


def handover(spark: SparkSession, options: KinesisSourceOptions, kept: Path) -> Positions:
    """Where the batch ends and the query begins: what is in the stream when this is called first."""
    if not kept.exists():
        keep(kept, str(positions.latest(spark, options)))
    return Positions(kept.read_text())


def backfill(
    spark: SparkSession, options: KinesisSourceOptions, state: Path, meanwhile: Callable[[], None] = lambda: None
) -> None:
    """Print what is in the stream up to the point, and then what comes after it; end with what is there."""
    point = handover(spark, options, state / "handover.json")
    meanwhile()
    done = state / "done.txt"
    if not done.exists():
        batch = read_batch(spark, options.replace(ending_position=point))
        # A DataFrame of a batch has the same rows in every action.
        records = batch.count()
        print(f"backfill of {records} records")
        show_all(batch, -1)
        keep(done, f"{records} records\n")
    query = (
        read_stream(spark, options.replace(starting_position=point))
        .writeStream.foreachBatch(show_all)
        .option("checkpointLocation", str(state / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def main() -> None:
    """Print what is in the stream, and end."""
    spark = session.builder("backfill", "local[2]").config("spark.ui.enabled", "false").getOrCreate()
    with source("Reads a stream as a batch, and goes on as a stream.") as options, TemporaryDirectory() as state:
        backfill(spark, options, Path(state), meanwhile=lambda: come(options))
    spark.stop()


if __name__ == "__main__":
    main()
