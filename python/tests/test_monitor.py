"""KinesisMonitor: samples and alerts of progress with a driven clock, and of a query that runs."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import threading
import tracemalloc
from datetime import datetime, timedelta, timezone
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any, cast

import pytest
from patience import PATIENCE_S, until
from programs import connect_path, output
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress
from rich.table import Table

import kinesis_spark
from kinesis_spark import InvalidOptionError, LocalKinesis, Record, read_stream
from kinesis_spark.monitor import Alert, KinesisMonitor, _listener


class Clock:
    """Seconds that a test lets pass."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


START = datetime(2026, 1, 31, 8, tzinfo=timezone.utc)
ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
OFFSET = {"version": 1, "streams": {ARN: {"created": 1, "shards": {}}}}


def details(lag_s: float, trigger_s: int = 0, shards: int = 2, **live: int) -> str:
    counted = {"throttled": 3, "reread": 7}
    lag = int(lag_s * 1000)
    one = {
        "stream": 0,
        "shard": "shardId-1",
        "executor": "1",
        "millisBehindLatest": lag,
        "records": 60,
        "bytes": 5,
        **counted,
    }
    others = [
        {**one, "shard": f"shardId-{n}", "executor": None, "millisBehindLatest": None, "records": 40}
        for n in (0, *range(2, shards))
    ]
    return json.dumps(
        {
            "triggerMillis": trigger_s * 1000,
            "streams": [
                {"stream": ARN, "shards": 2, "millisBehindLatest": lag, "records": 100, "bytes": 9, **counted, **live}
            ],
            "executors": [{"executor": "1", "host": "host-1", "shards": 2, "buffer": 1 << 20, **counted, **live}],
            "shards": {name: [shard[name] for shard in (one, *others)] for name in one},
        }
    )


def progress(
    lag_s: float, batch: int = 0, query: str = "q-1", shown: str | None = None, **metrics: int
) -> dict[str, Any]:
    shown = shown or details(lag_s)
    known = {"maxMillisBehindLatest": int(lag_s * 1000), "shardsOpen": 2, "details": shown, **metrics}
    source = {"endOffset": OFFSET, "metrics": {name: str(value) for name, value in known.items()}}
    return {
        "id": query,
        "name": f"name of {query}",
        "batchId": batch,
        "timestamp": (START + batch * timedelta(seconds=4)).isoformat(),
        "numInputRows": 100,
        "processedRowsPerSecond": 50.0,
        "durationMs": {"triggerExecution": 2000},
        "sources": [{"endOffset": {"topic": 1}, "metrics": {}}, source],
    }


def reported(monitor: KinesisMonitor, lag_s: float) -> None:
    monitor.observe(progress(lag_s))
    monitor.check()


def of_run(run: str, lag_s: float, batch: int = 0) -> dict[str, Any]:
    return progress(lag_s, batch) | {"runId": run}


def event(run: str, **more: object) -> Any:  # noqa: ANN401
    """An event of a listener."""
    return SimpleNamespace(id="q-1", runId=run, **more)


# What a listener asks for the last progress of an idle query.
_NO_SESSION: Any = SimpleNamespace(streams=SimpleNamespace(get=lambda _: None))


class ConnectSession:
    """A session of Spark Connect, as far as the monitor asks it: the queries that run, until its server is gone."""

    __module__ = "pyspark.sql.connect.session"

    def __init__(self, *queries: ConnectQuery) -> None:
        self.queries = list(queries)
        self.streams = self
        self.is_gone, self.asked_in_vain, self.fails = (threading.Event() for _ in range(3))

    @property
    def active(self) -> list[ConnectQuery]:
        if self.is_gone.is_set():
            # As PySpark's client, which tries for minutes before it fails.
            self.asked_in_vain.set()
            self.fails.wait(PATIENCE_S)
            raise ConnectionError("no server")
        return list(self.queries)


