"""An application with several queries, seen from the test that runs it."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from kinesis_spark import LocalKinesis
from kinesis_spark.local import Record

from .cluster_query import ClusterProgram, FileSink
from .queries import BEGAN, HELD
from .server_log import ServerLog
from .waiting import wait_until

# Of each stream.
SHARDS = 2

IN_A_BATCH = "in-a-batch"
AVAILABLE_NOW = "available-now"

# After a pause, or after the registration of an executor that Spark starts in place of one that it took for lost. They
# read within 15 s there; the rest is for a machine that does much else.
READ_WITHIN_S = 120
# So many looks in a row find each query reading, half a second apart.
LOOKS = 30
# What was put is written within that time, by a task for each query and shard. An executor that doesn't answer is lost
# for Spark after 120 s: this is less.
WRITTEN_WITHIN_S = 90
# What is put at the end is written within that time, and queries that end have ended.
ENDED_WITHIN_S = 180


class Queries(ClusterProgram):
    """The program `queries.py`, running, and what its queries have to write and have written."""

    def __init__(
        self, directory: Path, kinesis: LocalKinesis, names: tuple[str, ...], master: str, settings: dict[str, str]
    ) -> None:
        directory.mkdir()
        self._directory, self._kinesis, self.names = directory, kinesis, names
        self._texts: dict[str, list[str]] = {name: [] for name in names}
        for name in names:
            # An AvailableNow query has all its records when it starts.
            self.put(
                name, *([f"{HELD}-0"] if name.startswith(AVAILABLE_NOW) else []), *(f"first-{i}" for i in range(100))
            )
        arguments = {
            "master": master,
            "endpoint": kinesis.endpoint,
            "settings": json.dumps(settings),
            "directory": str(directory),
            "queries": ",".join(names),
        }
        super().__init__("queries", directory / "queries.log", arguments)

    @property
    def endless(self) -> list[str]:
        return [name for name in self.names if not name.startswith(AVAILABLE_NOW)]

    def put(self, name: str, *texts: str) -> None:
        self._kinesis.put_records(name, [Record(text, text.encode()) for text in texts])
        self._texts[name] += texts

    def await_begin(self) -> float:
        """Waits until each query is where the pause is to find it. When the last record was put by then."""
        assert self.application
        wait_until(lambda: all(map(self._is_written, self.endless)), "the first records")
        held = [name for name in self.names if (self._directory / name / HELD).exists()]
        for name in set(held) & set(self.endless):
            self.put(name, f"{HELD}-0")
        put = time.time()
        wait_until(lambda: all((self._directory / name / BEGAN).exists() for name in held), "a batch that takes long")
        return put

    def await_records(self, began: float, within_s: float = WRITTEN_WITHIN_S) -> None:
        """Waits until all records are written that were put, for so long from then on."""
        while left := [name for name in self.names if not self._is_written(name)]:
            late = time.time() - self._earliest(began)
            assert late < within_s, f"records are missing after {late:.0f} s: {left}"
            time.sleep(0.5)

    def await_replacement(self, until: float) -> float:
        """Waits for an executor that is registered from now on. When it was, or the end of the time."""
        began = time.time()
        while (newest := max(self._registered(), default=began)) <= began:
            if time.time() >= until:
                return until
            time.sleep(0.5)
        return newest

    def assert_reading(self, since: float, within_s: float = READ_WITHIN_S) -> None:
        """Watches until all queries have read for a while, and prints how long each took until it did for good.

        A query that ends with what there is has read it when it is written. Tasks of its that were held run on.

        Args:
            since: the end of the pause, or what came in its place.
            within_s: how long a query may take for it, from when on all can read again.
        """
        for name in set(self.names) - set(self.endless):
            (self._directory / name / HELD).unlink(missing_ok=True)
        logs = self._logs()

        def unread() -> set[str]:
            return {
                name
                for name in self.names
                if not (logs[name].is_read_since(since) if name in logs else self._is_written(name))
            }

        wait_until(self._registered, "an executor", timeout_s=120)
        last_unread = dict.fromkeys(self.names, 0.0)
        looks = 0
        while looks < LOOKS:
            now, left, earliest = time.time(), unread(), self._earliest(since)
            late = now - earliest
            assert not left or late < within_s, f"not read again after {late:.0f} s: {left}, of {self.look()}"
            last_unread |= dict.fromkeys(left, now)
            looks = 0 if left else looks + 1
            time.sleep(0.5)
        took = {name: round(max(0, last - earliest), 1) for name, last in last_unread.items()}
        print(f"seconds until each read again: {took}")  # noqa: T201

    def newest_subscription(self, name: str) -> float:
        """When the last of those of the query's stream that live was opened."""
        return float(max(s["sinceMillis"] for s in self._logs()[name].subscriptions())) / 1000

    def await_one_reader_for_each_shard(self) -> None:
        for log in self._logs().values():
            log.await_one_reader_for_each_shard()

    def await_end(self) -> None:
        """Lets held tasks run on, puts a record into each stream of an endless query, and waits for all records."""
        began = time.time()
        for name in self.names:
            (self._directory / name / HELD).unlink(missing_ok=True)
        for name in self.endless:
            self.put(name, "last")
        self.await_records(began, ENDED_WITHIN_S)
        wait_until(
            lambda: self.look()["active"] == self.endless, "the end of queries that end", timeout_s=ENDED_WITHIN_S
        )
        outcome = self.stop()
        assert outcome["failures"] == {}, outcome["failures"]
        for name in self.names:
            assert Counter(self._written(name)) == Counter(self._texts[name])

    def look(self) -> dict[str, Any]:
        """How the program is. No query has failed."""
        look = self.do("look")
        assert look["failures"] == {}, look["failures"]
        return look

    def _earliest(self, since: float) -> float:
        """From when on all queries can read: since then, or since the registration of the newest executor.

        From now on at the earliest, where Spark has lost the only one and not started another yet.
        """
        registered = self._registered()
        return max(since, *registered) if registered else time.time()

    def _registered(self) -> list[float]:
        """When each executor was that Spark hasn't lost."""
        return [float(at) for at in self.look()["executors"].values()]

    def _logs(self) -> dict[str, ServerLog]:
        """Of each stream of an endless query."""
        return {
            name: ServerLog(self._kinesis, shards=SHARDS, publisher=name.rpartition("-")[2], stream=name)
            for name in self.endless
        }

    def _is_written(self, name: str) -> bool:
        return len(self._written(name)) >= len(self._texts[name])

    def _written(self, name: str) -> list[str]:
        out = self._directory / name / "out"
        if name.startswith("real-time"):
            return [file.name for file in out.iterdir()] if out.exists() else []
        return FileSink(out).written()
