"""A driver or an executor that stands still for more than a minute: a suspended VM, a long garbage collection.

Nothing is put from 30 seconds before the pause until 25 seconds after it, so that neither a record nor an order of the
driver brings back a reader that isn't there any more.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Literal

import pytest

from kinesis_spark import LocalKinesis

from .application import AVAILABLE_NOW, IN_A_BATCH, READ_WITHIN_S, SHARDS, Queries
from .cluster_query import running
from .standalone import Worker, standalone_cluster

# Two applications with four queries each take minutes of CPU.
pytestmark = [pytest.mark.jvm, pytest.mark.slow]

QUIET_BEFORE_S = 30
QUIET_AFTER_S = 25

KINDS = ("idle", IN_A_BATCH, AVAILABLE_NOW, "real-time")
ALL = tuple(f"{kind}-{publisher}" for kind in KINDS for publisher in ("polling", "efo"))
# Half of all pairs: one test stops the driver of these and the executor of the others.
ONE_HALF = ("idle-polling", "in-a-batch-efo", "available-now-polling", "real-time-efo")
OTHER_HALF = tuple(name for name in ALL if name not in ONE_HALF)


# Names of queries, by the processes that are stopped.
Applications = dict[Literal["driver", "executor"], tuple[str, ...]]


@contextmanager
def running_on_a_cluster(applications: Applications, directory: Path, workers: int = 1) -> Iterator[list[Queries]]:
    """Applications with one executor on each worker.

    Spark's master is a process of its own, as it is not where the master is `local-cluster`: one that stands still with
    its driver takes its workers for lost.
    """
    # A core for each task that is held or runs all the time, and as many that are free.
    cores = {which: len(names) * SHARDS for which, names in applications.items()}
    worker = Worker("", cores=sum(cores.values()), memory=f"{len(applications)}g")
    with (
        LocalKinesis(dict.fromkeys(ALL, SHARDS), log=directory / "local-kinesis.log") as kinesis,
        standalone_cluster([worker._replace(host=f"127.0.0.{i + 2}") for i in range(workers)], directory) as master,
        ExitStack() as all_running,
    ):
        settings = {"spark.driver.host": "127.0.0.1"}
        yield [
            all_running.enter_context(
                running(
                    Queries(
                        directory / which,
                        kinesis,
                        names,
                        master,
                        settings | {"spark.cores.max": str(cores[which] * workers)},
                    )
                )
            )
            for which, names in applications.items()
        ]


@contextmanager
def stopped(*processes: int) -> Iterator[None]:
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            # Spark kills an executor that it takes for lost.
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


def quiet_until(moment: float) -> None:
    """Nothing is put before."""
    time.sleep(max(0, moment - time.time()))


def await_queries_after_a_pause(applications: Applications, directory: Path, pause_s: float) -> None:
    """Stops the driver or the only executor of each application, all at once."""
    with running_on_a_cluster(applications, directory) as all_queries:
        for queries in all_queries:
            queries.await_begin()
        quiet_until(time.time() + QUIET_BEFORE_S)
        pids = [
            queries.driver() if which == "driver" else queries.executors()[0]
            for which, queries in zip(applications, all_queries, strict=True)
        ]
        with stopped(*pids):
            quiet_until(time.time() + pause_s)
        continued = time.time()
        for queries in all_queries:
            queries.await_reading(continued, continued)
        quiet_until(continued + QUIET_AFTER_S)
        for queries in all_queries:
            queries.await_end()


def test_queries_read_on_after_their_driver_or_only_executor_stood_still_for_70_s(tmp_path: Path) -> None:
    await_queries_after_a_pause({"driver": ONE_HALF, "executor": OTHER_HALF}, tmp_path, 70)


@pytest.mark.parametrize("pause_s", [70, 100, 300])
@pytest.mark.parametrize("which", ["driver", "executor"])
def test_all_queries_read_on_after_their_driver_or_only_executor_stood_still_for_longer(
    tmp_path: Path, which: Literal["driver", "executor"], pause_s: int
) -> None:
    await_queries_after_a_pause({which: ALL}, tmp_path, pause_s)


@pytest.mark.parametrize("pause_s", [70, 300])
def test_shards_of_one_of_two_executors_that_stands_still_are_read_by_the_other_meanwhile(
    tmp_path: Path, pause_s: int
) -> None:
    # A task on that executor waits for it, as Spark does until it takes it for lost: only queries without one read on.
    idle: Applications = {"executor": ("idle-polling", "idle-efo")}
    with running_on_a_cluster(idle, tmp_path, workers=2) as (queries,):
        queries.await_begin()
        executors = queries.two_executors()
        quiet_until(time.time() + QUIET_BEFORE_S)
        with stopped(executors[0]):
            paused = time.time()
            quiet_until(paused + READ_WITHIN_S)
            queries.await_reading(paused, time.time())
            quiet_until(paused + pause_s)
        quiet_until(time.time() + QUIET_AFTER_S)
        queries.await_end()