class ConnectQuery:
    """A run of a query of Spark Connect."""

    def __init__(self, run: str, failure: str | None = None, name: str = "orders") -> None:
        self.id = "q-1" if name == "orders" else f"id of {name}"
        self.runId, self.name = run, name
        self.isActive = True
        self.failure = failure
        self.status = {"isDataAvailable": False}
        self.progress: list[dict[str, Any]] = []
        # The calls that the server refuses.
        self.refused: set[str] = set()

    @property
    def recentProgress(self) -> list[dict[str, Any]]:  # noqa: N802  (Spark's name)
        if "recentProgress" in self.refused:
            raise ConnectionError("the answer is too large")
        return list(self.progress)

    @property
    def lastProgress(self) -> dict[str, Any] | None:  # noqa: N802
        if "lastProgress" in self.refused:
            raise ConnectionError("no such query")
        return self.progress[-1] if self.progress else None

    def reports(self, batch: int, *, at_s: float, idle: bool = False) -> None:
        durations = {"triggerExecution": 20} if idle else {"addBatch": 10, "triggerExecution": 20}
        timestamp = (START + timedelta(seconds=at_s)).isoformat()
        report = progress(5, batch, query=self.id) | {"runId": self.runId}
        self.progress.append(report | {"durationMs": durations, "timestamp": timestamp})

    def exception(self) -> str | None:
        return self.failure


def of_connect(session: ConnectSession, clock: Clock) -> KinesisMonitor:
    return KinesisMonitor(cast("Any", session), clock)


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The monitor's threads do nothing, so that a test fetches and checks."""
    monkeypatch.setattr("kinesis_spark.monitor._LOOK_S", PATIENCE_S)


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
        reported(monitor, 90)
    assert alerts == []
    for clock.now in range(300, 600, 10):
        reported(monitor, 90)
    (alert,) = alerts
    assert (alert.kind, alert.query, alert.lag) == ("lag", "name of q-1", timedelta(seconds=90))
    assert "0:01:30 behind" in alert.message
    reported(monitor, 10)
    for clock.now in range(600, 901, 10):
        reported(monitor, 61)
    assert len(alerts) == 2


def test_a_lag_that_passes_in_time_is_not_reported(monitor: KinesisMonitor, clock: Clock) -> None:
    alerts: list[Alert] = []
    monitor.on_lag(above="1 minute", lasting="5 minutes", call=alerts.append)
    for clock.now in range(0, 3000, 10):
        reported(monitor, 90 if clock.now % 200 else 10)
    assert alerts == []


def test_a_stall_of_a_query_that_kept_up_is_reported_within_ten_seconds_of_its_lag(
    monitor: KinesisMonitor, clock: Clock
) -> None:
    alerts: list[Alert] = []
    monitor.on_lag(above="10 seconds", lasting="1 second", call=alerts.append)
    reported(monitor, 0)
    while not alerts:
        clock.now += 1
        monitor.check()
    assert clock.now <= 20
    assert alerts[0].lag == timedelta(seconds=clock.now)


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


@pytest.mark.parametrize(("idle_lag_s", "kinds"), [(0, []), (120, ["lag"])])
def test_an_idle_query_is_reported_by_the_lag_of_its_latest_progress_which_is_no_batch(
    monitor: KinesisMonitor, clock: Clock, idle_lag_s: float, kinds: list[str]
) -> None:
    alerts: list[Alert] = []
    monitor.on_lag(above="1 minute", lasting="5 minutes", call=alerts.append)
    monitor.observe(progress(10 if idle_lag_s else 90))
    for clock.now in range(10, 600, 10):
        monitor.idle("q-1", progress(idle_lag_s, batch=1))
        monitor.check()
    assert [a.kind for a in alerts] == kinds
    assert [sample.batch for sample in monitor.samples()] == [0]
    assert str(timedelta(seconds=idle_lag_s)) in monitor._repr_html_()


def test_a_query_that_is_idle_from_its_start_is_reported_by_its_lag(monitor: KinesisMonitor, clock: Clock) -> None:
    alerts: list[Alert] = []
    monitor.on_lag(above="1 minute", lasting="1 minute", call=alerts.append)
    monitor.started("q-1", "orders")
    for clock.now in range(0, 200, 10):
        monitor.idle("q-1", progress(90))
        monitor.check()
    assert [a.kind for a in alerts] == ["lag"]
    assert monitor.samples() == []


