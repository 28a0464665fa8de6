"""`KinesisMonitor`: lag, rates and trouble of running queries, live in a terminal or notebook, with alerts.

    monitor = KinesisMonitor(spark)
    monitor.on_lag(above="1 minute", lasting="5 minutes", call=page_somebody)
    monitor.on_no_progress(lasting="5 minutes", call=page_somebody)
    monitor.on_failure(call=page_somebody)
    monitor.show()

It knows what Spark's progress reports and asks Kinesis nothing, so it works with Spark Connect as well. It needs
rich for its tables, and matplotlib for `plot`.
"""

from __future__ import annotations

import io
import json
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from sys import intern
from typing import TYPE_CHECKING, Any, Literal, cast

from kinesis_spark import _monitor_tables
from kinesis_spark._declare import values
from kinesis_spark._kinds import MILLISECOND, duration
from kinesis_spark.jars import is_classic
from kinesis_spark.positions import offsets_of, progress_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryListener
    from rich.table import Table

AlertKind = Literal["lag", "no progress", "failure"]

_LOG = logging.getLogger(__name__)
_DURATION = duration(least=MILLISECOND)
# Half a day of micro-batches of ten seconds: some 10 MB.
_MOST_SAMPLES = 4320
# Of these, the latest have their shards and executors: fifty shards take 15 kB.
_MOST_DETAILED = 100
_MOST_FAILED = 10
# Runs that another has followed and whose end is still to be reported.
_MOST_EARLIER = 10
_LOOK_S = 1.0
_STOP_S = 10.0
# An idle query reports every ten seconds that it is, or with each trigger.
_LONGEST_SILENCE = timedelta(seconds=15)
_DETAILS = "details"
# As the connector's sources describe themselves in progress.
_DESCRIPTION = "KinesisSource["


@values
class StreamSample:
    """One stream of a source in a micro-batch.

    Attributes:
        stream: its name.
        arn: its ARN.
        shards: how many shards are read.
        lag: how far the shard that is furthest behind is from its newest record; None while nobody knows.
        records: how many records the batch has of it.
        throttled: calls that were refused because limits were used up, since the query started.
        reread: records that were read again because a buffer was lost, since the query started.
        subscribed: how many shards have an open subscription; None by polling.
    """

    stream: str
    arn: str
    shards: int
    lag: timedelta | None
    records: int
    throttled: int
    reread: int
    subscribed: int | None


@values
class ShardSample:
    """One shard of a source in a micro-batch.

    Attributes:
        stream: the stream's name.
        shard: the shard's id.
        executor: the id of the executor that reads it; None while nobody does.
        lag: how far it is behind its newest record; None while nobody knows.
        records: how many records the batch has of it.
        throttled: as for a stream.
        reread: as for a stream.
        subscribed: whether its subscription is open; None by polling.
    """

    stream: str
    shard: str
    executor: str | None
    lag: timedelta | None
    records: int
    throttled: int
    reread: int
    subscribed: bool | None


@values
class ExecutorSample:
    """One executor that reads for a source.

    Attributes:
        executor: its id.
        host: where it runs.
        shards: how many shards it reads.
        buffer: how many bytes its readers hold.
        throttled: as for a stream.
        reread: as for a stream.
        subscribed: how many subscriptions it has open; None by polling.
    """

    executor: str
    host: str
    shards: int
    buffer: int
    throttled: int
    reread: int
    subscribed: int | None


@values
class SourceSample:
    """What one Kinesis source of a query reported with a micro-batch.

    Attributes:
        streams: the names of its streams.
        metrics: the source's metrics, by name; docs/reference/metrics.md explains each.
        by_stream: its streams.
        by_shard: its shards; of more than fifty, those that are furthest behind, first those that have never reported.
            Only of the latest 100 samples.
        by_executor: the executors that read it. Only of the latest 100 samples.
        trigger: the time from one micro-batch to the next that the query's trigger asks for; 0 for the next as soon
            as possible.
    """

    streams: tuple[str, ...]
    metrics: Mapping[str, int]
    by_stream: tuple[StreamSample, ...] = ()
    by_shard: tuple[ShardSample, ...] = ()
    by_executor: tuple[ExecutorSample, ...] = ()
    trigger: timedelta = timedelta(0)

    @property
    def lag(self) -> timedelta:
        """How far the shard that is furthest behind is from its newest record."""
        return timedelta(milliseconds=self.metrics.get("maxMillisBehindLatest", 0))


