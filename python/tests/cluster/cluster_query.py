"""A query on a cluster, seen from the test that runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kinesis_spark import LocalKinesis
from kinesis_spark.local import Record

from .standalone import SPARK_HOME
from .waiting import wait_until

# Two executors of one core each.
CLUSTER = "local-cluster[2,1,1024]"

# Of the stream `events`.
SHARDS = 4

# Scala that some tests' queries need.
CLASSES = Path(__file__).resolve().parents[3] / "build" / "chaos.jar"


class ClusterQuery:
    """The program `query.py`, running."""

    def __init__(self, directory: Path, kinesis: LocalKinesis, master: str, **more: str) -> None:
        self._out = directory / "out"
        self._checkpoint = directory / "checkpoint"
        arguments = {
            "master": master,
            "endpoint": kinesis.endpoint,
            "out": str(self._out),
            "checkpoint": str(self._checkpoint),
            "max_records": "100000",
            "text": "plain",
            "publisher": "polling",
            "trigger": "micro-batch",
            "state": "",
            "settings": "{}",
            "occupied": "",
            "provider": "",
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

    def do(self, command: str, **arguments: object) -> dict[str, Any]:
        """Has the program do something else beside the query, and gives its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": command, **arguments}) + "\n")
        self._process.stdin.flush()
        return self._said()

    def stop(self) -> dict[str, Any]:
        """Ends the query and reports how it went."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        outcome = self._said()
        assert self._process.wait(60) == 0
        return outcome

    def kill(self) -> None:
        """The driver's JVM, and the program that started it."""
        subprocess.run(["pkill", "-KILL", "-P", str(self._process.pid)], check=False)
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

    def batches(self) -> int:
        """How many the sink has committed."""
        return max((int(entry.stem) for entry in (self._out / "_spark_metadata").glob("[0-9]*")), default=-1) + 1

    def commits(self) -> int:
        """How many batches Spark has committed."""
        return len(list((self._checkpoint / "commits").glob("[0-9]*")))

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
