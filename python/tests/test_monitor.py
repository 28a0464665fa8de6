"""KinesisMonitor: samples and alerts of progress with a driven clock, and of a query that runs."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S, until
from pyspark.sql import SparkSession

import kinesis_spark
from kinesis_spark import InvalidOptionError, LocalKinesis, Record, read_stream
from kinesis_spark.monitor import Alert, KinesisMonitor

OFFSET = {
    "version": 1,
    "streams": {"arn:aws:kinesis:eu-west-1:123456789012:stream/orders": {"created": 1, "shards": {}}},
}


class Clock:
    """Seconds that a test lets pass."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def progress(lag_s: float, batch: int = 0, query: str = "q-1", **metrics: int) -> dict[str, Any]:
    known = {"maxMillisBehindLatest": int(lag_s * 1000), "shardsOpen": 2, **metrics}
    source = {"endOffset": OFFSET, "metrics": {name: str(value) for name, value in known.items()}}
    return {
        "id": query,
        "name": f"name of {query}",
        "batchId": batch,
        "timestamp": "2026-01-31T08:00:00.000Z",
        "numInputRows": 100,
        "processedRowsPerSecond": 50.0,
        "durationMs": {"triggerExecution": 2000},
        "sources": [{"endOffset": {"topic": 1}, "metrics": {}}, source],
    }


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def monitor(clock: Clock) -> KinesisMonitor:
    return KinesisMonitor(clock=clock)


def test_progress_becomes_samples_of_the_kinesis_sources(monitor: KinesisMonitor) -> None:
    monitor.observe(json.dumps(progress(12, bufferedBytes=1 << 20)))
    (sample,) = monitor.samples()
    (source,) = sample.sources
    assert (sample.batch, sample.rows, sample.lag) == (0, 100, timedelta(seconds=12))
    assert (source.streams, source.metrics["bufferedBytes"]) == (("orders",), 1 << 20)


def test_a_lag_that_lasts_is_reported_once_until_it_has_passed(monitor: KinesisMonitor, clock: Clock) -> None:
    alerts: list[Alert] = []
    monitor.on_lag(above="1 minute", lasting="5 minutes", call=alerts.append)
    for clock.now in range(0, 300, 10):
        monitor.observe(progress(90))
    assert alerts == []
    for clock.now in range(300, 600, 10):
        monitor.observe(progress(90))
    (alert,) = alerts
    assert (alert.kind, alert.query, alert.lag) == ("lag", "name of q-1", timedelta(seconds=90))
    assert "0:01:30 behind" in alert.message
    monitor.observe(progress(10))
    for clock.now in range(600, 901, 10):
        monitor.observe(progress(61))
    assert len(alerts) == 2


def test_a_lag_that_passes_in_time_is_not_reported(monitor: KinesisMonitor, clock: Clock) -> None:
    alerts: list[Alert] = []
    monitor.on_lag(above="1 minute", lasting="5 minutes", call=alerts.append)
    for clock.now in range(0, 3000, 10):
        monitor.observe(progress(90 if clock.now % 200 else 10))
    assert alerts == []


def test_a_lag_counts_on_while_no_progress_comes(monitor: KinesisMonitor, clock: Clock) -> None:
    alerts: list[Alert] = []
    monitor.on_lag(above="1 minute", lasting="5 minutes", call=alerts.append)
    monitor.observe(progress(90))
    clock.now = 301
    assert monitor.check() == alerts
    assert len(alerts) == 1


def test_a_query_without_progress_is_reported_once_and_again_after_it_went_on(
    monitor: KinesisMonitor, clock: Clock
) -> None:
    alerts: list[Alert] = []
    monitor.on_no_progress(lasting="2 minutes", call=alerts.append)
    monitor.observe(progress(5))
    for clock.now in (60, 119):
        assert monitor.check() == []
    for clock.now in (121, 200):
        monitor.check()
    assert [(a.kind, a.lasting >= timedelta(minutes=2)) for a in alerts] == [("no progress", True)]
    monitor.observe(progress(5, batch=1))
    for clock.now in (300, 321):
        monitor.check()
    assert len(alerts) == 2


def test_an_idle_or_ended_query_is_not_reported_for_no_progress(monitor: KinesisMonitor, clock: Clock) -> None:
    alerts: list[Alert] = []
    monitor.on_no_progress(lasting="1 minute", call=alerts.append)
    monitor.observe(progress(0))
    for clock.now in range(0, 600, 10):
        monitor.idle("q-1")
        monitor.check()
    monitor.ended("q-1")
    clock.now = 10_000
    assert monitor.check() == []
    assert alerts == []


def test_a_callback_that_fails_stops_no_other(monitor: KinesisMonitor, clock: Clock) -> None:
    alerts: list[Alert] = []

    def fail(_: Alert) -> None:
        raise RuntimeError("no network")

    monitor.on_no_progress("1s", fail).on_no_progress("1s", alerts.append)
    monitor.observe(progress(0))
    clock.now = 2
    monitor.check()
    assert len(alerts) == 1


def test_the_table_has_a_row_for_each_kinesis_source(monitor: KinesisMonitor) -> None:
    monitor.observe(progress(61, subscriptionsLive=2, callsThrottled=3))
    monitor.observe(progress(1, query="q-2"))
    table = monitor.table()
    assert table.row_count == 2
    shown = monitor._repr_html_()
    for text in ("name of q-1", "name of q-2", "orders", "0:01:01", "polling"):
        assert text in shown
    with pytest.raises(ValueError, match="Name one of the queries: name of q-1, name of q-2"):
        monitor.samples()
    assert len(monitor.samples("q-2")) == len(monitor.samples("name of q-2")) == 1


def test_the_plot_has_lag_rate_and_batch_time(monitor: KinesisMonitor) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    for batch in range(3):
        monitor.observe(progress(batch, batch))
    lag, rate, time = monitor.plot()
    drawn: list[Any] = [axes.lines[0].get_ydata() for axes in (lag, rate, time)]
    assert [list(line) for line in drawn] == [[0, 1, 2], [50] * 3, [2] * 3]


def test_a_time_that_is_none_is_refused(monitor: KinesisMonitor) -> None:
    with pytest.raises(InvalidOptionError, match="above='soon'"):
        monitor.on_lag("soon", "5 minutes", print)


def test_a_running_query_is_watched_and_forgotten_when_it_ends(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    kinesis.put_records("events", [Record(f"key-{n}", b"data") for n in range(30)])
    monitor = kinesis_spark.KinesisMonitor(spark)
    try:
        writer = read_stream(spark, kinesis.options("events")).writeStream.format("noop").queryName("watched")
        query = writer.option("checkpointLocation", str(tmp_path)).start()
        until(lambda: sum(sample.rows for sample in monitor.samples("watched")) == 30, query)
        (sample, *_) = monitor.samples("watched")
        assert sample.sources[0].streams == ("events",)
        assert sample.sources[0].metrics["shardsOpen"] == 2
        query.stop()
        assert query.awaitTermination(PATIENCE_S)
    finally:
        monitor.stop()