def test_a_query_that_fails_is_reported_once_with_its_name_and_exception(monitor: KinesisMonitor, clock: Clock) -> None:
    alerts: list[Alert] = []
    monitor.on_failure(alerts.append).on_no_progress("1 minute", print).on_lag("1 minute", "1 minute", print)
    monitor.started("q-1", "orders")
    monitor.observe(progress(5))
    monitor.ended("q-1", "KinesisException: no access\n\tat line 1")
    # Nothing of it is said a second time, nor that it makes no progress.
    for clock.now in range(0, 1000, 10):
        monitor.check()
    (alert,) = alerts
    assert (alert.kind, alert.query, alert.exception) == (
        "failure",
        "orders",
        "KinesisException: no access\n\tat line 1",
    )
    assert alert.message == "Query orders failed: KinesisException: no access"


def test_a_query_that_fails_before_its_first_batch_is_reported(monitor: KinesisMonitor) -> None:
    alerts: list[Alert] = []
    monitor.on_failure(alerts.append)
    monitor.started("q-1", None)
    monitor.ended("q-1", "no such stream")
    monitor.check()
    assert [(a.query, a.message) for a in alerts] == [("q-1", "Query q-1 failed: no such stream")]


def test_a_query_that_is_stopped_is_not_reported_as_failed(monitor: KinesisMonitor) -> None:
    monitor.on_failure(print)
    monitor.observe(progress(5))
    monitor.ended("q-1")
    assert monitor.check() == []


def test_a_failed_query_keeps_its_samples_and_its_place_in_the_tables_until_it_runs_again(
    monitor: KinesisMonitor,
) -> None:
    monitor.observe(progress(5))
    monitor.ended("q-1", "no access")
    assert len(monitor.samples()) == 1
    assert "Query name of q-1 failed: no access" in monitor._repr_html_()
    monitor.observe(progress(5, query="q-2"))
    assert len(monitor.samples("name of q-1")) == 1
    monitor.started("q-1", "name of q-1")
    assert monitor.samples("name of q-1") == []
    assert "failed" not in monitor._repr_html_()


def test_a_run_that_fails_is_reported_though_the_next_run_has_started_and_doesn_t_end_it(
    monitor: KinesisMonitor, clock: Clock
) -> None:
    alerts: list[Alert] = []
    monitor.on_failure(alerts.append).on_no_progress("1 minute", alerts.append)
    listener: Any = _listener(monitor, _NO_SESSION)
    # Spark reports a start at once, and an end once its listeners are at it.
    listener.onQueryStarted(event("r-1", name="orders"))
    listener.onQueryProgress(of_run("r-1", 5))
    listener.onQueryStarted(event("r-2", name="orders"))
    listener.onQueryProgress(of_run("r-1", 5, batch=1))
    assert monitor.samples() == []
    listener.onQueryProgress(of_run("r-2", 5, batch=1))
    listener.onQueryTerminated(event("r-1", exception="no access"))
    monitor.check()
    assert [(a.kind, a.query, a.exception) for a in alerts] == [("failure", "orders", "no access")]
    assert [sample.batch for sample in monitor.samples()] == [1]
    assert "failed" not in monitor._repr_html_()
    # A late report of the first run is none of the second.
    clock.now = 61
    listener.onQueryIdle(event("r-1"))
    monitor.check()
    assert [a.kind for a in alerts] == ["failure", "no progress"]
    listener.onQueryTerminated(event("r-2", exception="no stream"))
    monitor.check()
    assert [a.exception for a in alerts if a.kind == "failure"] == ["no access", "no stream"]


def test_a_run_that_is_stopped_after_the_next_has_started_is_not_reported(monitor: KinesisMonitor) -> None:
    monitor.on_failure(print)
    for run in ("r-1", "r-2"):
        monitor.started("q-1", "orders", run)
        monitor.observe(of_run(run, 5))
    monitor.ended("q-1", None, "r-1")
    assert monitor.check() == []
    assert len(monitor.samples("q-1")) == 1


