"""Copies orders above a total from one stream to another, so that their readers can drop every repeat.

    python examples/kinesis_to_kinesis.py --stream orders --region eu-west-1 --target large-orders --checkpoint s3a://bucket/copy

The sink writes at least once, as Kinesis has no idempotent writes. Each record carries its identity as partition key:
where it was read. Readers drop repeats by it, as the second query does, which makes the pipeline effectively once.
The source's column `streamName` is not passed on: a sink refuses it.
"""

from __future__ import annotations

from orders import Arguments, parsed, service

from kinesis_spark import read_stream, session, write_stream

IDENTITY = "concat(shardId, '/', sequenceNumber, '/', subSequenceNumber) AS partitionKey"


def main() -> None:
    """Copy what is in the stream, print what is in the other, and end."""
    parser = Arguments(__doc__)
    parser.add_argument("--target", default="large-orders", help="the stream to write to")
    parser.add_argument("--above", type=float, default=5.0, help="the total above which an order is large")
    given = parser.parse()
    spark = session.builder("kinesis to kinesis").getOrCreate()
    with service(given, given.target) as kinesis:
        large = read_stream(spark, kinesis.source).withColumn("order", parsed()).where(f"order.total > {given.above}")
        copied = (
            write_stream(large.selectExpr("data", IDENTITY), kinesis.sink(given.target))
            .option("checkpointLocation", f"{kinesis.state}/copy")
            .trigger(availableNow=True)
            .start()
        )
        copied.awaitTermination()
        once = (
            read_stream(spark, kinesis.source, stream_name=given.target)
            .withWatermark("approximateArrivalTimestamp", "10 minutes")
            .dropDuplicatesWithinWatermark(["partitionKey"])
        )
        read = (
            once.select(parsed())
            .select("order.*")
            .writeStream.format("parquet")
            .option("checkpointLocation", f"{kinesis.state}/read")
            .trigger(availableNow=True)
            .start(f"{kinesis.state}/large")
        )
        read.awaitTermination()
        for row in spark.read.parquet(f"{kinesis.state}/large").orderBy("order").collect():
            print(f"large: order {row['order']} of {row['customer']}, total {row['total']}")
    spark.stop()


if __name__ == "__main__":
    main()
