"""A query on a cluster, seen from the test that runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

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


class ClusterProgram:
    """A program of this package with queries on a cluster, running. It says first what its application is called."""

    def __init__(self, module: str, log: Path, arguments: dict[str, str]) -> None:
        self.log = log
        with self.log.open("a") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"cluster.{module}", *(f"{key}={value}" for key, value in arguments.items())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=out,
                text=True,
                cwd=Path(__file__).parent.parent,
                env={**os.environ, "SPARK_HOME": str(SPARK_HOME), "PYSPARK_PYTHON": sys.executable},
            )

    @cached_property
    def application(self) -> str:
        return str(self._said()["application"])

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
        assert self._process.wait(180) == 0
        return outcome

    def kill(self) -> None:
        """The driver's JVM, and the program that started it."""
        subprocess.run(["pkill", "-KILL", "-P", str(self._process.pid)], check=False)
        self._process.kill()
        self._process.wait(60)

    def driver(self) -> int:
        """The process id of the driver's JVM."""
        return next(pid for pid, parent, _ in _javas() if parent == self._process.pid)

    def executors(self) -> list[int]:
        """The process ids of the application's executors."""
        return [pid for pid, _, arguments in _javas() if f"--app-id {self.application}" in arguments]

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


def _javas() -> list[tuple[int, int, str]]:
    """Of each JVM here: its process id, its parent's, and its arguments."""
    listing = subprocess.run(["ps", "-wweo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    all_words = (line.split(None, 2) for line in listing.splitlines())
    return [(int(w[0]), int(w[1]), w[2]) for w in all_words if w[2].split()[0].endswith("java")]


class FileSink:
    """What Spark's file sink has committed in a directory."""

    def __init__(self, directory: Path) -> None:
        self._log = directory / "_spark_metadata"

    def written(self) -> list[str]:
        """The texts."""
        files = set()
        for entry in sorted(self._log.glob("[0-9]*")) if self._log.exists() else []:
            lines = entry.read_text().splitlines()[1:]
            files |= {json.loads(line)["path"].removeprefix("file://") for line in lines}
        return [json.loads(line)["text"] for file in sorted(files) for line in Path(file).read_text().splitlines()]

    def batches(self) -> int:
        """How many."""
        return max((int(entry.stem) for entry in self._log.glob("[0-9]*")), default=-1) + 1


class ClusterQuery(ClusterProgram):
    """The program `query.py`, running."""

    def __init__(self, directory: Path, kinesis: LocalKinesis, master: str, **more: str) -> None:
        self._out = directory / "out"
        self._sink = FileSink(self._out)
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
        super().__init__("query", directory / "query.log", arguments)
        assert self.application

    def written(self) -> list[str]:
        """The texts in the files that the sink has committed."""
        return self._sink.written()

    def batches(self) -> int:
        """How many the sink has committed."""
        return self._sink.batches()

    def planned(self) -> int:
        """How many batches Spark has planned."""
        return self._entries("offsets")

    def commits(self) -> int:
        """How many batches Spark has committed."""
        return self._entries("commits")

    def _entries(self, log: str) -> int:
        return len(list((self._checkpoint / log).glob("[0-9]*")))

    def noted(self) -> set[str]:
        """The texts that were handed on in real-time mode."""
        return {file.name for file in self._out.iterdir()}


P = TypeVar("P", bound=ClusterProgram)


@contextmanager
def running(query: P) -> Iterator[P]:
    try:
        yield query
    except BaseException:
        query.kill()
        raise


def put(kinesis: LocalKinesis, prefix: str, count: int, padding: str = "") -> list[str]:
    keys = [f"{prefix}-{i}" for i in range(count)]
    kinesis.put_records("events", [Record(key, (key + padding).encode()) for key in keys])
    return [key + padding for key in keys]
