"""An application with several queries, seen from the test that runs it."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

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

# After a pause, or after the registration of an executor that Spark starts in place of one that it took for lost.
READ_WITHIN_S = 15
# A machine that does much else takes some times as long.
TOLERANCE = 3


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

    def await_records(self, began: float) -> None:
        """Waits until all records are written that were put, for so long from then on."""
        self._await(lambda: [name for name in self.names if not self._is_written(name)], "records are missing", began)

    def await_reading(self, paused: float, continued: float) -> None:
        """Waits until the server sees each shard read again. In a batch, readers don't move to another executor.

        Args:
            paused: when the pause began.
            continued: when each shard could be read again at the earliest.
        """
        self._await(
            lambda: [
                name
                for name, log in self._logs().items()
                if not name.startswith(IN_A_BATCH) and not log.is_read_since(continued)
            ],
            "not read again",
            paused,
        )

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
        self.await_records(began)
        wait_until(lambda: self.do("look")["active"] == self.endless, "the end of queries that end", timeout_s=60)
        outcome = self.stop()
        assert outcome["failures"] == {}, outcome["failures"]
        for name in self.names:
            assert Counter(self._written(name)) == Counter(self._texts[name])

    def _await(self, missing: Callable[[], list[str]], what: str, began: float) -> None:
        """Until nothing is missing, within the time from then on or from the registration of the newest executor."""
        while left := missing():
            look = self.do("look")
            assert look["failures"] == {}, look["failures"]
            late = time.time() - max(began, *look["executors"].values())
            assert late < READ_WITHIN_S * TOLERANCE, f"{what} after {late:.0f} s: {left}, of {look}"
            time.sleep(0.5)

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
