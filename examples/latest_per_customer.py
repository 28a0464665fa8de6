"""Keeps the newest order of each customer in a table of a database, by upserts from foreachBatch.

    python examples/latest_per_customer.py --stream orders --region eu-west-1 --database orders.db --checkpoint latest

A batch may run again after a crash, so the upsert leaves newer rows alone: it compares sequence numbers, as
`sequence_key` writes them. A customer's orders have one partition key and so one shard, in which numbers grow.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

from orders import Arguments, parsed, service
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from kinesis_spark import read_stream, sequence_key, session

TABLE = "CREATE TABLE IF NOT EXISTS latest (customer TEXT PRIMARY KEY, number INT, total REAL, sequence TEXT)"
UPSERT = """
    INSERT INTO latest VALUES (?, ?, ?, ?) ON CONFLICT (customer) DO UPDATE
    SET number = excluded.number, total = excluded.total, sequence = excluded.sequence
    WHERE excluded.sequence > latest.sequence
"""


def upsert(database: str, batch: DataFrame) -> None:
    """Write the newest order of each customer in a batch, unless the table has a newer one."""
    newest = batch.groupBy("order.customer").agg(
        F.max_by("order", F.struct("sequence", "subSequenceNumber")).alias("order"), F.max("sequence").alias("sequence")
    )
    rows = newest.select("customer", "order.order", "order.total", "sequence").collect()
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(TABLE)
        connection.executemany(UPSERT, [tuple(row) for row in rows])


def main() -> None:
    """Upsert what is in the stream, print the table, and end."""
    parser = Arguments(__doc__)
    parser.add_argument("--database", help="a file of SQLite; without it, one beside the checkpoint")
    given = parser.parse()
    spark = session.builder("latest per customer").getOrCreate()
    with service(given) as kinesis:
        database = given.database or f"{kinesis.state}/orders.db"
        orders = read_stream(spark, kinesis.source, max_records_per_trigger=10).select(
            parsed(), sequence_key().alias("sequence"), "subSequenceNumber"
        )
        query = (
            orders.writeStream.foreachBatch(lambda batch, _: upsert(database, batch))
            .option("checkpointLocation", f"{kinesis.state}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        with closing(sqlite3.connect(database)) as connection:
            for customer, number, total in connection.execute("SELECT customer, number, total FROM latest ORDER BY 1"):
                print(f"{customer}: order {number}, total {total}")
    spark.stop()


if __name__ == "__main__":
    main()
