"""The testkit's server in a process of its own, with the service's quotas, and its controls."""

from __future__ import annotations

import json
import signal
import threading
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from kinesis_spark import LocalKinesis
from kinesis_spark.errors import LocalKinesisError
from kinesis_spark.local import KinesisClient

from .faults import Rule
from .plan import Reshard, Trial
from .processes import send
from .subscriptions import Subscription

# So that subscriptions end, and places are refused, often enough to matter.
_ARGUMENTS = ("--subscription-life", "10s", "--heartbeat", "2s", "--takeover-after", "3s")
_MOST_SHARDS = 8
_TRIES = 20


class Service:
    """A server with a trial's streams."""

    def __init__(self, trial: Trial, log: Path) -> None:
        profile = "--realistic" if trial.realistic else "--limits"
        self._server = LocalKinesis(dict(trial.streams), arguments=(profile, *_ARGUMENTS), log=log)
        self._streams = [name for name, _ in trial.streams]
        self._competitor: _Competitor | None = None

    @property
    def endpoint(self) -> str:
        return self._server.endpoint

    def inject(self, rule: Rule) -> None:
        self._control("POST", "faults", rule)

    def struck(self) -> list[int]:
        """How often each rule did, in the order in which they came."""
        return [int(rule["struck"]) for rule in self._control("GET", "faults")["rules"]]

    def calm(self) -> None:
        """Ends all faults, and the competing poller."""
        self._control("DELETE", "faults")
        if self._competitor is not None:
            self._competitor.stop()
            self._competitor = None

    def jump(self, millis: int) -> None:
        self._control("POST", "clock", {"advanceMillis": millis})

    def pause(self, seconds: float) -> None:
        send(signal.SIGSTOP, [self._server.pid])
        try:
            time.sleep(seconds)
        finally:
            send(signal.SIGCONT, [self._server.pid])

    def start_competing_poller(self) -> None:
        if self._competitor is None:
            self._competitor = _Competitor(self.endpoint, self._streams)

    def subscriptions(self) -> list[Subscription]:
        """Who is subscribed now."""
        live = self._control("GET", "subscriptions")["live"]
        return [Subscription(s["consumerArn"], s["stream"], s["shardId"], s["sinceMillis"]) for s in live]

    def deregister(self) -> bool:
        """Deregisters all consumers of all streams, as somebody else would; whether any was there."""
        client, found = KinesisClient(self.endpoint), False
        for stream in self._streams:
            # Faults of these calls are ours as well as the query's.
            with suppress(LocalKinesisError, ValueError):
                arn = client.call("DescribeStreamSummary", StreamName=stream)["StreamDescriptionSummary"]["StreamARN"]
                for consumer in client.call("ListStreamConsumers", StreamARN=arn)["Consumers"]:
                    client.call("DeregisterStreamConsumer", ConsumerARN=consumer["ConsumerARN"])
                    found = True
        return found

    def reshard(self, action: Reshard) -> bool:
        """Whether it could be done: there is a least and a most number of shards."""
        stream = self._streams[int(action.place * len(self._streams))]
        place = action.place * len(self._streams) % 1
        for _ in range(_TRIES):
            # Faults of the listing are ours as well as the query's.
            with suppress(LocalKinesisError, ValueError):
                return self._reshard(stream, action.how, place)
            time.sleep(0.1)
        return False

    def _reshard(self, stream: str, how: str, place: float) -> bool:
        client = KinesisClient(self.endpoint)
        listed = client.call("ListShards", StreamName=stream)["Shards"]
        ends = {
            s["ShardId"]: s["HashKeyRange"] for s in listed if "EndingSequenceNumber" not in s["SequenceNumberRange"]
        }
        shards = sorted(ends, key=lambda shard: int(ends[shard]["StartingHashKey"]))
        match how:
            case "split" if len(shards) < _MOST_SHARDS:
                shard = shards[int(place * len(shards))]
                middle = (int(ends[shard]["StartingHashKey"]) + int(ends[shard]["EndingHashKey"])) // 2 + 1
                client.call("SplitShard", StreamName=stream, ShardToSplit=shard, NewStartingHashKey=str(middle))
            case "merge" if len(shards) > 1:
                first = int(place * (len(shards) - 1))
                client.call(
                    "MergeShards", StreamName=stream, ShardToMerge=shards[first], AdjacentShardToMerge=shards[first + 1]
                )
            case "rescale":
                target = len(shards) * 2 if len(shards) <= _MOST_SHARDS // 2 else len(shards) // 2
                client.call(
                    "UpdateShardCount", StreamName=stream, TargetShardCount=target, ScalingType="UNIFORM_SCALING"
                )
            case _:
                return False
        return True

    def _control(self, method: str, what: str, body: object = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.endpoint}/_testkit/{what}", data, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            read: dict[str, Any] = json.loads(answer.read())
        return read

    def __enter__(self) -> Service:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._competitor is not None:
            self._competitor.stop()
        self._server.stop()


class _Competitor:
    """Polls all shards, again and again, and so uses up what all pollers of a shard have together."""

    def __init__(self, endpoint: str, streams: list[str]) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._poll, args=(KinesisClient(endpoint), streams), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join(60)

    def _poll(self, client: KinesisClient, streams: list[str]) -> None:
        while not self._over.is_set():
            for stream in streams:
                # Its calls are refused as well.
                with suppress(LocalKinesisError, ValueError, KeyError):
                    for shard in client.call("ListShards", StreamName=stream)["Shards"]:
                        self._read(client, stream, shard["ShardId"])
            self._over.wait(0.1)

    def _read(self, client: KinesisClient, stream: str, shard: str) -> None:
        iterator = client.call("GetShardIterator", StreamName=stream, ShardId=shard, ShardIteratorType="LATEST")[
            "ShardIterator"
        ]
        for _ in range(3):
            client.call("GetRecords", ShardIterator=iterator)
