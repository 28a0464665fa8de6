"""Tests queries in real-time mode, with state and without, from Kinesis to Kinesis, whose driver is killed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyspark
import pytest

from kinesis_spark import LocalKinesis
from kinesis_spark.local import Record

from .cluster_query import CLASSES, ClusterQuery, running
from .waiting import wait_until

SPARK = tuple(map(int, pyspark.__version__.split(".")[:2]))

pytestmark = [pytest.mark.jvm, pytest.mark.slow]
has_trigger = pytest.mark.skipif(SPARK < (4, 2), reason="PySpark 4.2 brought the trigger of real-time mode")
has_state = pytest.mark.skipif(SPARK < (4, 3), reason="Spark 4.3 brought stateful operators in real-time mode")

SETTINGS = {
    "spark.driver.extraClassPath": str(CLASSES),
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    # The sink of this package isn't on Spark's list.
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
}
KEYS = [f"key-{i}" for i in range(4)]


@pytest.fixture
def streams(stream: LocalKinesis) -> LocalKinesis:
    stream.create_stream("results", shards=2)
    return stream


def query(streams: LocalKinesis, directory: Path, state: str) -> ClusterQuery:
    # Two tasks for the source's four shards, two behind the shuffle.
    settings = json.dumps(SETTINGS)
    return ClusterQuery(directory, streams, "local[4]", state=state, trigger="real-time", settings=settings)


def put(streams: LocalKinesis, prefix: str) -> list[str]:
    texts = [f"{prefix}-{i}" for i in range(40)]
    streams.put_records("events", [Record(text, text.encode()) for text in texts])
    return texts


def put_each_key(streams: LocalKinesis, times: int) -> None:
    streams.put_records("events", [Record(key, key.encode()) for key in KEYS * times])


def results(streams: LocalKinesis) -> Counter[str]:
    return Counter(record.data.decode() for record in streams.read_records("results"))


def count_on(streams: LocalKinesis, count: int) -> int:
    """Puts each key five times more, and waits until it has been counted; how often each has been put now."""
    put_each_key(streams, 5)
    last = {f"{key}={count + 5}" for key in KEYS}
    wait_until(lambda: last <= set(results(streams)), f"counts of {count + 5}")
    return count + 5


@pytest.mark.every_spark("real-time mode, driver killed")
@has_trigger
def test_a_real_time_query_loses_no_record_when_its_driver_is_killed_within_a_batch(
    streams: LocalKinesis, tmp_path: Path
) -> None:
    texts: list[str] = []
    for n, is_killed in enumerate((True, True, False)):
        with running(query(streams, tmp_path, "copied")) as current:
            texts.extend(put(streams, f"{n}-stored"))
            wait_until(lambda: set(texts) <= set(results(streams)), "all records")
            before = current.commits()
            wait_until(lambda: current.commits() > before, "a commit")  # noqa: B023  (used up within the round)
            texts.extend(put(streams, f"{n}-within"))
            if is_killed:
                # Before some of them are read, or written.
                current.kill()
            else:
                wait_until(lambda: set(texts) <= set(results(streams)), "all records")
                assert current.stop()["failure"] is None
    assert set(results(streams)) == set(texts)


@pytest.mark.every_spark("stateful real-time mode, driver killed")
@has_state
@pytest.mark.parametrize("state", ["counted", "numbered"])
def test_counts_of_a_real_time_query_stay_exact_when_its_driver_is_killed_within_a_batch(
    streams: LocalKinesis, tmp_path: Path, state: str
) -> None:
    count = 0
    for is_killed in (True, True, False):
        with running(query(streams, tmp_path, state)) as current:
            count = count_on(streams, count)
            before = current.commits()
            wait_until(lambda: current.commits() > before, "a commit")  # noqa: B023  (used up within the round)
            # Mostly in a batch that never ends: its records come again, to the state before it.
            count = count_on(streams, count)
            if is_killed:
                current.kill()
            else:
                assert current.stop()["failure"] is None
    assert {int(text.partition("=")[2]) for text in results(streams)} <= set(range(1, count + 1))


@pytest.mark.every_spark("stateful real-time mode, driver killed")
@has_state
def test_a_real_time_query_drops_duplicates_of_stored_batches_when_its_driver_is_killed(
    streams: LocalKinesis, tmp_path: Path
) -> None:
    def marker_passes(name: str) -> None:
        streams.put_records("events", [Record(key, f"{name}-{key}".encode()) for key in KEYS])
        wait_until(lambda: {f"{name}-{key}" for key in KEYS} <= set(results(streams)), name)

    with running(query(streams, tmp_path, "distinct")) as first:
        put_each_key(streams, 3)
        wait_until(lambda: set(KEYS) <= set(results(streams)), "the keys")
        before = first.commits()
        wait_until(lambda: first.commits() > before, "their state's commit")
        put_each_key(streams, 3)
        marker_passes("before")
        first.kill()
    with running(query(streams, tmp_path, "distinct")) as second:
        put_each_key(streams, 3)
        marker_passes("after")
        outcome = second.stop()
    assert outcome["failure"] is None
    found = results(streams)
    assert {key: found[key] for key in KEYS} == dict.fromkeys(KEYS, 1)
    # A batch that was not stored comes again, as Spark defines the mode.
    assert set(found) == {*KEYS, *(f"{name}-{key}" for name in ("before", "after") for key in KEYS)}