def test_a_failed_run_of_another_source_is_not_reported_though_its_report_came_late(monitor: KinesisMonitor) -> None:
    monitor.on_failure(print)
    monitor.started("q-1", "other", "r-1")
    monitor.started("q-1", "other", "r-2")
    monitor.observe(of_run("r-1", 5) | {"sources": [{"endOffset": {"topic": 1}, "description": "RateStream"}]})
    monitor.ended("q-1", "no access", "r-1")
    assert monitor.check() == []


def test_the_latest_failed_queries_are_kept(monitor: KinesisMonitor) -> None:
    for number in range(100):
        monitor.observe(progress(5, query=f"q-{number}"))
        monitor.ended(f"q-{number}", "no access")
    assert [len(monitor.samples(f"q-{number}")) for number in (0, 89, 90, 99)] == [0, 0, 1, 1]


def test_a_query_whose_first_batch_never_ends_is_reported(monitor: KinesisMonitor, clock: Clock) -> None:
    alerts: list[Alert] = []
    monitor.on_no_progress(lasting="5 minutes", call=alerts.append)
    monitor.on_lag(above="1 minute", lasting="5 minutes", call=alerts.append)
    monitor.started("q-1", "orders")
    for clock.now in range(0, 700, 10):
        monitor.check()
    assert [(a.kind, a.query) for a in alerts] == [("no progress", "orders"), ("lag", "orders")]
    assert alerts[0].message == "Query orders has completed no micro-batch since it started 0:05:00 ago"


def test_a_query_with_a_trigger_of_ten_minutes_is_reported_only_when_its_batch_is_overdue(
    monitor: KinesisMonitor, clock: Clock
) -> None:
    alerts: list[Alert] = []
    monitor.on_no_progress(lasting="2 minutes", call=alerts.append)
    monitor.on_lag(above="1 minute", lasting="1 minute", call=alerts.append)
    for clock.now in range(0, 3600, 10):
        if clock.now % 600 == 0:
            monitor.observe(progress(1, batch=int(clock.now), shown=details(1, trigger_s=600)))
        monitor.check()
    assert alerts == []
    for clock.now in range(3600, 3800, 10):
        monitor.check()
    assert {a.kind for a in alerts} == {"no progress", "lag"}
    assert all(a.lag < timedelta(minutes=3) for a in alerts)


def test_a_query_of_another_source_is_not_reported(monitor: KinesisMonitor, clock: Clock) -> None:
    monitor.on_no_progress(lasting="1 minute", call=print).on_failure(print)
    monitor.started("q-1", "other")
    monitor.observe({**progress(5), "sources": [{"endOffset": {"topic": 1}, "description": "RateStream"}]})
    clock.now = 1000
    assert monitor.check() == []
    monitor.ended("q-1", "no access")
    assert monitor.check() == []


def test_a_query_of_another_source_that_is_idle_from_its_start_is_not_reported(monitor: KinesisMonitor) -> None:
    monitor.on_failure(print)
    monitor.started("q-1", "other")
    monitor.idle("q-1", {**progress(5), "sources": [{"endOffset": {"topic": 1}, "description": "RateStream"}]})
    monitor.ended("q-1", "no access")
    assert monitor.check() == []


def test_a_query_s_samples_take_less_than_16_mib_however_long_it_runs(monitor: KinesisMonitor) -> None:
    report = progress(5, shown=details(5, shards=50))
    report["sources"][1]["metrics"].update({f"metric{n}": str(n << 20) for n in range(30)})
    given = json.dumps(report)
    tracemalloc.start()
    try:
        for _ in range(4500):
            monitor.observe(given)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    samples = monitor.samples()
    assert held < 16 << 20
    # What the tables and checks of the present read is all there; what the plot draws, for hours.
    assert {len(sample.sources[0].by_shard) for sample in samples[-100:]} == {50}
    assert {len(sample.sources[0].by_stream) for sample in samples} == {1}
    assert len(samples) >= 4000


