"""The streaming query, as a job of its own: flights by hour and airport, from Kinesis into the sink.

    python query.py <endpoint> <stream> <directory>

The directory holds the checkpoint, the result (`result.db`) and the progress (`progress.jsonl`), and outlives the job:
a second run continues where the first was, however that ended. The job ends when its standard input closes.
"""

from __future__ import annotations

import json
import select
import sys
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

import sink
from flights import Group, Totals
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as PySpark's own documentation has it)
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from kinesis_spark import KinesisOptions, Position, StaticCredentials, read_stream, session

EVENT = "number LONG, scheduled LONG, origin STRING, carrier STRING, distance INT"

# How far events may be out of order. A shard's own are in order, but after an outage of ten seconds, in which the
# replay moves on by three weeks, one shard may be read up to the end before another.
WATERMARK = "30 days"


class ProgressFile(StreamingQueryListener):
    """Appends a line of JSON for each micro-batch: what the display and the plot are made of."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Report that the query runs."""
        self._append({"time": _now(), "event": "started", "run": str(event.runId)})

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Write down a micro-batch."""
        progress = event.progress
        started = datetime.fromisoformat(progress.timestamp.replace("Z", "+00:00")).timestamp()
        committed = started + progress.durationMs["triggerExecution"] / 1000
        observed = progress.observedMetrics.get("events")
        oldest = observed["oldest"] if observed is not None else None
        self._append(
            {
                "time": committed,
                "event": "batch",
                "batch": progress.batchId,
                "rows": progress.numInputRows,
                "duration_s": progress.durationMs["triggerExecution"] / 1000,
                # From the arrival in Kinesis of the batch's oldest record to the batch's commit.
                "lag_s": None if oldest is None else committed - oldest,
                "late_rows": sum(operator.numRowsDroppedByWatermark for operator in progress.stateOperators),
                "source": dict(progress.sources[0].metrics),
            }
        )

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Nothing to report."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Report that the query has ended."""
        self._append({"time": _now(), "event": "ended", "run": str(event.runId)})

    def _append(self, line: dict[str, object]) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def departures(events: DataFrame) -> DataFrame:
    """Flights by hour and airport."""
    flight = F.from_json(F.col("data").cast("string"), EVENT).alias("flight")
    return (
        events.observe(
            "events",
            F.count(F.lit(1)).alias("rows"),
            F.min("approximateArrivalTimestamp").cast("double").alias("oldest"),
        )
        .select(flight)
        .select("flight.*")
        .withColumn("departure", F.timestamp_seconds("scheduled"))
        .withWatermark("departure", WATERMARK)
        .groupBy(F.window("departure", "1 hour"), "origin")
        .agg(
            F.count(F.lit(1)).alias("flights"),
            F.sum("number").alias("number_sum"),
            F.sum(F.col("number") * F.col("number")).alias("number_square_sum"),
        )
        .select(F.unix_seconds("window.start").alias("hour"), "origin", "flights", "number_sum", "number_square_sum")
    )


def write(path: Path, changed: DataFrame, batch: int) -> None:
    """One micro-batch into the sink; there are only as many rows as groups that changed."""
    rows = [(Group(r["hour"], r["origin"]), Totals(*r[2:])) for r in changed.collect()]
    query = str(changed.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId"))
    sink.write(path, query, batch, rows)


def main(endpoint: str, stream: str, directory: Path) -> None:
    """Run the query until standard input closes, or it fails."""
    spark = (
        session.builder("kinesis-spark demo", "local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.streams.addListener(ProgressFile(directory / "progress.jsonl"))
    result = directory / "result.db"
    sink.create(result)
    options = KinesisOptions(
        stream_name=stream,
        region="us-east-1",
        endpoint=endpoint,
        credentials=StaticCredentials("local", "local"),
        starting_position=Position.trim_horizon(),
    )
    query = (
        departures(read_stream(spark, options))
        .writeStream.outputMode("update")
        .foreachBatch(partial(write, result))
        .option("checkpointLocation", str(directory / "checkpoint"))
        .trigger(processingTime="500 milliseconds")
        .start()
    )
    while query.isActive and not select.select([sys.stdin], [], [], 0.5)[0]:
        pass
    failure = query.exception()
    if failure is not None:
        raise failure
    query.stop()
    spark.stop()


def _now() -> float:
    return datetime.now(timezone.utc).timestamp()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