@values
class Sample:
    """A micro-batch of a query.

    Attributes:
        at: when its report came, in seconds of the monitor's clock.
        time: when the batch began, as Spark reports it.
        batch: its number.
        rows: how many rows it read.
        rows_per_second: as Spark computes it, processed rows a second.
        batch_time: how long it took.
        interval: how long before it the batch before began; the batch time of the first.
        sources: its Kinesis sources.
    """

    at: float
    time: datetime
    batch: int
    rows: int
    rows_per_second: float
    batch_time: timedelta
    interval: timedelta
    sources: tuple[SourceSample, ...]

    @property
    def lag(self) -> timedelta:
        """The greatest lag of its sources."""
        return max((source.lag for source in self.sources), default=timedelta(0))


@values
class Alert:
    """Why a callback is called.

    Attributes:
        kind: `lag`, `no progress` or `failure`.
        query: the query's name, or its id.
        message: a sentence for people.
        lag: the query's lag; of one that doesn't report, it grows with time.
        lasting: for how long it has been so; 0 of a failure.
        exception: what a failed query ended with, as Spark reports it: messages, and often the stack; None otherwise.
    """

    kind: AlertKind
    query: str
    message: str
    lag: timedelta
    lasting: timedelta
    exception: str | None = None


@dataclass
class _Query:
    """A query that runs or has failed: its latest samples, and when it last reported or, before that, started.

    `run` is the id of its run: each start from its checkpoint is another. It is None while nobody has named it.

    `latest` is the sample of its last report, which may be that it is idle: then it is not one of `samples`.

    Before its first report nobody knows whether it reads from Kinesis, so it counts as one that does.
    """

    name: str
    seen: float
    run: str | None = None
    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=_MOST_SAMPLES))
    latest: Sample | None = None
    reads_kinesis: bool = True
    failure: str | None = None

    def is_of(self, run: str | None) -> bool:
        """Whether this is the run; one without a name is whichever is known."""
        return run is None or self.run is None or run == self.run

    def take(self, sample: Sample) -> None:
        """Take up its latest sample; one that has become old loses what only the present is looked at for."""
        self.latest = sample
        self.samples.append(sample)
        if len(self.samples) > _MOST_DETAILED:
            old = self.samples[-_MOST_DETAILED - 1]
            sources = tuple(replace(cast("Any", source), by_shard=(), by_executor=()) for source in old.sources)
            self.samples[-_MOST_DETAILED - 1] = replace(cast("Any", old), sources=sources)

    def due(self) -> float:
        """When its next report is due, by its trigger."""
        sources = self.latest.sources if self.latest else ()
        return self.seen + max((source.trigger for source in sources), default=timedelta(0)).total_seconds()

    def silence(self, now: float) -> timedelta:
        """For how long its report has been due, if that is longer than for an idle query."""
        silent = timedelta(seconds=now - self.due())
        return silent if silent > _LONGEST_SILENCE else timedelta(0)

    def reported_lag(self) -> timedelta:
        return self.latest.lag if self.latest else timedelta(0)

    def lag(self, now: float) -> timedelta:
        """Its lag: nobody knows of records that arrived after its last report."""
        return self.reported_lag() + self.silence(now)


@dataclass
class _Rule:
    """One call for each time that a query gets into a state and stays in it; `since` by query."""

    kind: AlertKind
    above: timedelta
    lasting: timedelta
    call: Callable[[Alert], object]
    since: dict[str, float] = field(default_factory=dict)
    fired: set[str] = field(default_factory=set)

    def due(self, key: str, query: _Query, now: float) -> Alert | None:
        """The alert, once, when the state has lasted long enough."""
        begun = self._begun(key, query, now)
        if begun is None:
            self.since.pop(key, None)
            self.fired.discard(key)
            return None
        begun = self.since.setdefault(key, begun)
        lasting = timedelta(seconds=now - begun)
        if lasting < self.lasting or key in self.fired:
            return None
        self.fired.add(key)
        lag = query.lag(now)
        return Alert(self.kind, query.name, self._message(query, lag, lasting), lag, lasting)

    def forget(self, key: str) -> None:
        self.since.pop(key, None)
        self.fired.discard(key)

    def _begun(self, key: str, query: _Query, now: float) -> float | None:
        if query.failure is not None or not query.reads_kinesis:
            return None
        due = query.due()
        if self.kind == "lag":
            if query.lag(now) <= self.above:
                return None
            ahead = self.above - query.reported_lag()
            return due + ahead.total_seconds() if ahead > timedelta(0) else query.seen
        if key in self.since and due != self.since[key]:
            self.forget(key)
        return due

    def _message(self, query: _Query, lag: timedelta, lasting: timedelta) -> str:
        whole = timedelta(seconds=int(lasting.total_seconds()))
        behind = timedelta(seconds=int(lag.total_seconds()))
        if not query.latest:
            return f"Query {query.name} has completed no micro-batch since it started {whole} ago"
        if self.kind == "lag":
            return (
                f"Query {query.name} is {behind} behind the newest record; it has been above {self.above} for {whole}"
            )
        return f"Query {query.name} has made no progress for {whole}; it is {behind} behind the newest record"


