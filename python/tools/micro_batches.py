"""What a PySpark user sees of micro-batches: `make bench-micro-batches` runs it.

Records are put one by one into four shards of a local server in a process of its own, and a query with default
options takes them by `foreachBatch`. A record's latency lasts from just before its PutRecords call until the function
has its batch's rows in Python. Then the stream stands still, and the query's Spark jobs and the CPU time of its JVMs
are counted. Polling and fan-out, each in `local[2]` and on `local-cluster[2,1,2048]`, one after the other. Before them,
in each, batches of Spark's rate source, with as many tasks as the connector's have there: what is Spark's own. Prints
a line of JSON for each figure.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

import marked
import psutil  # type: ignore[import-untyped]
from bench import say
from beside_sdk import local_source
from pyspark.sql import DataFrame, SparkSession
from versions import commit

from kinesis_spark import EnhancedFanOut, LocalKinesis, Polling, Record, read_stream, session
from kinesis_spark.local import KinesisClient

MASTERS = {"local": "local[2]", "cluster": "local-cluster[2,1,2048]"}
PUBLISHERS: dict[str, Polling | EnhancedFanOut] = {"polling": Polling(), "fan-out": EnhancedFanOut("benchmark")}
SHARDS = 4
EVERY_S = 0.05
# Until classes are loaded and the compiler has seen the code.
WARM_UP_S = 20.0
CLUSTER_TO_LOCAL_GOAL = 1.3
P99_GOAL_MS = {"local": None, "cluster": 1000.0}


def spark_on(master: str) -> SparkSession:
    """A session for a query."""
    builder = session.builder("micro-batches", master).config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def empty_batches(master: str, directory: str, seconds: str) -> None:
    """Prints how long batches take that have ten rows from nowhere, in ms."""
    spark = spark_on(master)
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "10000")
    tasks = "1" if master == MASTERS["local"] else "2"
    rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", "10").option("numPartitions", tasks)

    def collect(rows: DataFrame, _: int) -> None:
        rows.collect()

    writer = rate.load().writeStream.foreachBatch(collect)
    started = writer.option("checkpointLocation", directory).start()
    # Nothing can be awaited: it is about what happens meanwhile.
    time.sleep(WARM_UP_S)
    warm = len(started.recentProgress)
    time.sleep(float(seconds))
    say([each.durationMs["triggerExecution"] for each in started.recentProgress[warm:]])
    started.stop()
    spark.stop()


def query(endpoint: str, publisher: str, master: str, directory: str) -> None:
    """Prints `[when put, when it came]` of each record; a line of standard input asks for the number of jobs so far."""
    spark = spark_on(master)
    options = local_source(endpoint, PUBLISHERS[publisher], stream="s")

    def write(rows: DataFrame, _: int) -> None:
        put = [float(row.data.decode()) for row in rows.select("data").collect()]
        came = time.time()
        for each in put:
            say([each, came])

    running = read_stream(spark, options).writeStream.foreachBatch(write)
    started = running.option("checkpointLocation", directory).start()
    jobs = spark.sparkContext._jsc.sc().dagScheduler()  # noqa: SLF001
    for _ in sys.stdin:
        say(jobs.numTotalJobs())
        if not started.isActive:
            raise RuntimeError(str(started.exception()))
    started.stop()
    spark.stop()


class Query:
    """The program above, in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, __file__, "--query", *arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the query's process has no pipes")
        self._commands, self._said = self._process.stdin, self._process.stdout
        self.latencies: list[tuple[float, float]] = []
        self._jobs: list[int] = []
        self._ended = False
        self._answered = threading.Condition()
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def jobs(self) -> int:
        """Spark jobs that it has run so far."""
        known = len(self._jobs)
        self._commands.write("\n")
        self._commands.flush()
        self._await(lambda: len(self._jobs) > known, "an answer")
        return self._jobs[-1]

    def await_records(self, number: int) -> None:
        """Until so many have come."""
        self._await(lambda: len(self.latencies) >= number, f"{number} records")

    def _await(self, there: Callable[[], bool], what: str) -> None:
        with self._answered:
            self._answered.wait_for(lambda: there() or self._ended, timeout=180)
        if not there():
            raise RuntimeError(f"{what} did not come from the query, which has {len(self.latencies)} records")

    def cpu_s(self) -> float:
        """CPU time of its JVMs: the driver's, and executors' of a local cluster, which are the driver's children."""
        seconds = 0.0
        for process in psutil.Process(self._process.pid).children(recursive=True):
            # Some are gone by the time they are looked at.
            with suppress(psutil.NoSuchProcess):
                if process.name() == "java":
                    times = process.cpu_times()
                    seconds += times.user + times.system
        return seconds

    def end(self) -> None:
        """Stops it."""
        self._commands.close()
        self._process.wait(timeout=120)
        self._reading.join()

    def _read(self) -> None:
        for line in self._said:
            value = json.loads(line)
            with self._answered:
                if isinstance(value, int):
                    self._jobs.append(value)
                else:
                    self.latencies.append((value[0], value[1] - value[0]))
                self._answered.notify_all()
        with self._answered:
            self._ended = True
            self._answered.notify_all()


@contextmanager
def running(endpoint: str, publisher: str, master: str) -> Iterator[Query]:
    """A query of its own checkpoint."""
    with TemporaryDirectory() as directory:
        started = Query(endpoint, publisher, master, directory)
        try:
            yield started
        finally:
            started.end()


