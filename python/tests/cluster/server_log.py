"""Who reads which shard, by the local server's own log."""

from __future__ import annotations

import json
import time
import urllib.request
from collections import Counter
from typing import Any

from kinesis_spark import LocalKinesis

from .waiting import wait_until

# A reader asks an idle shard once a second; two would ask twice as often.
_IDLE_WINDOW_S = 10
_CALLS_OF_ONE_READER = 13


class ServerLog:
    """The calls that read the stream `events`, and its subscriptions."""

    def __init__(self, kinesis: LocalKinesis, shards: int, publisher: str) -> None:
        self._kinesis = kinesis
        self._shards = {f"shardId-{n:012d}" for n in range(shards)}
        self._is_fan_out = publisher == "efo"
        self._action = "SubscribeToShard" if self._is_fan_out else "GetRecords"

    def longest_pause_s(self, since: float) -> float:
        """The longest time that a shard was read by nobody, from a time of this machine's clock until now.

        A subscription that lives is reading; a shard that is polled is read from call to call.
        """
        now = time.time()
        if self._is_fan_out:
            # Subscriptions live for five minutes: those of the lost executor's shards are younger than its end.
            wait_until(self._is_subscribed_once, "one subscription for each shard", timeout_s=60)
            began = [float(s["sinceMillis"]) / 1000 for s in self._subscriptions()["live"]]
            return max(max(0.0, start - since) for start in began)
        pauses = []
        for shard in self._shards:
            times = [at for at in self._times(shard) if at >= since]
            pauses += [after - before for before, after in zip([since, *times], [*times, now], strict=True)]
        return max(pauses)

    def await_one_reader_for_each_shard(self) -> None:
        """Waits until each shard has one reader, and asserts that it stays so for a while."""
        if self._is_fan_out:
            wait_until(self._is_subscribed_once, "one subscription for each shard", timeout_s=60)
        began = time.time()
        # A shard that has just had records is asked more often for some seconds.
        wait_until(lambda: self._calls_of_the_last(_IDLE_WINDOW_S) <= _CALLS_OF_ONE_READER, "one reader", timeout_s=60)
        wait_until(lambda: time.time() - began > _IDLE_WINDOW_S, "some seconds of idleness", timeout_s=60)
        assert self._calls_of_the_last(_IDLE_WINDOW_S) <= (0 if self._is_fan_out else _CALLS_OF_ONE_READER)
        if self._is_fan_out:
            assert self._is_subscribed_once()

    def _is_subscribed_once(self) -> bool:
        return Counter(s["shardId"] for s in self._subscriptions()["live"]) == Counter(self._shards)

    def _calls_of_the_last(self, seconds: float) -> int:
        """Of the shard that was asked most often."""
        since = time.time() - seconds
        return max(sum(at >= since for at in self._times(shard)) for shard in self._shards)

    def _times(self, shard: str) -> list[float]:
        calls = self._ask("calls")["recent"]
        return [c["atMillis"] / 1000 for c in calls if c["action"] == self._action and shard in c["shards"]]

    def _subscriptions(self) -> dict[str, Any]:
        return self._ask("subscriptions")

    def _ask(self, what: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self._kinesis.endpoint}/_testkit/{what}") as answer:  # noqa: S310  (our own server)
            told: dict[str, Any] = json.load(answer)
        return told
