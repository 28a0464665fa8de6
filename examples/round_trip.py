"""Writes records to a local Kinesis stream and reads them back: every one is there once, as a checksum over all shows.

    python examples/round_trip.py --records 1000000

docs/how-to/write.md says what the sink promises.
"""

from __future__ import annotations

import argparse
import json
import time
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, Row

from kinesis_spark import LocalKinesis, read_stream, session, write_batch

SHARDS = 4
# Sums of 64-bit hashes don't fit into 64 bits.
CHECKSUM = "sum(cast(xxhash64(data, partitionKey) as decimal(38, 0)))"


def checksum(rows: DataFrame) -> Row:
    """The number of rows, and a sum that no missing, repeated or changed one leaves as it is."""
    (row,) = rows.selectExpr("count(*) AS records", f"coalesce({CHECKSUM}, 0) AS checksum").collect()
    return row


def main() -> None:
    """Write, read, compare, and print figures as JSON."""
    parser = argparse.ArgumentParser(description="Writes records to a local Kinesis stream and reads them back.")
    parser.add_argument("--records", type=int, default=100_000)
    count: int = parser.parse_args().records
    spark = session.builder("round trip").getOrCreate()
    rows = spark.range(count).selectExpr(
        "encode(concat('record ', id, ' ', repeat('x', 100)), 'UTF-8') AS data", "concat('key ', id) AS partitionKey"
    )
    read: dict[int, Row] = {}

    def add(batch: DataFrame, batch_id: int) -> None:
        read[batch_id] = checksum(batch)

    with LocalKinesis({"trip": SHARDS}) as kinesis, TemporaryDirectory() as checkpoint:
        start = time.monotonic()
        write_batch(rows, kinesis.sink_options("trip"))
        written = time.monotonic()
        query = (
            read_stream(spark, kinesis.options("trip"))
            .writeStream.foreachBatch(add)
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        end = time.monotonic()
    expected = checksum(rows)
    records = sum(row.records for row in read.values())
    same = (records, sum(row.checksum for row in read.values())) == (expected.records, expected.checksum)
    figures = {
        "records": records,
        "same": same,
        "writeSeconds": round(written - start, 1),
        "readSeconds": round(end - written, 1),
        "writtenPerSecond": round(count / (written - start)),
    }
    print(json.dumps(figures))
    spark.stop()


if __name__ == "__main__":
    main()
