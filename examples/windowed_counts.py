"""Counts orders and sums their totals by customer and minute of arrival, and shows a window when it is complete.

    python examples/windowed_counts.py --stream orders --region eu-west-1 --checkpoint s3a://bucket/counts

`max_shard_skew` below the watermark's delay keeps a catch-up from making the slower shards' records late,
unless a shard brings nothing for 30 s.
"""

from __future__ import annotations

from orders import Arguments, parsed, service
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from kinesis_spark import read_stream, session


def show(batch: DataFrame, number: int) -> None:
    """Print the windows that changed."""
    for row in batch.orderBy("window", "customer").collect():
        print(f"batch {number}: {row['window']['start']:%H:%M} {row['customer']} {row['orders']} {row['total']}")


def main() -> None:
    """Print what is in the stream, and end."""
    given = Arguments(__doc__).parse()
    spark = session.builder("windowed counts").getOrCreate()
    with service(given) as kinesis:
        counts = (
            read_stream(spark, kinesis.source, max_shard_skew="20 seconds")
            .select(parsed(), F.col("approximateArrivalTimestamp").alias("at"))
            .withWatermark("at", "1 minute")
            .groupBy(F.window("at", "1 minute"), "order.customer")
            .agg(F.count("*").alias("orders"), F.sum("order.total").alias("total"))
        )
        query = (
            counts.writeStream.outputMode("update")
            .foreachBatch(show)
            .option("checkpointLocation", kinesis.state)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
