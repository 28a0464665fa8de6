"""`KinesisMonitor`: lag, rates and trouble of running queries, live in a terminal or notebook, with alerts.

    monitor = KinesisMonitor(spark)
    monitor.on_lag(above="1 minute", lasting="5 minutes", call=page_somebody)
    monitor.on_no_progress(lasting="5 minutes", call=page_somebody)
    monitor.show()

It knows what Spark's progress reports and asks Kinesis nothing, so it works with Spark Connect as well. It needs
`pip install kinesis-spark[monitor]` for its table, and matplotlib for `plot`.
"""

from __future__ import annotations

import io
import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql.streaming.listener import StreamingQueryListener

from kinesis_spark._kinds import duration
from kinesis_spark.positions import offsets_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pyspark.sql import SparkSession
    from rich.table import Table

AlertKind = Literal["lag", "no progress"]

_LOG = logging.getLogger(__name__)
_DURATION = duration()
# A day of micro-batches of ten seconds.
_MOST_SAMPLES = 8640
_LOOK_S = 1.0


@dataclass(frozen=True)
class SourceSample:
    """What one Kinesis source of a query reported with a micro-batch.

    Attributes:
        streams: the names of its streams.
        metrics: the source's metrics, by name; docs/reference/metrics.md explains each.
    """

    streams: tuple[str, ...]
    metrics: Mapping[str, int]

    @property
    def lag(self) -> timedelta:
        """How far the shard that is furthest behind is from its newest record."""
        return timedelta(milliseconds=self.metrics.get("maxMillisBehindLatest", 0))


@dataclass(frozen=True)
class Sample:
    """A micro-batch of a query.

    Attributes:
        at: when its report came, in seconds of the monitor's clock.
        time: when the batch began, as Spark reports it.
        batch: its number.
        rows: how many rows it read.
        rows_per_second: as Spark computes it, processed rows a second.
        batch_time: how long it took.
        sources: its Kinesis sources.
    """

    at: float
    time: datetime
    batch: int
    rows: int
    rows_per_second: float
    batch_time: timedelta
    sources: tuple[SourceSample, ...]

    @property
    def lag(self) -> timedelta:
        """The greatest lag of its sources."""
        return max((source.lag for source in self.sources), default=timedelta(0))


@dataclass(frozen=True)
class Alert:
    """Why a callback is called.

    Attributes:
        kind: `lag` or `no progress`.
        query: the query's name, or its id.
        message: a sentence for people.
        lag: the query's lag in its last micro-batch.
        lasting: for how long it has been so.
    """

    kind: AlertKind
    query: str
    message: str
    lag: timedelta
    lasting: timedelta


@dataclass
class _Query:
    """A running query: its latest samples, and since when it has been too slow."""

    name: str
    seen: float
    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=_MOST_SAMPLES))


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
        begun = self._begun(key, query)
        if begun is None:
            self.since.pop(key, None)
            self.fired.discard(key)
            return None
        begun = self.since.setdefault(key, begun)
        lasting = timedelta(seconds=now - begun)
        if lasting < self.lasting or key in self.fired:
            return None
        self.fired.add(key)
        lag = query.samples[-1].lag if query.samples else timedelta(0)
        return Alert(self.kind, query.name, self._message(query.name, lag, lasting), lag, lasting)

    def forget(self, key: str) -> None:
        self.since.pop(key, None)
        self.fired.discard(key)

    def _begun(self, key: str, query: _Query) -> float | None:
        if self.kind == "lag":
            slow = bool(query.samples) and query.samples[-1].lag > self.above
            return self.since.get(key, query.seen) if slow else None
        if key in self.since and query.seen != self.since[key]:
            self.forget(key)
        return query.seen

    def _message(self, name: str, lag: timedelta, lasting: timedelta) -> str:
        whole = timedelta(seconds=int(lasting.total_seconds()))
        if self.kind == "lag":
            return f"Query {name} is {lag} behind the newest record; it has been above {self.above} for {whole}"
        return f"Query {name} has made no progress for {whole}; it was {lag} behind the newest record"