class KinesisMonitor:
    """Watches all queries of a session that read from Kinesis.

    In a classic session a listener brings each progress; in one of Spark Connect a thread of the monitor fetches it
    once a second. Alerts are called on another thread, so they continue while a server doesn't answer. Its methods may
    be called from any.
    """

    def __init__(self, spark: SparkSession | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin to watch.

        Args:
            spark: the session, classic or of Spark Connect; None to hand progress in by `observe`.
            clock: seconds, for tests.
        """
        self._spark = spark
        self._fetched = None if spark is None or is_classic(spark) else _Fetched(spark, self)
        self._clock = clock
        self._lock = threading.Lock()
        self._queries: dict[str, _Query] = {}
        # By run: those that another of their query has followed, until their end is reported.
        self._earlier: dict[str, _Query] = {}
        self._rules: list[_Rule] = []
        self._on_failure: list[Callable[[Alert], object]] = []
        self._failures: list[tuple[Callable[[Alert], object], Alert]] = []
        self._stopped = threading.Event()
        self._listener: StreamingQueryListener | None = None
        self._threads: list[threading.Thread] = []
        if self._fetched is not None:
            self._start()
        elif spark is not None:
            self._listener = _listener(self, spark)
            spark.streams.addListener(self._listener)
            for query in spark.streams.active:
                # The listener may know a later run.
                if str(query.id) not in self._queries:
                    self.started(str(query.id), query.name, str(query.runId))

    def on_lag(
        self, above: timedelta | str, lasting: timedelta | str, call: Callable[[Alert], object]
    ) -> KinesisMonitor:
        """Call a function when a query has been behind for some time; once, until it has caught up in between.

        Args:
            above: the lag, such as "1 minute".
            lasting: for how long it is to be greater, such as "5 minutes".
            call: what to call, with an `Alert`. What it raises is logged.

        Raises:
            InvalidOptionError: for a time that can't be right.
        """
        return self._add(_Rule("lag", _DURATION.read("above", above), _DURATION.read("lasting", lasting), call))

    def on_no_progress(self, lasting: timedelta | str, call: Callable[[Alert], object]) -> KinesisMonitor:
        """Call a function when a query has not reported for some time, neither a micro-batch nor that it is idle.

        A query that has not reported since it started counts as well.

        Args:
            lasting: for how long after its report was due by its trigger; longer than a micro-batch takes.
            call: as for `on_lag`.

        Raises:
            InvalidOptionError: for a time that can't be right.
        """
        return self._add(_Rule("no progress", timedelta(0), _DURATION.read("lasting", lasting), call))

    def on_failure(self, call: Callable[[Alert], object]) -> KinesisMonitor:
        """Call a function when a query ends with an exception; not when it is stopped.

        With Spark Connect, running queries are listed once a second: a run that starts and fails between two lists is
        not seen.

        Args:
            call: as for `on_lag`. The alert's `exception` is what the query ended with.
        """
        with self._lock:
            self._on_failure.append(call)
        return self._watched()

    def started(self, query: str, name: str | None, run: str | None = None) -> None:
        """Take up a query that starts. Another run of one that is known begins anew.

        Args:
            query: its id.
            name: its name, if it has one.
            run: the id of its run, `runId` for Spark.
        """
        with self._lock:
            self._running(query, name, run)

    def observe(self, progress: Any) -> None:  # noqa: ANN401  (Spark's progress, as an object, a dict or JSON)
        """Take up the progress of a micro-batch."""
        found = progress_of(progress)
        run, now = found.get("runId"), self._clock()
        with self._lock:
            query = self._running(found["id"], found.get("name"), None if run is None else str(run))
            query.seen = now
            sample = _sample(found, now, query.samples[-1] if query.samples else None)
            query.reads_kinesis = bool(sample.sources) or _is_described(found)
            if sample.sources:
                query.take(sample)

    def idle(self, query: str, progress: Any = None, run: str | None = None) -> None:  # noqa: ANN401  (as for `observe`)
        """Note that a query has reported that there is nothing to read.

        Args:
            query: its id.
            progress: its last progress, whose metrics count from now on. It is no micro-batch, so no sample is added.
            run: as for `started`. A report of a run that another has followed is ignored.
        """
        found, now = progress_of(progress), self._clock()
        with self._lock:
            known = self._queries.get(query)
            if known is None or not known.is_of(run):
                return
            known.seen = now
            if found["sources"]:
                sample = _sample(found, now, known.samples[-1] if known.samples else None)
                known.reads_kinesis = bool(sample.sources) or _is_described(found)
                known.latest = sample if sample.sources else known.latest

    def ended(self, query: str, exception: str | None = None, run: str | None = None) -> None:
        """Take up that a query has ended. One that failed keeps its samples until it starts again or ten others failed.

        Args:
            query: its id.
            exception: what it failed with; None for one that was stopped, which is forgotten.
            run: as for `started`. The end of a run that another has followed is reported and doesn't end the other.
        """
        with self._lock:
            known = self._queries.get(query)
            is_current = known is not None and known.is_of(run)
            if is_current:
                self._remove(query)
            found = known if is_current else self._earlier.pop(run or "", known)
            if found is None or exception is None or not found.reads_kinesis:
                return
            reason = _first_line(exception)
            message = f"Query {found.name} failed: {reason}"
            alert = Alert("failure", found.name, message, found.lag(self._clock()), timedelta(0), exception)
            self._failures += [(call, alert) for call in self._on_failure]
            if is_current:
                found.failure = reason
                self._queries[query] = found
                failed = [key for key, each in self._queries.items() if each.failure is not None]
                for key in failed[:-_MOST_FAILED]:
                    del self._queries[key]

    def check(self) -> list[Alert]:
        """Call what is due now, and return it. A thread of the monitor does this once a second."""
        now = self._clock()
        with self._lock:
            found = [
                (rule.call, rule.due(key, query, now)) for key, query in self._queries.items() for rule in self._rules
            ]
            due = self._failures + [(call, alert) for call, alert in found if alert is not None]
            self._failures = []
        for call, alert in due:
            try:
                call(alert)
            except Exception:  # noqa: BLE001  (a callback's failure must not end the others)
                _LOG.exception("alert callback failed: %s", alert.message)
        return [alert for _, alert in due]

    def samples(self, query: str | None = None) -> list[Sample]:
        """The latest micro-batches of a query, by its name or id; without, of the only one that has reported.

        At most 4,320 are kept of each query, and shards and executors of the latest 100 of these.
        """
        with self._lock:
            known = {key: q for key, q in self._queries.items() if q.samples}
            if query is None and len(known) > 1:
                raise ValueError(f"Name one of the queries: {', '.join(q.name for q in known.values())}")
            # The latest of several with this name: one that has failed may run again with another id.
            wanted = [q for key, q in known.items() if query in (None, key, q.name)]
            return list(wanted[-1].samples) if wanted else []

    def tables(self, shards: int = 20) -> list[Table]:
        """The queries as tables of rich: by stream, by shard (those that are furthest behind first) and by executor.

        Args:
            shards: how many shards to show of each source, 50 at most.
        """
        now = self._clock()
        with self._lock:
            running = [q for q in self._queries.values() if q.failure is None]
            latest = [(q.name, q.latest, q.silence(now)) for q in running if q.latest]
            failed = [(q.name, q.failure) for q in self._queries.values() if q.failure is not None]
        return _monitor_tables.of(latest, failed, shards)

    def show(self, shards: int = 20) -> None:
        """Print the tables once.

        Args:
            shards: as for `tables`.
        """
        from rich.console import Console

        Console().print(*self.tables(shards))

    @contextmanager
    def live(self, shards: int = 10) -> Iterator[None]:
        """Keep the tables up to date on the terminal, or in the notebook's cell, while the block runs.

        Args:
            shards: as for `tables`.
        """
        from rich.console import Group
        from rich.live import Live

        with Live(get_renderable=lambda: Group(*self.tables(shards)), refresh_per_second=1):
            yield

    def plot(self, query: str | None = None) -> list[Axes]:
        """Draw lag of each stream, rate and batch time of a query over time.

        Raises:
            ModuleNotFoundError: without matplotlib (`pip install matplotlib`).
        """
        from matplotlib import pyplot as plt

        samples = self.samples(query)
        times = [sample.time for sample in samples]
        lines: dict[str, dict[str, list[float]]] = {
            "lag (s)": _lags_by_stream(samples),
            "rows/s": {"": [sample.rows_per_second for sample in samples]},
            "batch time (s)": {"": [sample.batch_time.total_seconds() for sample in samples]},
        }
        figure, axes = plt.subplots(len(lines), sharex=True, figsize=(10, 7), layout="constrained")
        for where, (label, named) in zip(axes, lines.items()):
            for name, line in named.items():
                where.plot(times, line, label=name)
            where.set_ylabel(label)
            where.set_ylim(bottom=0)
            if len(named) > 1:
                where.legend()
        figure.autofmt_xdate()
        return list(axes)

    def stop(self) -> None:
        """End watching. A call to a server that doesn't answer is waited for 10 seconds at most."""
        self._stopped.set()
        if self._spark is not None and self._listener is not None:
            self._spark.streams.removeListener(self._listener)
        self._spark = None
        deadline = time.monotonic() + _STOP_S
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

    def _repr_html_(self) -> str:
        from rich.console import Console

        # Not as a notebook does it, which would show the tables at once, beside what is returned.
        console = Console(record=True, width=160, file=io.StringIO(), force_jupyter=False)
        console.print(*self.tables())
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")

    def _add(self, rule: _Rule) -> KinesisMonitor:
        with self._lock:
            self._rules.append(rule)
        return self._watched()

    def _watched(self) -> KinesisMonitor:
        if self._spark is not None:
            self._start()
        return self

    def _running(self, key: str, name: str | None, run: str | None) -> _Query:
        """The run that starts or reports: one that had failed runs again. The lock is held."""
        if run in self._earlier:
            return self._earlier[run]
        known = self._queries.get(key)
        if known is None or known.failure is not None or not known.is_of(run):
            if known is not None:
                self._remove(key)
                self._await_end(known)
            known = self._queries[key] = _Query(name or key, self._clock())
        known.run = known.run or run
        return known

    def _await_end(self, followed: _Query) -> None:
        """Keep a run that another has followed, as Spark may report its end later. The lock is held."""
        if followed.failure is None and followed.run is not None:
            followed.samples.clear()
            self._earlier[followed.run] = followed
            for run in list(self._earlier)[:-_MOST_EARLIER]:
                del self._earlier[run]

    def _remove(self, key: str) -> None:
        """Forget a query, and since when it has been in a rule's state. The lock is held."""
        del self._queries[key]
        for rule in self._rules:
            rule.forget(key)

    def _start(self) -> None:
        with self._lock:
            if self._threads:
                return
            self._threads.append(self._repeating("kinesis-monitor", self.check))
            if self._fetched is not None:
                self._threads.append(self._repeating("kinesis-monitor-fetch", self._fetched.fetch))
            for thread in self._threads:
                thread.start()

    def _repeating(self, name: str, what: Callable[[], object]) -> threading.Thread:
        def repeat() -> None:
            while not self._stopped.wait(_LOOK_S):
                what()

        return threading.Thread(target=repeat, name=name, daemon=True)


class _Fetched:
    """Fetches progress where no listener of this process hears it, as with Spark Connect. One thread calls it.

    What it knows is by run: a query that was started again has the same id.
    """

    def __init__(self, spark: SparkSession, monitor: KinesisMonitor) -> None:
        self._spark = spark
        self._monitor = monitor
        self._running: dict[str, Any] = {}
        self._last: dict[str, Any] = {}
        self._failing: set[str] = set()

    def fetch(self) -> None:
        """Take up what is new. A server that doesn't answer is asked again; alerts continue meanwhile."""
        try:
            running = {str(query.runId): query for query in self._spark.streams.active}
            for run in [run for run in self._running if run not in running]:
                query = self._running.pop(run)
                self._last.pop(run, None)
                self._failing.discard(run)
                self._monitor.ended(str(query.id), _exception(query), run)
            for run, query in running.items():
                self._monitor.started(str(query.id), query.name, run)
            self._running = running
        except Exception:  # noqa: BLE001  (whatever the client raises: there is no progress)
            _LOG.debug("the running queries could not be listed", exc_info=True)
            return
        for run, query in running.items():
            try:
                self._take(run, query)
            except Exception:  # noqa: BLE001  (the other queries have progress)
                if run not in self._failing:
                    _LOG.warning("progress of query %s could not be fetched", query.name or query.id, exc_info=True)
                self._failing.add(run)
            else:
                self._failing.discard(run)

    def _take(self, run: str, query: Any) -> None:  # noqa: ANN401  (a query of Spark Connect)
        newest = query.lastProgress
        if newest is None:
            return
        before = self._last.get(run)
        if before is None or newest["timestamp"] != before["timestamp"]:
            # A report that the query is idle has the number of the batch that follows.
            is_next = before is not None and newest["batchId"] <= before["batchId"] + _is_batch(before)
            for progress in [newest] if is_next else _recent(query, newest):
                if before is None or progress["timestamp"] > before["timestamp"]:
                    self._report(run, query, progress)
            self._last[run] = newest

    def _report(self, run: str, query: Any, progress: Any) -> None:  # noqa: ANN401
        if _is_batch(progress):
            self._monitor.observe(progress)
        else:
            self._monitor.idle(str(query.id), progress, run)


def _is_batch(progress: Mapping[str, Any]) -> bool:
    """Whether it reports a micro-batch. An idle query adds one every ten seconds, without a batch."""
    return "addBatch" in (progress["durationMs"] or {})


def _recent(query: Any, newest: Any) -> Any:  # noqa: ANN401  (progress of a query of Spark Connect)
    """Its latest progress. A hundred reports may be too much for one answer: then only the newest is known."""
    try:
        return query.recentProgress
    except Exception:  # noqa: BLE001  (whatever the client raises)
        _LOG.debug("recent progress of query %s could not be fetched", query.name or query.id, exc_info=True)
        return [newest]


def _exception(query: Any) -> str | None:  # noqa: ANN401  (a query of Spark Connect)
    try:
        found = query.exception()
    except Exception as unknown:  # noqa: BLE001  (whatever the client raises)
        return f"what it ended with could not be fetched: {unknown}"
    return None if found is None else str(found)


def _listener(monitor: KinesisMonitor, spark: SparkSession) -> StreamingQueryListener:
    """Hands Spark's events on. A failure here must not reach Spark's thread, which other listeners share."""
    # Only here, so that the package can be imported without PySpark.
    from pyspark import SparkContext
    from pyspark.sql.streaming.listener import JStreamingQueryListener, StreamingQueryListener

    class Events(JStreamingQueryListener):
        """As PySpark's own, which asks the JVM for each value of a progress: 0.1 s of its CPU for each batch."""

        def onQueryProgress(self, jevent: Any) -> None:  # noqa: ANN401, N802  (Spark's name)
            self.pylistener.onQueryProgress(jevent.progress().json())

    class Listener(StreamingQueryListener):
        @cached_property
        def _jlistener(self) -> Any:  # noqa: ANN401
            return SparkContext._jvm.PythonStreamingQueryListenerWrapper(Events(self))  # type: ignore[union-attr]  # noqa: SLF001

        def onQueryStarted(self, event: Any) -> None:  # noqa: ANN401, N802  (Spark's name)
            monitor.started(str(event.id), event.name, str(event.runId))

        def onQueryProgress(self, progress: Any) -> None:  # noqa: ANN401, N802
            try:
                monitor.observe(progress)
            except Exception:  # noqa: BLE001
                _LOG.exception("progress could not be taken up")

        def onQueryIdle(self, event: Any) -> None:  # noqa: ANN401, N802
            try:
                # Spark adds a progress to the query's own before it posts this event, which has none.
                query = spark.streams.get(str(event.id))
                monitor.idle(str(event.id), query and query.lastProgress, str(event.runId))
            except Exception:  # noqa: BLE001
                _LOG.exception("progress of an idle query could not be taken up")

        def onQueryTerminated(self, event: Any) -> None:  # noqa: ANN401, N802
            monitor.ended(str(event.id), event.exception, str(event.runId))

    return Listener()


def _sample(progress: dict[str, Any], now: float, before: Sample | None) -> Sample:
    durations = progress.get("durationMs") or {}
    began = datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00"))
    batch_time = timedelta(milliseconds=int(durations.get("triggerExecution", 0)))
    return Sample(
        at=now,
        time=began,
        batch=int(progress["batchId"]),
        rows=int(_sum(progress, "numInputRows")),
        rows_per_second=_sum(progress, "processedRowsPerSecond"),
        batch_time=batch_time,
        interval=batch_time if before is None else began - before.time,
        sources=tuple(_sources(progress)),
    )


def _is_described(progress: dict[str, Any]) -> bool:
    """Whether a source of this connector is named, which before its first micro-batch has no offset."""
    return any(str(source.get("description", "")).startswith(_DESCRIPTION) for source in progress["sources"])


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")


def _sum(progress: dict[str, Any], name: str) -> float:
    """A figure of all sources, which progress of Spark Connect has of each source alone."""
    total = progress.get(name)
    return float(sum(source.get(name) or 0 for source in progress["sources"]) if total is None else total)


def _sources(progress: dict[str, Any]) -> Iterator[SourceSample]:
    for number, offset in offsets_of(progress).items():
        metrics = progress["sources"][number].get("metrics") or {}
        streams = tuple(sorted(arn.rpartition("/")[2] for arn in json.loads(offset)["streams"]))
        # Interned, as each report is a text of its own and thousands are kept.
        numbers = {intern(name): int(value) for name, value in metrics.items() if str(value).lstrip("-").isdigit()}
        details = json.loads(metrics.get(_DETAILS) or "{}")
        trigger = timedelta(milliseconds=int(details.get("triggerMillis", 0)))
        yield SourceSample(streams, numbers, *_details(details), trigger)


def _details(
    found: Mapping[str, Any],
) -> tuple[tuple[StreamSample, ...], tuple[ShardSample, ...], tuple[ExecutorSample, ...]]:
    names = [intern(stream["stream"].rpartition("/")[2]) for stream in found.get("streams", ())]
    streams = (
        StreamSample(name, intern(s["stream"]), int(s["shards"]), _lag(s), *_counts(s), _number(s.get("subscribed")))
        for name, s in zip(names, found.get("streams", ()))
    )
    shards = (
        ShardSample(names[int(s["stream"])], s["shard"], s["executor"], _lag(s), *_counts(s), s.get("subscribed"))
        for s in _rows(found.get("shards", {}))
    )
    executors = (
        ExecutorSample(
            e["executor"],
            e["host"],
            int(e["shards"]),
            int(e["buffer"]),
            int(e["throttled"]),
            int(e["reread"]),
            _number(e.get("subscribed")),
        )
        for e in found.get("executors", ())
    )
    return tuple(streams), tuple(shards), tuple(executors)


def _rows(columns: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Of a table that is kept by column."""
    return (dict(zip(columns, row)) for row in zip(*columns.values()))


def _lag(found: Mapping[str, Any]) -> timedelta | None:
    return None if found["millisBehindLatest"] is None else timedelta(milliseconds=int(found["millisBehindLatest"]))


def _counts(found: Mapping[str, Any]) -> tuple[int, int, int]:
    return int(found["records"]), int(found["throttled"]), int(found["reread"])


def _number(found: float | None) -> int | None:
    return None if found is None else int(found)


def _lags_by_stream(samples: Sequence[Sample]) -> dict[str, list[float]]:
    """Lags in seconds by the stream's name; a stream that a sample doesn't know of has none there."""

    def lags(sample: Sample) -> dict[str, float]:
        streams = [stream for source in sample.sources for stream in source.by_stream]
        return {stream.stream: (stream.lag or timedelta(0)).total_seconds() for stream in streams}

    by_sample = [lags(sample) for sample in samples]
    names = dict.fromkeys(name for found in by_sample for name in found)
    return {name: [found.get(name, math.nan) for found in by_sample] for name in names}


__all__ = [
    "Alert",
    "AlertKind",
    "ExecutorSample",
    "KinesisMonitor",
    "Sample",
    "ShardSample",
    "SourceSample",
    "StreamSample",
]
