r"""Reads two streams in one query: one of this account, and one of another account by a role there.

    python examples/two_accounts.py --stream orders --region eu-west-1 --other refunds --role <the role's ARN> \
        --checkpoint s3a://bucket/two-accounts

The role trusts this account's credentials, and may read the other stream. Each stream keeps its own shards, positions
and credentials; rows name theirs in `streamName`.
"""

from __future__ import annotations

from orders import Arguments, order, service
from pyspark.sql import DataFrame

from kinesis_spark import StreamOptions, read_stream, session, write_batch


def show(batch: DataFrame, number: int) -> None:
    """Print how many records came from each stream."""
    for row in batch.groupBy("streamName").count().orderBy("streamName").collect():
        print(f"batch {number}: {row['count']} records of {row['streamName']}")


def main() -> None:
    """Print what is in the streams, and end."""
    parser = Arguments(__doc__)
    parser.add_argument("--other", default="refunds", help="the stream of the other account")
    parser.add_argument("--other-region", help="its region, if it is another one")
    parser.add_argument("--role", help="the role to assume for it")
    given = parser.parse()
    spark = session.builder("two accounts").getOrCreate()
    with service(given, given.other) as kinesis:
        if given.stream is None:
            refunds = [(record.data, record.partition_key) for record in map(order, range(5))]
            write_batch(spark.createDataFrame(refunds, "data binary, partitionKey string"), kinesis.sink(given.other))
        other = StreamOptions(stream=given.other, region=given.other_region, role=given.role)
        both = read_stream(
            spark, kinesis.source, stream_name=[given.stream or "orders", given.other], per_stream=[other]
        )
        query = (
            both.writeStream.foreachBatch(show)
            .option("checkpointLocation", kinesis.state)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