class KinesisMonitor:
    """Watches all queries of a session that read from Kinesis.

    Reports come on a thread of Spark, alerts are called on a thread of the monitor. Its methods may be called from any.
    """

    def __init__(self, spark: SparkSession | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin to watch.

        Args:
            spark: the session, classic or of Spark Connect; None to hand progress in by `observe`.
            clock: seconds, for tests.
        """
        self._spark = spark
        self._clock = clock
        self._lock = threading.Lock()
        self._queries: dict[str, _Query] = {}
        self._rules: list[_Rule] = []
        self._stopped = threading.Event()
        self._listener = _Listener(self)
        self._watch: threading.Thread | None = None
        if spark is not None:
            spark.streams.addListener(self._listener)

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

        Args:
            lasting: for how long; longer than a micro-batch takes.
            call: as for `on_lag`.

        Raises:
            InvalidOptionError: for a time that can't be right.
        """
        return self._add(_Rule("no progress", timedelta(0), _DURATION.read("lasting", lasting), call))

    def observe(self, progress: Any) -> None:  # noqa: ANN401  (Spark's progress, as an object, a dict or JSON)
        """Take up the progress of a micro-batch; the listener calls it."""
        found = _as_dict(progress)
        now = self._clock()
        sample = _sample(found, now)
        with self._lock:
            query = self._queries.setdefault(found["id"], _Query(found.get("name") or found["id"], now))
            query.seen = now
            if sample.sources:
                query.samples.append(sample)
        self.check()

    def idle(self, query: str) -> None:
        """Note that a query has reported that there is nothing to read."""
        with self._lock:
            if query in self._queries:
                self._queries[query].seen = self._clock()

    def ended(self, query: str) -> None:
        """Forget a query."""
        with self._lock:
            self._queries.pop(query, None)
            for rule in self._rules:
                rule.forget(query)

    def check(self) -> list[Alert]:
        """Call what is due now, and return it. A thread of the monitor does this once a second."""
        now = self._clock()
        with self._lock:
            found = [(rule, rule.due(key, query, now)) for key, query in self._queries.items() for rule in self._rules]
        due = [(rule, alert) for rule, alert in found if alert is not None]
        for rule, alert in due:
            try:
                rule.call(alert)
            except Exception:  # noqa: BLE001  (a callback's failure must not end the others)
                _LOG.exception("alert callback failed: %s", alert.message)
        return [alert for _, alert in due]

    def samples(self, query: str | None = None) -> list[Sample]:
        """The micro-batches that have been seen of a query, by its name or id; of the only one without."""
        with self._lock:
            if query is None and len(self._queries) > 1:
                raise ValueError(f"Name one of the queries: {', '.join(q.name for q in self._queries.values())}")
            wanted = [q for key, q in self._queries.items() if query in (None, key, q.name)]
            return list(wanted[0].samples) if wanted else []

    def table(self) -> Table:
        """The queries as a table of rich, a row for each Kinesis source."""
        from rich.table import Table

        names = (
            "query",
            "streams",
            "lag",
            "rows/s",
            "batch",
            "shards",
            "subscriptions",
            "throttled",
            "re-read",
            "buffer",
        )
        table = Table(*names)
        with self._lock:
            latest = [(query.name, query.samples[-1]) for query in self._queries.values() if query.samples]
        for name, sample in latest:
            for source in sample.sources:
                table.add_row(name, *_cells(sample, source))
        return table

    def show(self) -> None:
        """Print the table once."""
        from rich.console import Console

        Console().print(self.table())

    @contextmanager
    def live(self) -> Iterator[None]:
        """Keep the table up to date on the terminal, or in the notebook's cell, while the block runs."""
        from rich.live import Live

        with Live(get_renderable=self.table, refresh_per_second=1):
            yield

    def plot(self, query: str | None = None) -> list[Axes]:
        """Draw lag, rate and batch time of a query over time.

        Raises:
            ModuleNotFoundError: without matplotlib (`pip install kinesis-spark[plot]`).
        """
        from matplotlib import pyplot as plt

        samples = self.samples(query)
        times = [sample.time for sample in samples]
        lines: dict[str, list[float]] = {
            "lag (s)": [sample.lag.total_seconds() for sample in samples],
            "rows/s": [sample.rows_per_second for sample in samples],
            "batch time (s)": [sample.batch_time.total_seconds() for sample in samples],
        }
        figure, axes = plt.subplots(len(lines), sharex=True, figsize=(10, 7), layout="constrained")
        for where, (label, values) in zip(axes, lines.items()):
            where.plot(times, values)
            where.set_ylabel(label)
            where.set_ylim(bottom=0)
        figure.autofmt_xdate()
        return list(axes)

    def stop(self) -> None:
        """End watching."""
        self._stopped.set()
        if self._spark is not None:
            self._spark.streams.removeListener(self._listener)
            self._spark = None

    def _repr_html_(self) -> str:
        from rich.console import Console

        # Not as a notebook does it, which would show the table at once, beside what is returned.
        console = Console(record=True, width=160, file=io.StringIO(), force_jupyter=False)
        console.print(self.table())
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")

    def _add(self, rule: _Rule) -> KinesisMonitor:
        with self._lock:
            self._rules.append(rule)
            if self._watch is None and self._spark is not None:
                self._watch = threading.Thread(target=self._look, name="kinesis-monitor", daemon=True)
                self._watch.start()
        return self

    def _look(self) -> None:
        while not self._stopped.wait(_LOOK_S):
            self.check()


class _Listener(StreamingQueryListener):
    """Hands Spark's events on. A failure here must not reach Spark's thread, which other listeners share."""

    def __init__(self, monitor: KinesisMonitor) -> None:
        super().__init__()
        self._monitor = monitor

    def onQueryStarted(self, event: Any) -> None:  # noqa: ANN401, N802  (Spark's name)
        """Nothing is known of a query before its first micro-batch."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: ANN401, N802
        """Take up a micro-batch."""
        try:
            self._monitor.observe(event.progress)
        except Exception:  # noqa: BLE001
            _LOG.exception("progress could not be taken up")

    def onQueryIdle(self, event: Any) -> None:  # noqa: ANN401, N802
        """Note that the query is alive."""
        self._monitor.idle(str(event.id))

    def onQueryTerminated(self, event: Any) -> None:  # noqa: ANN401, N802
        """Forget the query."""
        self._monitor.ended(str(event.id))


def _as_dict(progress: Any) -> dict[str, Any]:  # noqa: ANN401
    if isinstance(progress, dict):
        return progress
    found: dict[str, Any] = json.loads(progress if isinstance(progress, str) else progress.json)
    return found


def _sample(progress: dict[str, Any], now: float) -> Sample:
    durations = progress.get("durationMs") or {}
    return Sample(
        at=now,
        time=datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00")),
        batch=int(progress["batchId"]),
        rows=int(progress.get("numInputRows", 0)),
        rows_per_second=float(progress.get("processedRowsPerSecond") or 0.0),
        batch_time=timedelta(milliseconds=int(durations.get("triggerExecution", 0))),
        sources=tuple(_sources(progress)),
    )


def _sources(progress: dict[str, Any]) -> Iterator[SourceSample]:
    texts = [{**source, "endOffset": _text(source.get("endOffset"))} for source in progress.get("sources", ())]
    for number, offset in offsets_of({"sources": texts}).items():
        metrics = texts[number].get("metrics") or {}
        streams = tuple(sorted(arn.rpartition("/")[2] for arn in json.loads(offset)["streams"]))
        numbers = {name: int(value) for name, value in metrics.items() if str(value).lstrip("-").isdigit()}
        yield SourceSample(streams, numbers)


def _text(offset: object) -> object:
    """Progress as JSON has offsets that are JSON themselves as objects."""
    return json.dumps(offset) if isinstance(offset, dict) else offset


def _cells(sample: Sample, source: SourceSample) -> Iterator[str]:
    metrics = source.metrics
    yield ", ".join(source.streams)
    yield str(timedelta(seconds=int(source.lag.total_seconds())))
    yield f"{sample.rows_per_second:.0f}"
    yield f"{sample.batch_time.total_seconds():.1f} s"
    yield str(metrics.get("shardsOpen", ""))
    yield str(metrics.get("subscriptionsLive", "polling"))
    yield str(metrics.get("callsThrottled", 0) + metrics.get("subscriptionsRefused", 0))
    yield str(metrics.get("rereadRecords", 0))
    yield f"{metrics.get('bufferedBytes', 0) / 2**20:.0f} MiB"


__all__ = ["Alert", "AlertKind", "KinesisMonitor", "Sample", "SourceSample"]
