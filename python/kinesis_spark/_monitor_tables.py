"""The tables of `KinesisMonitor`, by rich: what is shown, and how."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from kinesis_spark.monitor import Sample, SourceSample

# What is read first stays on one line.
_WHOLE = ("lag", "shard")
_COUNTS = ("subscriptions", "throttled", "re-read")


def of(latest: Sequence[tuple[str, Sample, timedelta]], failed: Sequence[tuple[str, str]], shards: int) -> list[Table]:
    """The tables by stream, shard and executor.

    Args:
        latest: of each running query its name, its last sample, and for how long it has been silent since.
        failed: of each failed query its name and why.
        shards: how many shards to show of each source.
    """
    from rich.text import Text

    every = [(name, sample, silent, source) for name, sample, silent in latest for source in sample.sources]
    by_stream = _table(
        "Streams", ("query", "stream", "lag", "records/s", "rows/s", "batch", "shards", *_COUNTS, "buffer")
    )
    by_shard = _table("Shards", ("query", "stream", "shard", "executor", "lag", "records/s", *_COUNTS))
    by_executor = _table("Executors", ("query", "executor", "host", "shards", *_COUNTS, "buffer"))
    # Names as texts of rich: it takes brackets in a str for markup.
    for name, sample, silent, source in every:
        for stream, *figures in _streams(sample, source, silent):
            by_stream.add_row(Text(name), Text(stream), *figures)
        for shard in source.by_shard[:shards]:
            by_shard.add_row(
                Text(name),
                Text(shard.stream),
                Text(shard.shard),
                Text(shard.executor or "none"),
                _time(shard.lag, silent),
                _rate(shard.records, sample),
                "polling" if shard.subscribed is None else "live" if shard.subscribed else "waiting",
                str(shard.throttled),
                str(shard.reread),
            )
        for executor in source.by_executor:
            by_executor.add_row(
                Text(name),
                Text(executor.executor),
                Text(executor.host),
                str(executor.shards),
                _subscribed(executor.subscribed),
                str(executor.throttled),
                str(executor.reread),
                _size(executor.buffer),
            )
    if failed:
        by_stream.caption = Text("\n".join(f"Query {name} failed: {reason}" for name, reason in failed))
    elif not every:
        by_stream.caption = "No query of this session has reported a micro-batch from Kinesis yet."
    return [by_stream, by_shard, by_executor]


def _streams(sample: Sample, source: SourceSample, silent: timedelta) -> Iterable[Sequence[str]]:
    for stream in source.by_stream:
        yield (
            stream.stream,
            _time(stream.lag, silent),
            _rate(stream.records, sample),
            f"{sample.rows_per_second:.0f}",
            f"{sample.batch_time.total_seconds():.1f} s",
            str(stream.shards),
            _subscribed(stream.subscribed),
            str(stream.throttled),
            str(stream.reread),
            _size(source.metrics.get("bufferedBytes", 0)),
        )


def _table(title: str, names: Sequence[str]) -> Table:
    from rich.table import Column, Table

    # In a narrow terminal all else is folded, and nothing is cut off.
    columns = (Column(name, overflow="fold", no_wrap=name in _WHOLE) for name in names)
    return Table(*columns, title=title, title_justify="left")


def _time(lag: timedelta | None, silent: timedelta) -> str:
    return "" if lag is None else str(timedelta(seconds=int((lag + silent).total_seconds())))


def _rate(records: int, sample: Sample) -> str:
    seconds = sample.interval.total_seconds()
    return f"{records / seconds:.0f}" if seconds > 0 else ""


def _subscribed(count: int | None) -> str:
    return "polling" if count is None else str(count)


def _size(count: int) -> str:
    return f"{count / 2**20:.0f} MiB"


__all__ = ["of"]
