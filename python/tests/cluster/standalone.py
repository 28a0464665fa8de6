"""A Spark cluster whose workers stand on different hosts, as loopback addresses.

Spark runs a speculative copy of a task only on another host, which neither local mode nor local-cluster has.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pyspark

from .waiting import wait_until

SPARK_HOME = Path(pyspark.__file__).parent


class Worker(NamedTuple):
    """A worker to start: at an address of this machine, or of the network namespace that it runs in."""

    host: str
    cores: int = 1
    memory: str = "1g"
    port: int = 0
    network: str | None = None


@contextmanager
def standalone_cluster(workers: list[Worker], directory: Path, master_host: str = "127.0.0.1") -> Iterator[str]:
    """Starts a master and its workers; gives the master's URL.

    The processes end with the block.
    """
    with ExitStack() as running:
        log = directory / "master.log"
        running.enter_context(
            _daemon(f"org.apache.spark.deploy.master.Master --host {master_host} --port 0 --webui-port 0", log)
        )
        url = wait_until(lambda: re.search(r"spark://[\d.]+:\d+", log.read_text()), "the master's address").group()
        for worker in workers:
            place = (
                f"--host {worker.host} --port {worker.port} --webui-port 0 --work-dir {directory}/work-{worker.host}"
            )
            size = f"--cores {worker.cores} --memory {worker.memory}"
            command = f"org.apache.spark.deploy.worker.Worker {place} {size} {url}"
            running.enter_context(_daemon(command, directory / f"worker-{worker.host}.log", worker.network))
        hosts = {worker.host for worker in workers}
        wait_until(lambda: registered(log.read_text()) >= hosts, "the workers at the master")
        yield url


def registered(master_log: str) -> set[str]:
    """The hosts whose workers a master has, by its log; one that got no answer in time is named again."""
    return set(re.findall(r"Registering worker ([\d.]+):", master_log))


@contextmanager
def _daemon(command: str, log: Path, network: str | None = None) -> Iterator[None]:
    within = ["ip", "netns", "exec", network] if network else []
    with log.open("w") as out:
        process = subprocess.Popen(
            [*within, str(SPARK_HOME / "bin" / "spark-class"), *command.split()],
            stdout=out,
            stderr=out,
            env={**os.environ, "SPARK_HOME": str(SPARK_HOME), "SPARK_NO_DAEMONIZE": "1"},
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(120)
