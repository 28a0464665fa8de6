"""Aggregated records reach PySpark as their user records, through the JAR as it is shipped."""

from __future__ import annotations

import hashlib
from pathlib import Path

from patience import PATIENCE_S
from pyspark.sql import SparkSession

from kinesis_spark import KinesisOptions, LocalKinesis, read_stream
from kinesis_spark.local import Record

# The KPL's format: keys "a" and "b", then ("a", "one") and ("b", "two") by the keys' places.
MESSAGE = bytes.fromhex("0a0161 0a0162 1a0708001a036f6e65 1a0708011a0374776f")
AGGREGATED = bytes.fromhex("f3899ac2") + MESSAGE + hashlib.md5(MESSAGE, usedforsecurity=False).digest()


def rows(spark: SparkSession, options: KinesisOptions, checkpoint: Path, table: str) -> list[tuple[bytes, str, int]]:
    query = (
        read_stream(spark, options)
        .writeStream.format("memory")
        .queryName(table)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(PATIENCE_S)
    found = spark.table(table).select("data", "partitionKey", "subSequenceNumber").collect()
    return [(bytes(row["data"]), row["partitionKey"], row["subSequenceNumber"]) for row in found]


def test_aggregated_records_become_user_records_unless_deaggregate_is_false(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    kinesis.create_stream("packed")
    kinesis.put_records("packed", [Record("k", AGGREGATED), Record("k", b"plain")])
    apart = rows(spark, kinesis.options("packed"), tmp_path / "apart", "apart")
    assert apart == [(b"one", "a", 0), (b"two", "b", 1), (b"plain", "k", 0)]
    as_is = rows(spark, kinesis.options("packed").replace(deaggregate=False), tmp_path / "as_is", "as_is")
    assert as_is == [(AGGREGATED, "k", 0), (b"plain", "k", 0)]
