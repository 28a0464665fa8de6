"""Tests on a local cluster, with the packaged JAR, that each record is read once while executors and tasks fail."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from kinesis_spark import LocalKinesis

from .cluster_query import CLUSTER, SHARDS, ClusterQuery, put, running
from .server_log import ServerLog
from .standalone import Worker, standalone_cluster
from .waiting import wait_until

# Executors come with the load and go soon.
DYNAMIC_ALLOCATION = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
    "spark.dynamicAllocation.executorIdleTimeout": "3s",
}

pytestmark = pytest.mark.jvm

# Readers of a lost executor's shards begin on another within seconds; the rest is for a machine that does much else. It
# is less than the 120 s that Spark waits for an answer: nothing waits for one of the lost executor.
MOVED_WITHIN_S = 90


def kill(executor: int) -> None:
    with suppress(ProcessLookupError):  # A child on its way to become another program is listed as an executor too.
        os.kill(executor, signal.SIGKILL)


def assert_no_consumer_is_left(kinesis: LocalKinesis) -> None:
    arn = kinesis.client.call("DescribeStreamSummary", StreamName="events")["StreamDescriptionSummary"]["StreamARN"]
    assert kinesis.client.call("ListStreamConsumers", StreamARN=arn)["Consumers"] == []


# By polling, the seed of chaos in `make test` kills executors too.
@pytest.mark.parametrize(
    "publisher",
    [
        pytest.param("polling", marks=pytest.mark.slow),
        pytest.param("efo", marks=pytest.mark.every_spark("executors killed")),
    ],
)
def test_a_query_loses_and_doubles_no_record_when_one_or_all_executors_are_killed(
    stream: LocalKinesis, tmp_path: Path, publisher: str
) -> None:
    texts = put(stream, "before", 2000)
    log = ServerLog(stream, shards=SHARDS, publisher=publisher)
    with running(ClusterQuery(tmp_path, stream, CLUSTER, max_records="500", publisher=publisher)) as query:
        wait_until(lambda: len(query.written()) >= 500, "the first batches")
        executors = query.two_executors()
        with log.watching() as readings:
            kill(executors[0])
            texts += put(stream, "after", 2000)
            wait_until(lambda: len(query.written()) >= len(texts), "all records")
        assert readings.longest_pause_s() <= MOVED_WITHIN_S
        for executor in query.two_executors():
            kill(executor)
        texts += put(stream, "at last", 1000)
        wait_until(lambda: len(query.written()) >= len(texts), "all records again")
        log.await_one_reader_for_each_shard()
        outcome = query.stop()
    assert outcome["failure"] is None
    assert Counter(query.written()) == Counter(texts)
    assert_no_consumer_is_left(stream)


@pytest.mark.every_spark("driver killed")
@pytest.mark.slow  # chaos kills drivers too
def test_a_query_loses_and_doubles_no_record_when_its_driver_is_killed(stream: LocalKinesis, tmp_path: Path) -> None:
    texts = put(stream, "before", 3000)
    with running(ClusterQuery(tmp_path, stream, "local[2]", max_records="200")) as query:
        wait_until(lambda: len(query.written()) >= 600, "the first batches")
        query.kill()
    assert len(query.written()) < len(texts), "killed too late to show anything"
    with running(ClusterQuery(tmp_path, stream, "local[2]", max_records="200")) as query:
        texts += put(stream, "after", 1000)
        wait_until(lambda: len(query.written()) >= len(texts), "all records")
        outcome = query.stop()
    assert outcome["failure"] is None
    assert Counter(query.written()) == Counter(texts)


def test_a_real_time_query_delivers_all_records_when_an_executor_is_killed(
    stream: LocalKinesis, tmp_path: Path
) -> None:
    query = ClusterQuery(tmp_path, stream, CLUSTER, trigger="real-time", publisher="efo")
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


@pytest.mark.slow  # for half a minute nothing may happen
def test_an_idle_query_has_no_executor_until_records_come(stream: LocalKinesis, tmp_path: Path) -> None:
    with running(ClusterQuery(tmp_path, stream, CLUSTER, settings=json.dumps(DYNAMIC_ALLOCATION))) as query:
        texts = put(stream, "first", 10)
        wait_until(lambda: len(query.written()) == len(texts), "the first records")
        wait_until(lambda: not query.executors(), "the removal of all executors")
        # Three looks into the shards. An executor lives for longer than a second.
        for _ in range(30):
            time.sleep(1)
            assert query.executors() == []
        texts += put(stream, "late", 100)
        wait_until(lambda: len(query.written()) == len(texts), "the records of a new executor")
        wait_until(lambda: not query.executors(), "its removal")
        outcome = query.stop()
    assert outcome["failure"] is None
    assert Counter(query.written()) == Counter(texts)


@pytest.mark.slow  # an executor that is killed is lost as well, and one that comes instead is new
def test_executors_are_added_under_load_and_removed_while_idle(stream: LocalKinesis, tmp_path: Path) -> None:
    settings = {
        **DYNAMIC_ALLOCATION,
        "spark.dynamicAllocation.minExecutors": "1",
        "spark.dynamicAllocation.maxExecutors": "2",
        "spark.locality.wait": "1s",
    }
    with running(ClusterQuery(tmp_path, stream, CLUSTER, text="labour", settings=json.dumps(settings))) as query:
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


@pytest.mark.slow  # ranges are read again in many suites
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
        standalone_cluster([Worker("127.0.0.2"), Worker("127.0.0.3")], tmp_path) as master,
        running(ClusterQuery(tmp_path, stream, master, text="attempt", settings=json.dumps(settings))) as query,
    ):
        wait_until(lambda: len(query.written()) >= len(texts), "all records")
        outcome = query.stop()
    assert outcome["failure"] is None
    written = [text.rsplit("@", 1) for text in query.written()]
    assert Counter(text for text, _ in written) == Counter(texts)
    # The slow record is there by the copy, whose other records went to the first attempt as well, and came just once.
    assert dict(written)["slow-0"] == "1"
