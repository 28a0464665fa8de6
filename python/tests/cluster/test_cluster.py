"""Tests on a local cluster, with the packaged JAR, that each record is read once while executors and tasks fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from kinesis_spark import LocalKinesis
from kinesis_spark.local import Record

from .standalone import SPARK_HOME, standalone_cluster
from .waiting import wait_until

pytestmark = pytest.mark.jvm


class ClusterQuery:
    """The program `query.py`, running."""

    def __init__(self, directory: Path, kinesis: LocalKinesis, master: str, **more: str) -> None:
        self._out = directory / "out"
        arguments = {
            "master": master,
            "endpoint": kinesis.endpoint,
            "out": str(self._out),
            "checkpoint": str(directory / "checkpoint"),
            "max_records": "100000",
            "text": "plain",
            "publisher": "polling",
            "trigger": "micro-batch",
            "settings": "{}",
            **more,
        }
        self.log = directory / "query.log"
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "cluster.query", *(f"{key}={value}" for key, value in arguments.items())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=Path(__file__).parent.parent,
                env={**os.environ, "SPARK_HOME": str(SPARK_HOME), "PYSPARK_PYTHON": sys.executable},
            )
        self.application = str(self._said()["application"])

    def stop(self) -> dict[str, Any]:
        """Ends the query and tells how it went."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        outcome = self._said()
        assert self._process.wait(60) == 0
        return outcome

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(60)

    def written(self) -> list[str]:
        """The texts in the files that the sink has committed."""
        log = self._out / "_spark_metadata"
        files = set()
        for entry in sorted(log.glob("[0-9]*")) if log.exists() else []:
            lines = entry.read_text().splitlines()[1:]
            files |= {json.loads(line)["path"].removeprefix("file://") for line in lines}
        return [json.loads(line)["text"] for file in sorted(files) for line in Path(file).read_text().splitlines()]

    def noted(self) -> set[str]:
        """The texts that were handed on in real-time mode."""
        return {file.name for file in self._out.iterdir()}

    def executors(self) -> list[int]:
        """The process ids of the application's executors."""
        listing = subprocess.run(["ps", "-wweo", "pid=,args="], capture_output=True, text=True, check=True).stdout
        mine = (line.split() for line in listing.splitlines() if f"--app-id {self.application}" in line)
        return [int(words[0]) for words in mine if words[1].endswith("java")]

    def two_executors(self) -> list[int]:
        """Their process ids, once there are two."""
        return wait_until(lambda: pids if len(pids := self.executors()) == 2 else None, "two executors")

    def _said(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        # A JVM's own warnings go to the standard output too.
        while (line := self._process.stdout.readline()) and not line.startswith("{"):
            pass
        if not line:
            raise AssertionError(f"The query's program ended: {self.log.read_text()[-4000:]}")
        said: dict[str, Any] = json.loads(line)
        return said


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[LocalKinesis]:
    with LocalKinesis({"events": 4}, log=tmp_path / "local-kinesis.log") as server:
        yield server


@contextmanager
def running(query: ClusterQuery) -> Iterator[ClusterQuery]:
    try:
        yield query
    except BaseException:
        query.kill()
        raise


def put(kinesis: LocalKinesis, prefix: str, count: int, padding: str = "") -> list[str]:
    keys = [f"{prefix}-{i}" for i in range(count)]
    kinesis.put_records("events", [Record(key, (key + padding).encode()) for key in keys])
    return [key + padding for key in keys]


def kill(executor: int) -> None:
    with suppress(ProcessLookupError):  # A child on its way to become another program is listed as an executor too.
        os.kill(executor, signal.SIGKILL)


def assert_no_consumer_is_left(kinesis: LocalKinesis) -> None:
    arn = kinesis.client.call("DescribeStreamSummary", StreamName="events")["StreamDescriptionSummary"]["StreamARN"]
    assert kinesis.client.call("ListStreamConsumers", StreamARN=arn)["Consumers"] == []


@pytest.mark.parametrize("publisher", ["polling", "efo"])
def test_a_query_loses_and_doubles_no_record_when_one_or_all_executors_are_killed(
    stream: LocalKinesis, tmp_path: Path, publisher: str
) -> None:
    texts = put(stream, "before", 2000)
    cluster = "local-cluster[2,1,1024]"
    with running(ClusterQuery(tmp_path, stream, cluster, max_records="250", publisher=publisher)) as query:
        wait_until(lambda: len(query.written()) >= 500, "the first batches")
        executors = query.two_executors()
        kill(executors[0])
        texts += put(stream, "after", 2000)
        wait_until(lambda: len(query.written()) >= len(texts), "all records")
        for executor in query.two_executors():
            kill(executor)
        texts += put(stream, "at last", 1000)
        wait_until(lambda: len(query.written()) >= len(texts), "all records again")
        outcome = query.stop()
    assert outcome["failure"] is None
    assert Counter(query.written()) == Counter(texts)
    assert_no_consumer_is_left(stream)


def test_a_real_time_query_delivers_all_records_when_an_executor_is_killed(
    stream: LocalKinesis, tmp_path: Path
) -> None:
    query = ClusterQuery(tmp_path, stream, "local-cluster[2,1,1024]", trigger="real-time", publisher="efo")
    with running(query):
        texts = put(stream, "before", 100)
        wait_until(lambda: query.noted() >= set(texts), "the first records")
        executors = query.two_executors()
        kill(executors[0])
        texts += put(stream, "after", 100)
        wait_until(lambda: query.noted() >= set(texts), "all records")
        outcome = query.stop()
    assert outcome["failure"] is None
    assert query.noted() == set(texts)
    assert_no_consumer_is_left(stream)


def test_executors_are_added_under_load_and_removed_while_idle(stream: LocalKinesis, tmp_path: Path) -> None:
    settings = {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "1",
        "spark.dynamicAllocation.maxExecutors": "2",
        "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
        "spark.dynamicAllocation.executorIdleTimeout": "3s",
        "spark.locality.wait": "1s",
    }
    cluster = "local-cluster[2,1,1024]"
    with running(ClusterQuery(tmp_path, stream, cluster, text="labour", settings=json.dumps(settings))) as query:
        texts = put(stream, "first", 10)
        wait_until(lambda: len(query.written()) == len(texts), "the first records")
        wait_until(lambda: len(query.executors()) == 1, "an idle executor's removal")
        # Worth more tasks than one core has room for, each of some seconds.
        texts += put(stream, "many", 4000, padding="x" * 2000)
        wait_until(lambda: len(query.executors()) == 2, "a second executor")
        wait_until(lambda: len(query.written()) == len(texts), "all records")
        # Shards are read all the time, but on no more executors than that takes.
        wait_until(lambda: len(query.executors()) == 1, "the second executor's removal")
        texts += put(stream, "late", 100)
        wait_until(lambda: len(query.written()) == len(texts), "the last records")
        outcome = query.stop()
    assert outcome["failure"] is None
    assert Counter(query.written()) == Counter(texts)


def test_most_records_are_read_from_buffers_on_their_own_executors(stream: LocalKinesis, tmp_path: Path) -> None:
    with running(ClusterQuery(tmp_path, stream, "local-cluster[2,1,1024]", max_records="500")) as query:
        texts = put(stream, "r", 5000)
        wait_until(lambda: len(query.written()) >= len(texts), "all records")
        outcome = query.stop()
    assert outcome["failure"] is None
    assert Counter(query.written()) == Counter(texts)
    # Placing is preferred, not forced: a few ranges may be read again, most must not be.
    assert int(outcome["metrics"][-1]["rereadRecords"]) < len(texts) / 2


def test_a_speculative_copy_of_a_task_reads_the_same_records(stream: LocalKinesis, tmp_path: Path) -> None:
    settings = {
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.task.duration.threshold": "1s",
        "spark.speculation.minTaskRuntime": "500ms",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "1g",
    }
    texts = [*put(stream, "plain", 400), *put(stream, "slow", 1)]
    with (
        standalone_cluster(["127.0.0.2", "127.0.0.3"], tmp_path) as master,
        running(ClusterQuery(tmp_path, stream, master, text="attempt", settings=json.dumps(settings))) as query,
    ):
        wait_until(lambda: len(query.written()) >= len(texts), "all records")
        outcome = query.stop()
    assert outcome["failure"] is None
    written = [text.rsplit("@", 1) for text in query.written()]
    assert Counter(text for text, _ in written) == Counter(texts)
    # The slow record is there by the copy, whose other records went to the first attempt as well, and came just once.
    assert dict(written)["slow-0"] == "1"
