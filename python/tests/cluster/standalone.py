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

import pyspark

from .waiting import wait_until

SPARK_HOME = Path(pyspark.__file__).parent


@contextmanager
def standalone_cluster(workers: list[str], directory: Path) -> Iterator[str]:
    """Starts a master and one worker of one core on each host; gives the master's URL.

    The processes end with the block.
    """
    with ExitStack() as running:
        log = directory / "master.log"
        running.enter_context(
            _daemon("org.apache.spark.deploy.master.Master --host 127.0.0.1 --port 0 --webui-port 0", log)
        )
        url = wait_until(lambda: re.search(r"spark://[\d.]+:\d+", log.read_text()), "the master's address").group()
        for host in workers:
            worker = f"org.apache.spark.deploy.worker.Worker --host {host} --webui-port 0 --cores 1 --memory 1g"
            work_dir = directory / f"work-{host}"
            running.enter_context(_daemon(f"{worker} --work-dir {work_dir} {url}", directory / f"worker-{host}.log"))
        wait_until(lambda: registered(log.read_text()) >= set(workers), "the workers at the master")
        yield url


def registered(master_log: str) -> set[str]:
    """The hosts whose workers a master has, by its log; one that got no answer in time is named again."""
    return set(re.findall(r"Registering worker ([\d.]+):", master_log))


@contextmanager
def _daemon(command: str, log: Path) -> Iterator[None]:
    with log.open("w") as out:
        process = subprocess.Popen(
            [str(SPARK_HOME / "bin" / "spark-class"), *command.split()],
            stdout=out,
            stderr=out,
            env={**os.environ, "SPARK_HOME": str(SPARK_HOME), "SPARK_NO_DAEMONIZE": "1"},
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(120)