def test_a_callback_that_fails_stops_no_other(monitor: KinesisMonitor, clock: Clock) -> None:
    alerts: list[Alert] = []

    def fail(_: Alert) -> None:
        raise RuntimeError("no network")

    monitor.on_no_progress("1s", fail).on_no_progress("1s", alerts.append)
    monitor.observe(progress(0))
    clock.now = 2
    monitor.check()
    assert len(alerts) == 1


def rows_of(table: Table) -> list[tuple[str, ...]]:
    return list(zip(*([str(cell) for cell in column.cells] for column in table.columns), strict=True))


def test_the_tables_show_streams_shards_and_executors_of_each_query(monitor: KinesisMonitor, clock: Clock) -> None:
    monitor.observe(progress(61, bufferedBytes=1 << 20))
    monitor.observe(progress(61, batch=1, bufferedBytes=1 << 20))
    monitor.observe(progress(1, query="q-2"))
    streams, shards, executors = map(rows_of, monitor.tables())
    assert [row[:2] for row in streams] == [("name of q-1", "orders"), ("name of q-2", "orders")]
    # 100 records in the 4 seconds from batch to batch.
    assert streams[0][2:] == ("0:01:01", "25", "50", "2.0 s", "2", "polling", "3", "7", "1 MiB")
    assert shards[0] == ("name of q-1", "orders", "shardId-1", "1", "0:01:01", "15", "polling", "3", "7")
    assert shards[1] == ("name of q-1", "orders", "shardId-0", "none", "", "10", "polling", "3", "7")
    assert executors[0] == ("name of q-1", "1", "host-1", "2", "polling", "3", "7", "1 MiB")
    assert [table.row_count for table in monitor.tables(shards=1)] == [2, 2, 2]
    assert "name of q-2" in monitor._repr_html_()
    clock.now = 60
    assert list(monitor.tables()[0].columns[2].cells) == ["0:02:01", "0:01:01"]


