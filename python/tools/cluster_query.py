"""A PySpark query with default options and a noop sink on executors of their own, in a process of its own."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import psutil  # type: ignore[import-untyped]
from bench import say
from beside_sdk import Child, local_source
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kinesis_spark import EnhancedFanOut, Polling, read_stream, session

# How a result's `kind` is called on a page.
CALLED = {"polling": "polling", "efo": "fan-out"}


@dataclass(frozen=True)
class Executors:
    """What a query runs on: all on this machine, as `local-cluster` has it."""

    count: int
    cores: int
    heap_mb: int


class ClusterQuery(Child):
    """The process of a query that reads a stream from its beginning, the JVM of its driver, and those of its executors.

    Attributes:
        driver: its JVM.
        port: where executors connect to it.
    """

    def __init__(self, endpoint: str, kind: str, executors: Executors, trigger: str = "0 seconds") -> None:
        master = f"local-cluster[{executors.count},{executors.cores},{executors.heap_mb}]"
        super().__init__([sys.executable, __file__, endpoint, kind, master, trigger])
        started = self.answer()
        self.driver = psutil.Process(int(started["pid"]))
        self.port = int(started["port"])

    def batches(self) -> dict[str, Any]:
        """The batches with records that have ended since the last call, of the last hundred."""
        self.order("")
        return self.answer()

    def executors(self) -> list[psutil.Process]:
        """Those that run now."""
        found = []
        for process in self.driver.children(recursive=True):
            # Some are gone by the time they are looked at.
            with suppress(psutil.NoSuchProcess):
                if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in process.cmdline():
                    found.append(process)
        return found


def buffers_mb(process: psutil.Process) -> int:
    """MiB in buffers outside a JVM's heap, those of the JDK and of Netty.

    Raises:
        subprocess.CalledProcessError: if it has ended.
    """
    found = re.search(r"- +Other \(reserved=\d+KB, committed=(\d+)KB", jcmd(process, "VM.native_memory", "summary"))
    return int(found[1]) >> 10 if found else 0


def jcmd(process: psutil.Process, *command: str) -> str:
    """What a JVM answers to a diagnostic command.

    Raises:
        subprocess.CalledProcessError: if it has ended.
    """
    return subprocess.run(["jcmd", str(process.pid), *command], capture_output=True, text=True, check=True).stdout


class Batches:
    """The batches of a query that have records."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self._last = -1
        self._rows = 0

    def since(self) -> dict[str, Any]:
        """What has ended since the last call, in numbers; rows are those of all batches."""
        # In Python, `recentProgress` writes and reads all offsets.
        found = [
            progress
            for progress in self._query._jsq.recentProgress()  # noqa: SLF001
            if progress.batchId() > self._last and progress.numInputRows() > 0
        ]
        self._rows += sum(int(progress.numInputRows()) for progress in found)
        answer: dict[str, Any] = {"batches": len(found), "rows": self._rows}
        if found:
            self._last = found[-1].batchId()
            for name, what in {"planning_ms": "latestOffset", "batch_ms": "triggerExecution"}.items():
                answer[name] = median(int(progress.durationMs().get(what)) for progress in found)
            answer["offset_bytes"] = len(found[-1].sources()[0].endOffset())
        return answer


def run(endpoint: str, kind: str, master: str, trigger: str) -> None:
    """The program: a line of its standard input asks for the batches since the last one, and the end of it ends it."""
    builder = session.builder("cluster-query", master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.executor.extraJavaOptions", "-XX:NativeMemoryTracking=summary")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.ui.showConsoleProgress", "false")
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    options = local_source(endpoint, Polling() if kind == "polling" else EnhancedFanOut("cluster-query"))
    with TemporaryDirectory() as checkpoint:
        writer = read_stream(spark, options).writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = writer.trigger(processingTime=trigger).start()
        jvm = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]  # noqa: SLF001
        say({"pid": int(jvm), "port": int(spark.sparkContext.getConf().get("spark.driver.port") or 0)})
        batches = Batches(query)
        for _ in sys.stdin:
            say(batches.since())
        if not query.isActive:
            raise RuntimeError(str(query.exception()))
        # With the driver, and with those that are gone.
        all_executors = spark._jsc.sc().statusStore().executorList(False)  # noqa: FBT003, SLF001
        say({**batches.since(), "executors": all_executors.size() - 1})
        query.stop()
    spark.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for argument in ("endpoint", "kind", "master", "trigger"):
        parser.add_argument(argument)
    run(**vars(parser.parse_args()))
