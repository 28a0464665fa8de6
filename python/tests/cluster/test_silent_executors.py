"""An executor that lives and runs no task of ours, or doesn't answer: its shards are read elsewhere."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from kinesis_spark import LocalKinesis

from .cluster_query import CLASSES, CLUSTER, SHARDS, ClusterQuery, put, running
from .server_log import ServerLog
from .waiting import wait_until

pytestmark = pytest.mark.jvm

# The readers move within 10 s, and a batch carries what they read; the rest is for a machine that does much else. An
# executor that doesn't answer is lost for Spark after 120 s, and its shards move then in any case: this is less.
READ_WITHIN_S = 40

# Long enough to see that what is late comes at all, or doesn't.
WATCHED_S = 110

# One failed task is enough for Spark to leave an executor alone.
EXCLUDES = {
    "spark.excludeOnFailure.enabled": "true",
    "spark.excludeOnFailure.task.maxTaskAttemptsPerExecutor": "1",
    "spark.excludeOnFailure.application.maxFailedTasksPerExecutor": "1",
}


def occupied(query: ClusterQuery, directory: Path) -> None:
    query.do("occupy", while_exists=str(directory / "occupied"))


def excluded(query: ClusterQuery, _: Path) -> None:
    query.do("exclude")


def decommissioned(query: ClusterQuery, directory: Path) -> None:
    occupied(query, directory)
    query.do("decommission")


SILENCED: dict[str, tuple[Callable[[ClusterQuery, Path], None], dict[str, str]]] = {
    "occupied": (occupied, {}),
    "excluded": (excluded, EXCLUDES),
    "decommissioned": (decommissioned, {"spark.decommission.enabled": "true"}),
}


@pytest.mark.parametrize(
    ("silenced", "publisher"),
    [
        ("occupied", "polling"),
        *(
            pytest.param(silenced, publisher, marks=pytest.mark.slow)
            for silenced in SILENCED
            for publisher in ("polling", "efo")
            if (silenced, publisher) != ("occupied", "polling")
        ),
    ],
)
def test_shards_of_an_executor_that_runs_no_task_of_ours_are_read_elsewhere(
    stream: LocalKinesis, tmp_path: Path, silenced: str, publisher: str
) -> None:
    silence, settings = SILENCED[silenced]
    query = ClusterQuery(tmp_path, stream, CLUSTER, publisher=publisher, settings=json.dumps(settings))
    with running(query):
        texts = put(stream, "before", 200)
        wait_until(lambda: len(query.written()) == len(texts), "the first records")
        query.two_executors()
        silence(query, tmp_path)
        looks = len(query.do("progress")["metrics"])
        began = time.monotonic()
        texts += put(stream, "after", 200)
        took: float | None = None
        while took is None and time.monotonic() - began < WATCHED_S:
            if len(query.written()) == len(texts):
                took = time.monotonic() - began
            time.sleep(0.1)
        shown = [int(metrics["shardsOpen"]) for metrics in query.do("progress")["metrics"][looks:]]
        missing = len(texts) - len(query.written())
        (tmp_path / "occupied").unlink(missing_ok=True)
        if took is not None:
            outcome = query.stop()
            assert outcome["failure"] is None
            assert Counter(query.written()) == Counter(texts)
        else:
            query.kill()
    assert took is not None, f"{missing} of 200 records are not read after {WATCHED_S} s"
    print(f"seconds until the records were read: {took:.1f}")  # noqa: T201
    assert took <= READ_WITHIN_S, f"the records were read after {took:.0f} s"
    # Whoever reads them, no shard is missing in the metrics meanwhile.
    assert set(shown) <= {SHARDS}, f"shards that progress showed, batch by batch: {shown}"


@pytest.mark.slow
@pytest.mark.parametrize("publisher", ["polling", "efo"])
def test_available_now_ends_though_an_executor_runs_no_task_of_ours(
    stream: LocalKinesis, tmp_path: Path, publisher: str
) -> None:
    texts = put(stream, "before", 200)
    held = tmp_path / "occupied"
    query = ClusterQuery(tmp_path, stream, CLUSTER, publisher=publisher, trigger="available-now", occupied=str(held))
    with running(query):
        deadline = time.monotonic() + WATCHED_S
        while (progress := query.do("progress"))["active"] and time.monotonic() < deadline:
            time.sleep(0.5)
        held.unlink()
        if progress["active"]:
            query.kill()
        else:
            query.stop()
    assert not progress["active"], (
        f"the query still runs after {WATCHED_S} s, and has read {len(query.written())} of 200"
    )
    assert progress["failure"] is None
    assert Counter(query.written()) == Counter(texts)


@pytest.mark.parametrize("publisher", ["polling", pytest.param("efo", marks=pytest.mark.slow)])
def test_shards_of_an_executor_that_does_not_answer_are_read_elsewhere_and_by_one_reader_when_it_answers_again(
    stream: LocalKinesis, tmp_path: Path, publisher: str
) -> None:
    log = ServerLog(stream, shards=SHARDS, publisher=publisher)
    with running(ClusterQuery(tmp_path, stream, CLUSTER, publisher=publisher)) as query:
        texts = put(stream, "before", 200)
        wait_until(lambda: len(query.written()) == len(texts), "the first records")
        frozen = query.two_executors()[0]
        os.kill(frozen, signal.SIGSTOP)
        try:
            texts += put(stream, "after", 200)
            wait_until(lambda: len(query.written()) == len(texts), "the records of all shards", timeout_s=READ_WITHIN_S)
        finally:
            os.kill(frozen, signal.SIGCONT)
        log.await_one_reader_for_each_shard()
        outcome = query.stop()
    assert outcome["failure"] is None
    assert Counter(query.written()) == Counter(texts)


@pytest.mark.slow  # FailingExecutorsSpec has the error, without a cluster
@pytest.mark.parametrize("publisher", ["polling", "efo"])
def test_shards_of_an_executor_where_an_error_is_thrown_are_read_elsewhere_and_the_query_warns(
    stream: LocalKinesis, tmp_path: Path, publisher: str
) -> None:
    settings = json.dumps({f"spark.{jvm}.extraClassPath": str(CLASSES) for jvm in ("driver", "executor")})
    broken = "io.github.kinesisspark.it.chaos.BrokenOnOneExecutor"
    query = ClusterQuery(tmp_path, stream, CLUSTER, publisher=publisher, settings=settings, provider=broken)
    with running(query):
        query.two_executors()
        texts = put(stream, "first", 200)
        wait_until(lambda: len(query.written()) == len(texts), "the first records of all shards")
        texts += put(stream, "second", 200)
        wait_until(lambda: len(query.written()) == len(texts), "the second records of all shards")
        outcome = query.stop()
    assert outcome["failure"] is None
    assert Counter(query.written()) == Counter(texts)
    warned = [line for line in query.log.read_text().splitlines() if "others read its shards" in line]
    assert warned, "no warning names the executor"
    assert all("executor=1 " in line for line in warned), warned
