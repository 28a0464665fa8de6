"""A driver or an executor that stands still for more than a minute: a suspended VM, a long garbage collection.

Nothing is put from 30 seconds before the pause until 25 seconds after it, so that neither a record nor an order of the
driver brings back a reader that isn't there any more.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import pytest

from kinesis_spark import LocalKinesis

from .application import AVAILABLE_NOW, IN_A_BATCH, SHARDS, Queries
from .cluster_query import running
from .standalone import Worker, standalone_cluster

pytestmark = pytest.mark.jvm

QUIET_BEFORE_S = 30
QUIET_AFTER_S = 25

# Beside an executor that stands still. It is lost for Spark after 120 s, and its shards move then in any case: this is
# less.
MOVED_WITHIN_S = 90

Paused = Literal["driver", "executor"]
BOTH: tuple[Paused, ...] = ("driver", "executor")

KINDS = ("idle", IN_A_BATCH, AVAILABLE_NOW, "real-time")
ALL = tuple(f"{kind}-{publisher}" for kind in KINDS for publisher in ("polling", "efo"))
# Each kind once, and each way of reading twice. What the driver's pause doesn't try, the executor's does.
FOUR = {
    "driver": ("idle-efo", "in-a-batch-polling", "available-now-efo", "real-time-polling"),
    "executor": ("idle-polling", "in-a-batch-efo", "available-now-polling", "real-time-efo"),
}


@contextmanager
def running_on_a_cluster(names: tuple[str, ...], directory: Path, workers: int = 1) -> Iterator[Queries]:
    """One application, with an executor on each worker.

    Spark's master is a process of its own, as it is not where the master is `local-cluster`: one that stands still with
    its driver takes its workers for lost.
    """
    # A core for each task that is held or runs all the time.
    cores = len(names) * SHARDS
    with (
        LocalKinesis(dict.fromkeys(names, SHARDS), log=directory / "local-kinesis.log") as kinesis,
        standalone_cluster(
            [Worker(f"127.0.0.{i + 2}", cores, memory="1g") for i in range(workers)], directory
        ) as master,
        running(Queries(directory / "queries", kinesis, names, master, {"spark.driver.host": "127.0.0.1"})) as queries,
    ):
        yield queries


@contextmanager
def stopped(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        # Spark kills an executor that it takes for lost.
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


def quiet_until(moment: float) -> None:
    """Nothing is put before."""
    time.sleep(max(0, moment - time.time()))


def await_queries_after_a_pause(names: tuple[str, ...], which: Paused, directory: Path, pause_s: float) -> None:
    """Stops the driver or the only executor of queries of all kinds."""
    with running_on_a_cluster(names, directory) as queries:
        quiet_until(queries.await_begin() + QUIET_BEFORE_S)
        with stopped(queries.driver() if which == "driver" else queries.executors()[0]):
            ends = time.time() + pause_s
            # A driver that is stopped neither answers nor replaces an executor.
            replaced = queries.await_replacement(ends) if which == "executor" else ends
            if replaced < ends:
                queries.assert_reading(replaced)
            quiet_until(ends)
        continued = time.time()
        if replaced == ends:
            queries.assert_reading(continued)
        quiet_until(continued + QUIET_AFTER_S)
        queries.await_end()


def test_queries_read_on_after_their_driver_or_only_executor_stood_still_for_70_s(tmp_path: Path) -> None:
    # Two clusters at the same time: each mostly waits.
    with ThreadPoolExecutor() as side_by_side:
        pauses = []
        for which in BOTH:
            directory = tmp_path / which
            directory.mkdir()
            pauses.append(side_by_side.submit(await_queries_after_a_pause, FOUR[which], which, directory, 70))
        for pause in pauses:
            pause.result()


@pytest.mark.slow
@pytest.mark.parametrize("pause_s", [70, 300])
@pytest.mark.parametrize("which", BOTH)
def test_all_queries_read_on_after_their_driver_or_only_executor_stood_still(
    tmp_path: Path, which: Paused, pause_s: int
) -> None:
    await_queries_after_a_pause(ALL, which, tmp_path, pause_s)


@pytest.mark.slow
@pytest.mark.parametrize("pause_s", [70, 300])
def test_shards_of_one_of_two_executors_that_stands_still_are_read_by_the_other_meanwhile(
    tmp_path: Path, pause_s: int
) -> None:
    # No query with tasks all the time: Spark waits for one that runs there until it takes the executor for lost.
    names = tuple(f"{kind}-{publisher}" for kind in ("idle", IN_A_BATCH) for publisher in ("polling", "efo"))
    with running_on_a_cluster(names, tmp_path, workers=2) as queries:
        put = queries.await_begin()
        executors = queries.two_executors()
        quiet_until(put + QUIET_BEFORE_S)
        with stopped(executors[0]):
            paused = time.time()
            queries.assert_reading(paused, MOVED_WITHIN_S)
            assert all(queries.newest_subscription(name) > paused for name in names if name.endswith("efo"))
            quiet_until(paused + pause_s)
        quiet_until(time.time() + QUIET_AFTER_S)
        queries.await_end()
