"""Reads a stream as a batch, then streams exactly from where the batch ended: no record is lost or doubled.

    python examples/backfill.py --stream orders --region eu-west-1 --state s3a://bucket/orders-state

The point between them is kept in a file, so that a program that is started again after a failure hands over at the same
point; and so is that the batch is done. A batch that fails on its way is read anew as a whole: it belongs where
writing it twice leaves it there once, such as a table that is overwritten. Once the query has a checkpoint, that
counts. docs/how-to/batch.md has more.
"""

from __future__ import annotations

from collections.abc import Callable

from orders import Arguments, order, service
from pyspark.sql import DataFrame, SparkSession

from kinesis_spark import KinesisOptions, positions, read_batch, read_stream, session


def show(batch: DataFrame, number: int) -> None:
    """Print each record."""
    for row in batch.selectExpr("shardId", "CAST(data AS STRING) AS text").toLocalIterator():
        print(f"batch {number}: {row['shardId']} {row['text']}")


def backfill(
    spark: SparkSession, options: KinesisOptions, state: str, meanwhile: Callable[[], None] = lambda: None
) -> None:
    """Print what is in the stream up to the point, and then what comes after it; end with what is there."""
    handover, done = f"{state}/handover.json", f"{state}/done.json"
    point = positions.load(spark, handover) or positions.save(spark, positions.latest(spark, options), handover)
    meanwhile()
    if positions.load(spark, done) is None:
        batch = read_batch(spark, options, ending_position=point)
        # A DataFrame of a batch has the same rows in every action.
        print(f"backfill of {batch.count()} records")
        show(batch, -1)
        positions.save(spark, point, done)
    query = (
        read_stream(spark, options, starting_position=point)
        .writeStream.foreachBatch(show)
        .option("checkpointLocation", f"{state}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def main() -> None:
    """Print what is in the stream, and end."""
    given = Arguments(__doc__, "--state").parse()
    spark = session.builder("backfill").getOrCreate()
    with service(given) as kinesis:
        backfill(spark, kinesis.source, kinesis.state, lambda: kinesis.put([order(number) for number in range(20, 30)]))
    spark.stop()


if __name__ == "__main__":
    main()