def measured(publisher: str, master: str, seconds: float) -> dict[str, float]:
    """Latencies in ms, and what the idle query did within a minute."""
    with LocalKinesis({"s": SHARDS}) as kinesis, running(kinesis.endpoint, publisher, master) as started:
        client = KinesisClient(kinesis.endpoint)
        sent = put_until(client, time.time() + WARM_UP_S, started)
        begin = time.time()
        sent += put_until(client, begin + seconds)
        started.await_records(sent)
        cuts = quantiles([latency * 1000 for at, latency in started.latencies if at >= begin], n=1000)
        jobs, cpu = started.jobs(), started.cpu_s()
        # Nothing can be awaited: it is about what doesn't happen.
        time.sleep(60)
        return {
            "50%": round(cuts[499], 1),
            "99%": round(cuts[989], 1),
            "jobs": started.jobs() - jobs,
            "cores": round((started.cpu_s() - cpu) / 60, 3),
        }


def measured_empty(master: str, seconds: float) -> dict[str, float]:
    """Times of batches that read nothing, in ms."""
    with TemporaryDirectory() as directory:
        command = [sys.executable, __file__, "--empty", master, directory, str(seconds)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    cuts = quantiles(json.loads(said), n=1000)
    return {"50%": round(cuts[499], 1), "99%": round(cuts[989], 1)}


def put_until(client: KinesisClient, end: float, first: Query | None = None) -> int:
    """Puts records one by one, the time of each in it; how many. With a query, its first record moves the end."""
    sent = 0
    if first is not None:
        sent = put(client, sent)
        length = end - time.time()
        first.await_records(1)
        end = time.time() + length
    while time.time() < end:
        sent = put(client, sent)
        time.sleep(EVERY_S)
    return sent


def put(client: KinesisClient, sent: int) -> int:
    """One more record; how many there are."""
    client.put_records("s", [Record(f"key-{sent}", repr(time.time()).encode())])
    return sent + 1


def lines(publisher: str, where: str, results: dict[tuple[str, str], dict[str, float]]) -> list[dict[str, object]]:
    """A line of JSON for each figure of a setting; those with a goal are marked."""
    of, name = results[publisher, where], f"micro_batches.{publisher}.{where}"
    figures: list[dict[str, object]] = [
        {"name": f"{name}.p50", "value": of["50%"], "unit": "ms", **at_most(of["50%"], None)},
        {"name": f"{name}.p99", "value": of["99%"], "unit": "ms", **at_most(of["99%"], P99_GOAL_MS[where])},
        {"name": f"{name}.idle_jobs", "value": of["jobs"], "unit": "jobs/min", **at_most(of["jobs"], 0)},
        {"name": f"{name}.idle_cpu", "value": of["cores"], "unit": "cores", **at_most(of["cores"], None)},
    ]
    if where == "cluster":
        ratio = round(of["50%"] / results[publisher, "local"]["50%"], 2)
        goal = at_most(ratio, CLUSTER_TO_LOCAL_GOAL)
        figures.append({"name": f"{name}.p50_to_local", "value": ratio, "unit": "times", **goal})
    return figures


def empty_lines(where: str, of: dict[str, float]) -> list[dict[str, object]]:
    """A line of JSON for each figure of batches that read nothing."""
    name = f"micro_batches.empty.{where}"
    return [
        {"name": f"{name}.p{share}", "value": of[f"{share}%"], "unit": "ms", "goal": None, "met": None}
        for share in (50, 99)
    ]


def at_most(value: float, goal: float | None) -> dict[str, object]:
    """The goal as text, and whether it is met."""
    return {"goal": goal if goal is None else f"at most {goal:g}", "met": goal if goal is None else value <= goal}


def table(
    empty: dict[str, dict[str, float]],
    results: dict[tuple[str, str], dict[str, float]],
    method: dict[str, str],
) -> str:
    """The results for the page."""
    rows = [
        "| | median, ms | 99%, ms | idle: Spark jobs in a minute | idle: cores |",
        "|---|---|---|---|---|",
        *(
            f"| a batch of Spark's rate source, `{MASTERS[where]}` | {of['50%']:.0f} | {of['99%']:.0f} | | |"
            for where, of in empty.items()
        ),
        *(
            f"| {publisher}, `{MASTERS[where]}` | {of['50%']:.0f} | {of['99%']:.0f} "
            f"| {of['jobs']:.0f} | {of['cores']:.2f} |"
            for (publisher, where), of in results.items()
        ),
    ]
    text = f"Recorded on {method['date'][:10]} (commit {method['commit']}): {method['method']}, on {method['machine']}."
    return "\n".join(rows) + f"\n\n{text}"


def main() -> None:
    """Measures all, prints the lines, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--query", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--empty", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=60.0, help="for which latencies are taken, each time (60)")
    parser.add_argument("--page", type=Path, help="whose part `micro-batches` is written anew")
    asked = parser.parse_args()
    if asked.query:
        query(*asked.query)
        return
    if asked.empty:
        empty_batches(*asked.empty)
        return
    method = {
        "method": f"a record each {EVERY_S * 1000:.0f} ms to {SHARDS} shards for {asked.seconds:.0f} s",
        "commit": commit(),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": f"{psutil.cpu_count()} cores with {psutil.virtual_memory().total >> 30} GiB",
    }
    empty: dict[str, dict[str, float]] = {}
    for where, master in MASTERS.items():
        empty[where] = measured_empty(master, asked.seconds)
        for line in empty_lines(where, empty[where]):
            say({**line, **method})
    results: dict[tuple[str, str], dict[str, float]] = {}
    for publisher in PUBLISHERS:
        for where, master in MASTERS.items():
            results[publisher, where] = measured(publisher, master, asked.seconds)
            for line in lines(publisher, where, results):
                say({**line, **method})
    if asked.page:
        marked.put(asked.page, "micro-batches", table(empty, results, method))


if __name__ == "__main__":
    main()
