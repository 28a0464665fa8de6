"""Who reads which shard, by the local server's own log."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kinesis_spark import LocalKinesis

from .waiting import wait_until

# A reader asks an idle shard once a second; two would ask twice as often.
_IDLE_WINDOW_S = 10
_CALLS_OF_ONE_READER = 13

_LOOK_EVERY_S = 0.2


class Readings:
    """When each shard was read, from now on until the end."""

    def __init__(self, shards: set[str]) -> None:
        self._began = self._ended = time.time()
        self._times: dict[str, list[float]] = {shard: [] for shard in shards}

    def add(self, shard: str, at: float) -> None:
        if at >= self._began:
            self._times[shard].append(at)

    def end(self) -> None:
        self._ended = time.time()

    def longest_pause_s(self) -> float:
        """The longest time that any of the shards was not read."""
        moments = [sorted([self._began, *times, self._ended]) for times in self._times.values()]
        return max(times[i] - times[i - 1] for times in moments for i in range(1, len(times)))


class ServerLog:
    """The calls that read a stream, and its subscriptions."""

    def __init__(self, kinesis: LocalKinesis, shards: int, publisher: str, stream: str = "events") -> None:
        self._kinesis, self._stream = kinesis, stream
        self._shards = {f"shardId-{n:012d}" for n in range(shards)}
        self._is_fan_out = publisher == "efo"
        self._action = "SubscribeToShard" if self._is_fan_out else "GetRecords"

    @contextmanager
    def watching(self) -> Iterator[Readings]:
        """Looks meanwhile when each shard is read: by a call, or by a subscription that lives."""
        readings = Readings(self._shards)
        over = threading.Event()

        def look() -> None:
            while not over.wait(_LOOK_EVERY_S):
                for subscription in self.subscriptions():
                    readings.add(subscription["shardId"], time.time())

        watch = threading.Thread(target=look, daemon=True)
        if self._is_fan_out:
            watch.start()
        try:
            yield readings
        finally:
            over.set()
        if self._is_fan_out:
            watch.join()
        else:
            for shard in self._shards:
                for at in self._times(shard):
                    readings.add(shard, at)
        readings.end()

    def subscriptions(self) -> list[dict[str, Any]]:
        """Those of the stream that live."""
        return [s for s in self._ask("subscriptions")["live"] if s["stream"] == self._stream]

    def is_read_since(self, moment: float) -> bool:
        """Whether each shard was polled since then, or has a subscription now, and one alone."""
        if self._is_fan_out:
            return self._is_subscribed_once()
        return all(any(at > moment for at in self._times(shard)) for shard in self._shards)

    def await_one_reader_for_each_shard(self) -> None:
        """Waits until each shard has had one reader for a while.

        A shard that moves to an executor that came late has none in between.
        """
        began = time.time()
        # A shard that has just had records or got another reader is asked more often for some seconds.
        most = 0 if self._is_fan_out else _CALLS_OF_ONE_READER

        def has_settled() -> bool:
            return time.time() - began > _IDLE_WINDOW_S and self._calls_of_the_last(_IDLE_WINDOW_S) <= most

        wait_until(
            lambda: has_settled() and (not self._is_fan_out or self._is_subscribed_once()),
            f"one reader for each shard, and no more calls than its own in {_IDLE_WINDOW_S} s",
            timeout_s=300,
        )

    def _is_subscribed_once(self) -> bool:
        return Counter(s["shardId"] for s in self.subscriptions()) == Counter(self._shards)

    def _calls_of_the_last(self, seconds: float) -> int:
        """Of the shard that was asked most often."""
        since = time.time() - seconds
        return max(sum(at >= since for at in self._times(shard)) for shard in self._shards)

    def _times(self, shard: str) -> list[float]:
        calls = self._ask("calls")["recent"]
        return [
            c["atMillis"] / 1000
            for c in calls
            if c["action"] == self._action and c["stream"] == self._stream and shard in c["shards"]
        ]

    def _ask(self, what: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self._kinesis.endpoint}/_testkit/{what}") as answer:  # noqa: S310  (our own server)
            told: dict[str, Any] = json.load(answer)
        return told
