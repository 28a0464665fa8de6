"""What is known of a run so far, read from the files that its processes write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

RATE_WINDOW_S = 2.0


@dataclass(frozen=True, slots=True)
class Sent:
    """A producer's word: so many events were put by then."""

    time: float
    total: int


@dataclass(frozen=True, slots=True)
class Batch:
    """A micro-batch that was committed; times in seconds since 1970, durations in seconds.

    `lag` is from the arrival in Kinesis of the batch's oldest record to the commit, None for a batch without records.
    """

    time: float
    number: int
    rows: int
    duration: float
    lag: float | None
    late_rows: int


class Lines:
    """The JSON lines of a file that another process still appends to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0

    def new(self) -> list[dict[str, Any]]:
        """Those that have been completed since the last call."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._position)
            text = file.read()
        complete = text.rpartition(b"\n")[0]
        self._position += len(complete) + 1 if complete else 0
        return [json.loads(line) for line in complete.splitlines() if line]


class Run:
    """The run as a whole, in order of time."""

    def __init__(self, producer: Path, progress: Path) -> None:
        self._producer = Lines(producer)
        self._progress = Lines(progress)
        self.sent: list[Sent] = []
        self.batches: list[Batch] = []
        self.starts: list[float] = []

    def update(self) -> None:
        """Take in what the processes have written since."""
        self.sent += [Sent(line["time"], line["sent"]) for line in self._producer.new()]
        for line in self._progress.new():
            if line["event"] == "started":
                self.starts.append(line["time"])
            elif line["event"] == "batch":
                self.batches.append(
                    Batch(
                        line["time"], line["batch"], line["rows"], line["duration_s"], line["lag_s"], line["late_rows"]
                    )
                )

    @property
    def total_sent(self) -> int:
        """Events put so far."""
        return self.sent[-1].total if self.sent else 0

    def rate_sent(self, now: float) -> float:
        """Events put a second, of late."""
        return _slope([(s.time, s.total) for s in self.sent], now)

    def rate_read(self, now: float) -> float:
        """Events committed a second, of late."""
        return sum(b.rows for b in self.batches if b.time > now - RATE_WINDOW_S) / RATE_WINDOW_S


def rates_read(batches: Sequence[Batch]) -> list[tuple[float, float]]:
    """Events a second, at the commit of each batch, over the time since the commit before."""
    return [
        (after.time, after.rows / (after.time - before.time))
        for before, after in pairwise(batches)
        if after.time > before.time
    ]


def rates_sent(sent: Sequence[Sent], step: float = 1.0) -> list[tuple[float, float]]:
    """Events a second, over steps of time."""
    found: list[tuple[float, float]] = []
    last = sent[0] if sent else None
    for now in sent:
        if last is not None and now.time - last.time >= step:
            found.append((now.time, (now.total - last.total) / (now.time - last.time)))
            last = now
    return found


def _slope(points: Sequence[tuple[float, int]], now: float) -> float:
    recent = [p for p in points if p[0] > now - RATE_WINDOW_S]
    if len(recent) < 2 or recent[-1][0] == recent[0][0]:
        return 0.0
    return (recent[-1][1] - recent[0][1]) / (recent[-1][0] - recent[0][0])
