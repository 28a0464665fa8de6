"""A sink that gets some records from a query, and others from one that continues it with a new checkpoint.

The second query begins as docs/how-to/upgrading.md has it. As a program with a folder, a session of its own and Delta
Lake on its class path: the customers of a Delta table, in JSON.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from kinesis_spark import KinesisOptions, LocalKinesis, Record, read_stream, session

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "upgrading.md"
CONTINUE, MIGRATE, LEASES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)

Start = Callable[[DataStreamWriter, DataFrame, int], StreamingQuery]


def customers(numbers: range) -> list[str]:
    """The partition keys of some records."""
    return [f"customer-{number}" for number in numbers]


OLD, NEW = customers(range(20)), customers(range(20, 40))


def run_block(block: str, kinesis: LocalKinesis, folder: Path, names: dict[str, Any]) -> dict[str, Any]:
    """A block of the page on a local server, in a folder of the test's own; the names that are defined then."""
    given = kinesis.options("orders").to_dict()
    local = {name: given[name] for name in ("region", "endpoint", "accessKeyId", "secretAccessKey")}
    written = KinesisOptions.to_dict
    with mock.patch.object(KinesisOptions, "to_dict", lambda options: {**written(options), **local}):
        exec(block.replace("/data/", f"{folder}/"), names)  # noqa: S102
    return names


def fill(spark: SparkSession, kinesis: LocalKinesis, folder: Path, start: Start) -> None:
    """Both queries, each until it has read what there is.

    Args:
        spark: the session.
        kinesis: a server with the empty stream `orders`.
        folder: where checkpoints are.
        start: starts a query into the sink, given its writer, its rows and which one it is: 0 or 1.
    """
    kinesis.put_records("orders", [Record(customer, b"{}") for customer in OLD])
    # Several batches, whose numbers the new query uses again.
    options = kinesis.options("orders", starting_position="TRIM_HORIZON", max_records_per_trigger=5)
    _run(read_stream(spark, options), f"{folder}/checkpoints/orders", start, 0)
    kinesis.put_records("orders", [Record(customer, b"{}") for customer in NEW])
    names = run_block(CONTINUE, kinesis, folder, {"spark": spark})
    _run(names["orders"], f"{folder}/checkpoints/new", start, 1)


def _run(orders: DataFrame, checkpoint: str, start: Start, which: int) -> None:
    rows = orders.selectExpr("partitionKey AS customer", "partitionKey", "data")
    start(
        rows.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True), rows, which
    ).awaitTermination()


def main(folder: Path) -> None:
    """Into a Delta table."""
    spark = session.builder("new checkpoint").getOrCreate()
    with LocalKinesis({"orders": 2}) as kinesis:
        fill(spark, kinesis, folder, lambda writer, _, __: writer.format("delta").start(str(folder / "table")))
    found = spark.read.format("delta").load(str(folder / "table")).collect()
    print(json.dumps([row["customer"] for row in found]))  # noqa: T201
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