@pytest.mark.parametrize("name", ["[/x]", "orders [prod]", "orders :boom:"])
def test_the_tables_show_the_name_of_a_query_as_it_is(
    monitor: KinesisMonitor, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monitor.observe(progress(1) | {"name": name})
    monitor.show()
    # In each row of the three tables.
    assert capsys.readouterr().out.count(name) == 4


@pytest.mark.parametrize("width", [80, 200])
def test_lag_and_shard_are_on_one_line_in_each_terminal(
    monitor: KinesisMonitor, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monitor.observe(progress(61))
    monitor.show()
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "shardId-1" in line]
    assert "0:01:01" in line


def test_the_live_table_has_what_was_reported_while_it_was_shown(
    monitor: KinesisMonitor, capsys: pytest.CaptureFixture[str]
) -> None:
    with monitor.live():
        monitor.observe(progress(61))
    printed = capsys.readouterr().out
    assert "0:01:01" in printed
    assert "No query of this session has reported" not in printed


def test_the_tables_say_so_before_any_query_has_reported(monitor: KinesisMonitor) -> None:
    assert "No query of this session has reported" in monitor._repr_html_()


def test_progress_of_spark_connect_has_its_figures_by_source_alone(monitor: KinesisMonitor) -> None:
    given = progress(1)
    source = {**given["sources"][1], "numInputRows": 100, "processedRowsPerSecond": 50.0}
    other = {**given["sources"][0], "numInputRows": 1, "processedRowsPerSecond": None}
    monitor.observe({**given, "numInputRows": None, "processedRowsPerSecond": None, "sources": [other, source]})
    (sample,) = monitor.samples()
    assert (sample.rows, sample.rows_per_second) == (101, 50)


def test_queries_are_named_where_there_are_several(monitor: KinesisMonitor) -> None:
    for query in ("q-1", "q-2"):
        monitor.observe(progress(0, query=query))
    with pytest.raises(ValueError, match="Name one of the queries: name of q-1, name of q-2"):
        monitor.samples()
    assert len(monitor.samples("q-2")) == len(monitor.samples("name of q-2")) == 1


def test_subscriptions_are_shown_as_live_or_waiting(monitor: KinesisMonitor) -> None:
    found = json.loads(details(1, subscribed=1))
    found["shards"]["subscribed"] = [True, False]
    source = {"endOffset": OFFSET, "metrics": {"details": json.dumps(found)}}
    monitor.observe({**progress(1), "sources": [source]})
    streams, shards, executors = monitor.tables()
    assert [list(t.columns[n].cells) for t, n in ((streams, 7), (shards, 6), (executors, 4))] == [
        ["1"],
        ["live", "waiting"],
        ["1"],
    ]


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
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What would ask the JVM for each value of a progress.
    monkeypatch.delattr(StreamingQueryProgress, "fromJObject")
    kinesis.put_records("events", [Record(f"key-{n}", b"data") for n in range(30)])
    monitor = kinesis_spark.KinesisMonitor(spark)
    try:
        writer = read_stream(spark, kinesis.options("events")).writeStream.format("noop").queryName("watched")
        query = writer.option("checkpointLocation", str(tmp_path)).start()
        until(lambda: sum(sample.rows for sample in monitor.samples("watched")) == 30, query)
        (sample, *_) = monitor.samples("watched")
        assert sample.sources[0].streams == ("events",)
        source = sample.sources[0]
        assert source.metrics["shardsOpen"] == 2
        assert [(stream.stream, stream.shards) for stream in source.by_stream] == [("events", 2)]
        assert {shard.executor for shard in source.by_shard} == {"driver"}
        assert [executor.shards for executor in source.by_executor] == [2]
        query.stop()
        assert query.awaitTermination(PATIENCE_S)
    finally:
        monitor.stop()


def test_a_query_all_of_whose_reads_fail_is_reported_as_behind_though_it_runs_no_batch(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    kinesis.put_records("events", [Record(f"key-{n}", b"data") for n in range(30)])
    spark.conf.set("spark.sql.streaming.noDataProgressEventInterval", "1000")
    alerts: SimpleQueue[Alert] = SimpleQueue()
    monitor = kinesis_spark.KinesisMonitor(spark)
    try:
        writer = read_stream(spark, kinesis.options("events")).writeStream.format("noop").queryName("refused")
        query = writer.option("checkpointLocation", str(tmp_path)).start()
        until(lambda: sum(sample.rows for sample in monitor.samples("refused")) == 30, query)
        kinesis.add_fault("ProvisionedThroughputExceededException", action="GetRecords")
        monitor.on_lag(above="15 seconds", lasting="1 second", call=alerts.put)
        alert = alerts.get(timeout=PATIENCE_S)
        assert (alert.kind, alert.query) == ("lag", "refused")
        assert query.isActive
        query.stop()
    finally:
        spark.conf.unset("spark.sql.streaming.noDataProgressEventInterval")
        monitor.stop()


def test_a_query_that_fails_in_its_first_batch_is_reported_with_what_it_failed_with(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    kinesis.put_records("events", [Record("key", b"data")])
    alerts: SimpleQueue[Alert] = SimpleQueue()
    monitor = kinesis_spark.KinesisMonitor(spark).on_failure(alerts.put)

    def fail(_: object, __: int) -> None:
        raise RuntimeError("the sink is full")

    try:
        writer = read_stream(spark, kinesis.options("events")).writeStream.foreachBatch(fail).queryName("fails")
        writer.option("checkpointLocation", str(tmp_path)).start()
        alert = alerts.get(timeout=PATIENCE_S)
        assert (alert.kind, alert.query) == ("failure", "fails")
        assert "the sink is full" in str(alert.exception)
    finally:
        monitor.stop()


def test_a_first_batch_that_never_ends_is_reported_though_the_query_ran_before_the_monitor(
    spark: SparkSession, kinesis: LocalKinesis, tmp_path: Path
) -> None:
    kinesis.put_records("events", [Record("key", b"data")])
    alerts: SimpleQueue[Alert] = SimpleQueue()
    goes_on = threading.Event()

    def stand_still(_: object, __: int) -> None:
        goes_on.wait(PATIENCE_S)

    writer = read_stream(spark, kinesis.options("events")).writeStream.foreachBatch(stand_still).queryName("hangs")
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    monitor = kinesis_spark.KinesisMonitor(spark)
    try:
        monitor.on_no_progress("2 seconds", alerts.put)
        message = alerts.get(timeout=PATIENCE_S).message
        assert "Query hangs has completed no micro-batch since it started" in message
    finally:
        goes_on.set()
        query.stop()
        monitor.stop()


def test_alerts_continue_while_the_server_of_spark_connect_does_not_answer(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinesis_spark.monitor._LOOK_S", 0.01)
    monkeypatch.setattr("kinesis_spark.monitor._STOP_S", 0.1)
    alerts: SimpleQueue[Alert] = SimpleQueue()
    before = set(threading.enumerate())
    session = ConnectSession(ConnectQuery("r-1"))
    session.queries[0].reports(0, at_s=0)
    monitor = of_connect(session, clock).on_no_progress("1 minute", alerts.put)
    watching = set(threading.enumerate()) - before
    try:
        until(lambda: bool(monitor.samples()), cast("Any", session.queries[0]))
        session.is_gone.set()
        assert session.asked_in_vain.wait(PATIENCE_S)
        clock.now = 61
        alert = alerts.get(timeout=PATIENCE_S)
        assert (alert.kind, alert.query) == ("no progress", "orders")
    finally:
        # While the server is still asked.
        monitor.stop()
        session.fails.set()
    for thread in watching:
        thread.join(PATIENCE_S)
    assert [thread.name for thread in watching if thread.is_alive()] == []


@pytest.mark.usefixtures("by_hand")
def test_a_query_of_spark_connect_that_fails_and_starts_again_between_two_lists_is_reported(clock: Clock) -> None:
    alerts: list[Alert] = []
    first, second, third = ConnectQuery("r-1", "no access"), ConnectQuery("r-2"), ConnectQuery("r-3")
    session = ConnectSession(first)
    monitor = of_connect(session, clock).on_failure(alerts.append)
    try:
        first.reports(0, at_s=0)
        for session.queries in ([first], [second]):
            fetch(monitor)
        assert [(a.kind, a.query, a.exception) for a in alerts] == [("failure", "orders", "no access")]
        second.reports(1, at_s=10)
        fetch(monitor)
        assert [sample.batch for sample in monitor.samples("orders")] == [1]
        # The second was stopped.
        session.queries = [third]
        fetch(monitor)
        assert len(alerts) == 1
    finally:
        monitor.stop()


@pytest.mark.usefixtures("by_hand")
def test_a_progress_of_spark_connect_without_a_batch_is_that_of_an_idle_query(clock: Clock) -> None:
    query = ConnectQuery("r-1")
    monitor = of_connect(ConnectSession(query), clock)
    batches: list[list[int]] = []
    try:
        # An idle query's report has the number of the batch that follows.
        for reported in ([(0, 0, False)], [(1, 10, True)], [(1, 20, True)], [(1, 21, False), (2, 22, False)]):
            for batch, at_s, idle in reported:
                query.reports(batch, at_s=at_s, idle=idle)
            fetch(monitor)
            batches.append([sample.batch for sample in monitor.samples()])
    finally:
        monitor.stop()
    assert batches == [[0], [0], [0], [0, 1, 2]]


@pytest.mark.usefixtures("by_hand")
def test_a_query_of_spark_connect_that_hangs_is_reported_though_no_data_is_available(clock: Clock) -> None:
    query = ConnectQuery("r-1")
    monitor = of_connect(ConnectSession(query), clock).on_no_progress("1 minute", print)
    try:
        query.reports(0, at_s=0)
        fetch(monitor)
        for clock.now in range(10, 60, 10):
            assert fetch(monitor) == []
        clock.now = 61
        assert [(alert.kind, alert.query) for alert in fetch(monitor)] == [("no progress", "orders")]
    finally:
        monitor.stop()


@pytest.mark.usefixtures("by_hand")
def test_a_query_of_spark_connect_whose_progress_is_refused_hides_no_other_and_is_logged_once(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    refused, other = ConnectQuery("r-1", name="refused"), ConnectQuery("r-2")
    refused.refused = {"lastProgress"}
    monitor = of_connect(ConnectSession(refused, other), clock)
    try:
        for batch in range(3):
            other.reports(batch, at_s=batch)
            fetch(monitor)
        assert len(monitor.samples("orders")) == 3
        warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert warnings == ["progress of query refused could not be fetched"]
    finally:
        monitor.stop()


@pytest.mark.usefixtures("by_hand")
def test_of_a_query_of_spark_connect_whose_recent_progress_is_refused_the_newest_report_is_taken(clock: Clock) -> None:
    query = ConnectQuery("r-1")
    query.refused = {"recentProgress"}
    monitor = of_connect(ConnectSession(query), clock)
    try:
        for batch in (1, 4):
            query.reports(batch - 1, at_s=batch - 1)
            query.reports(batch, at_s=batch)
            fetch(monitor)
        assert [sample.batch for sample in monitor.samples()] == [1, 4]
    finally:
        monitor.stop()


def fetch(monitor: KinesisMonitor) -> list[Alert]:
    assert monitor._fetched is not None
    monitor._fetched.fetch()
    return monitor.check()


# A session of its own: a process has either a classic session or one of Spark Connect.
CONNECT = """
    import json, sys, tempfile, time
    from pyspark.sql import SparkSession
    from kinesis_spark import KinesisMonitor, LocalKinesis, Record, jars, read_stream

    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.jars", str(jars.connector_jar()))
        .config("spark.ui.enabled", "false")
        .config("spark.sql.streaming.noDataProgressEventInterval", "1000")
        .getOrCreate()
    )
    with LocalKinesis({"events": 2}) as kinesis, tempfile.TemporaryDirectory() as checkpoint:
        kinesis.put_records("events", [Record(f"key-{n}", b"data") for n in range(30)])
        monitor = KinesisMonitor(spark)
        idle = []
        monitor.idle, heard = lambda key, *of, **run: (idle.append(key), heard(key, *of, **run)), monitor.idle
        writer = read_stream(spark, kinesis.options("events")).writeStream.format("noop").queryName("watched")
        query = writer.option("checkpointLocation", checkpoint).start()
        deadline = time.monotonic() + 120
        while sum(sample.rows for sample in monitor.samples("watched")) < 30 or not idle:
            assert query.isActive and time.monotonic() < deadline, (query.exception(), monitor.samples())
            time.sleep(0.1)
        rows = [table.row_count for table in monitor.tables()]
        query.stop()
        while monitor.samples():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        failed = []
        monitor.on_failure(failed.append)
        poison = read_stream(spark, kinesis.options("events")).selectExpr("raise_error('poison')").writeStream
        with tempfile.TemporaryDirectory() as other:
            poison = poison.format("noop").queryName("fails").trigger(processingTime="5 seconds")
            poison.option("checkpointLocation", other).start()
            while not failed:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        monitor.stop()
    alert = [failed[0].query, "poison" in failed[0].exception]
    print(json.dumps({"session": type(spark).__module__, "rows": rows, "alert": alert}))
    spark.stop()
"""


@pytest.mark.slow
@pytest.mark.jvm
def test_a_query_of_spark_connect_is_watched_forgotten_when_it_is_stopped_and_reported_when_it_fails() -> None:
    environment = {**os.environ, "PYTHONPATH": connect_path()}
    command = [sys.executable, "-c", textwrap.dedent(CONNECT)]
    found = json.loads(output(command, timeout_s=PATIENCE_S, environment=environment).splitlines()[-1])
    assert "connect" in found["session"]
    assert found["rows"] == [1, 2, 1]
    assert found["alert"] == ["fails", True]
