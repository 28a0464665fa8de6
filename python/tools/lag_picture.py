"""Draws docs/pictures/restart-lag.svg: the lag of a query that is stopped for a while and started again.

python python/tools/lag_picture.py docs/pictures/restart-lag.svg [seconds that each phase takes, 15 by default]

A producer puts 200 records a second into two shards of a local server throughout. The lag is `maxMillisBehindLatest` of
the query's metrics, looked at four times a second. While the query is stopped, nothing measures it, and it grows by a
second each second.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import picture
from matplotlib.figure import Figure
from picture import BLUE, FAINT, RED
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from versions import commit

from kinesis_spark import KinesisOptions, LocalKinesis, Record, read_stream, session

STREAM = "orders"
Points = list[tuple[float, float]]


class Producer:
    """Puts records until its block ends."""

    def __init__(self, kinesis: LocalKinesis) -> None:
        self._kinesis = kinesis
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._stopped.wait(0.05):
            self._kinesis.put_records(STREAM, [Record(f"customer-{number + n}", b"an order") for n in range(10)])
            number += 10


def start(spark: SparkSession, options: KinesisOptions, checkpoint: str) -> StreamingQuery:
    """The query, which drops what it reads."""
    writer = read_stream(spark, options).writeStream.format("noop")
    return writer.option("checkpointLocation", checkpoint).start()


def watch(query: StreamingQuery, begun: float, seconds: float) -> Points:
    """The lag in s at times in s."""
    points: Points = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.25)
        progress = query.lastProgress
        if progress and progress["sources"][0]["metrics"]:
            lag = int(progress["sources"][0]["metrics"]["maxMillisBehindLatest"]) / 1000
            points.append((time.monotonic() - begun, lag))
    return points


def measure(seconds: float) -> tuple[Points, Points, tuple[float, float]]:
    """Before and after a stop, and when the query was down."""
    spark = session.builder("lag over a restart", "local[2]").config("spark.ui.enabled", "false").getOrCreate()
    with LocalKinesis({STREAM: 2}) as kinesis, TemporaryDirectory() as checkpoint, Producer(kinesis):
        options = kinesis.options(STREAM)
        query = start(spark, options, checkpoint)
        while query.lastProgress is None:
            time.sleep(0.1)
        begun = time.monotonic()
        before = watch(query, begun, seconds)
        query.stop()
        stopped = time.monotonic() - begun
        time.sleep(seconds)
        started = time.monotonic() - begun
        query = start(spark, options, checkpoint)
        after = watch(query, begun, seconds)
        query.stop()
    spark.stop()
    return before, after, (stopped, started)


def draw(before: Points, after: Points, down: tuple[float, float]) -> Figure:
    """Time to the right, lag upwards."""
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    axes = figure.add_subplot()
    stopped, started = down
    axes.axvspan(stopped, started, color=FAINT, alpha=0.5, linewidth=0)
    axes.text((stopped + started) / 2, 0.6 * (started - stopped), "query is stopped", ha="center", size=10)
    for points in (before, after):
        axes.plot(*zip(*points, strict=True), color=BLUE, linewidth=1.8)
    last = before[-1][1] if before else 0.0
    axes.plot([stopped, started], [last, last + started - stopped], color=RED, linestyle=":", linewidth=1.6)
    axes.plot([started, after[0][0]], [last + started - stopped, after[0][1]], color=BLUE, linewidth=1.8)
    axes.set(xlabel="time (s)", ylabel="lag (s)", ylim=(0, None))
    axes.grid(alpha=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure


def main(to: Path, seconds: float) -> None:
    """Measure, draw, and print what the caption says."""
    before, after, down = measure(seconds)
    description = (
        f"The lag stays low, grows for {down[1] - down[0]:.0f} s while the query is stopped, and falls at its start."
    )
    picture.save(draw(before, after, down), to, description)
    caught_up = next((at for at, lag in after if lag < 1), None)
    figures = {
        "commit": commit(),
        "down_s": round(down[1] - down[0], 1),
        "greatest_lag_before_s": max(lag for _, lag in before),
        "below_1_s_after_s": caught_up and round(caught_up - down[1], 1),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 15.0)  # noqa: PLR2004
