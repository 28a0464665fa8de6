"""ETL: takes orders apart and appends them to files of Parquet, or to a Delta table, each once.

    python examples/to_files.py --stream orders --region eu-west-1 --output s3a://bucket/lake
    spark-submit --packages io.delta:delta-spark_4.2_2.13:<version> ... examples/to_files.py --format delta

Delta wants `spark.sql.extensions` and `spark.sql.catalog.spark_catalog` set, as its own pages say. Spark's file sink
and Delta remember which micro-batches they have, so a batch that runs again after a crash adds nothing. Data that isn't
an order is kept in a column of its own, with shard and sequence number, and stops nothing.
"""

from __future__ import annotations

from orders import Arguments, parsed, service

from kinesis_spark import read_stream, session

COLUMNS = (
    "order.*",
    "CASE WHEN order.order IS NULL THEN data END AS unparsed",
    "approximateArrivalTimestamp AS arrived",
    "shardId",
    "sequenceNumber",
)


def main() -> None:
    """Append what is in the stream, and end."""
    parser = Arguments(__doc__, "--output")
    parser.add_argument("--format", choices=["parquet", "delta"], default="parquet")
    given = parser.parse()
    spark = session.builder("to files").getOrCreate()
    with service(given) as kinesis:
        orders = read_stream(spark, kinesis.source, max_bytes_per_trigger="256m").withColumn("order", parsed())
        # Appends what is there and ends, as a scheduled job does; without the trigger it would follow the stream.
        query = (
            orders.selectExpr(*COLUMNS)
            .writeStream.format(given.format)
            .option("checkpointLocation", f"{kinesis.state}/checkpoint")
            .trigger(availableNow=True)
            .start(f"{kinesis.state}/orders")
        )
        query.awaitTermination()
        table = spark.read.format(given.format).load(f"{kinesis.state}/orders")
        print(f"{table.count()} rows, {table.where('unparsed IS NOT NULL').count()} of them unparsed")
    spark.stop()


if __name__ == "__main__":
    main()
