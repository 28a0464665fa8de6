"""How fast PySpark reads a backlog and writes rows, beside the AWS SDK alone: `make bench-beside-sdk` runs it.

A stream of the embedded server, without quotas, is filled once. A PySpark query (`local[2]`, heap of 3 GiB, default
options and trigger, noop sink) and the bare loop of benchmarks/bare take turns in reading it. The query has one JVM for
all of its turns, and each turn counts, the first one in the new JVM too. The loop has a new JVM for each turn, reads
the backlog twice there, and the second reading counts. Before that, each form of the loop is tried once: HTTP/1.1 and
HTTP/2, and several sizes of answers, or of HTTP/2's windows. The form with the highest throughput takes all turns.

Rows are written by a batch query of two tasks, each turn into a new stream of four or 500 shards, and by a loop of
PutRecords calls with as many tasks, and eight calls under way of each.

A setting called `cold` measures the first query of a JVM: query and loop have a new JVM for each of ten turns and read
once in it.

Prints a line of JSON for each setting. `--results` names a file that keeps it, in the place of an earlier one there.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from statistics import mean, median, stdev
from tempfile import TemporaryDirectory
from typing import Any

import bench
import psutil  # type: ignore[import-untyped]
from pyspark.sql import SparkSession, functions
from pyspark.sql.streaming.query import StreamingQuery
from versions import version

from kinesis_spark import (
    Connection,
    EnhancedFanOut,
    KinesisOptions,
    KinesisSinkOptions,
    Polling,
    Position,
    StaticCredentials,
    read_stream,
    session,
    write_batch,
)
from kinesis_spark.local.client import KinesisClient
from kinesis_spark.local.server import server_command

STREAM = "backlog"
SINK_SHARDS, SINK_TASKS = 4, 2
SINKS = ("sink", "aggregate", "ordered")
# Of a row's number, which stands before what all rows have in common.
DIGITS = 10
QUERY_HEAP, SERVER_HEAP = "3g", "10g"
TURNS, COLD_TURNS = 4, 10
LOOK_S = 0.02
CLASS_PATH = Path(__file__).resolve().parents[2] / "benchmarks" / "bare" / "target" / "class-path.txt"

# Of GetRecords.
MOST_RECORDS = 10_000
ANSWERS_MB = (1, 4, 10)
WINDOWS_KIB = (512, 4096)

# Student's t for 95%, two-sided, by degrees of freedom from 1.
T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131)

# The loop's arguments that its forms differ by.
Form = dict[str, str]
# MB/s, CPU s/GB and seconds.
Reading = dict[str, float]


@dataclass(frozen=True)
class Setting:
    """What is read or written, and how."""

    name: str
    # The record publisher of a query that reads; otherwise `sink`, `aggregate` (a sink that aggregates) or `ordered`.
    kind: str
    shards: int = 16
    record_bytes: int = 1000
    megabytes: int = 2000
    tls: bool = False
    cold: bool = False
    # Of the loop.
    heap: str = "2g"
    # The goals, each to the loop's.
    least_throughput: float | None = 0.95
    most_cpu: float | None = None

    def forms(self) -> list[Form]:
        """The forms of the loop that are tried."""
        if self.writes:
            return [{"http": http} for http in ("1.1", "2")]
        if self.kind == "efo":
            return [{"window": str(kib << 10)} for kib in WINDOWS_KIB]
        limits = sorted({min(MOST_RECORDS, mb * 1_000_000 // self.record_bytes) for mb in ANSWERS_MB})
        return [{"http": http, "limit": str(limit)} for http in ("1.1", "2") for limit in limits]

    @property
    def writes(self) -> bool:
        """Whether rows are written."""
        return self.kind in SINKS


SETTINGS = [
    Setting("polling-16-shards", "polling", most_cpu=1.0),
    Setting("fan-out-16-shards", "efo", most_cpu=1.05),
    *(
        Setting(f"{called}-{what}", publisher, **more)
        for what, more in (
            # An answer of 8 MB for each shard at once.
            ("256-shards", {"shards": 256, "heap": "6g", "least_throughput": 0.85}),
            ("1-shard", {"shards": 1}),
            ("100B", {"record_bytes": 100}),
            ("tls", {"tls": True, "least_throughput": 0.9}),
            ("cold", {"cold": True, "least_throughput": 0.6, "most_cpu": 2.5}),
        )
        for called, publisher in (("polling", "polling"), ("fan-out", "efo"))
    ),
    *(
        Setting(
            f"{kind}-{size}",
            kind,
            shards=SINK_SHARDS,
            record_bytes=record_bytes,
            megabytes=megabytes,
            least_throughput=None,
            most_cpu=1.05 if kind == "sink" else None,
        )
        for kind in ("sink", "aggregate")
        # The server keeps what is written; small records take more of its heap than they have bytes.
        for size, record_bytes, megabytes in (("100B", 100, 300), ("562B", 562, 800), ("10kB", 10_000, 2000))
    ),
    # The loop keeps no order.
    Setting(
        "ordered-500-shards",
        "ordered",
        shards=500,
        record_bytes=562,
        megabytes=800,
        least_throughput=None,
        most_cpu=1.05,
    ),
]


def interval(ratios: Sequence[float]) -> tuple[float, float] | None:
    """The 95% t-interval of the mean of paired ratios, taken of their logarithms; None of one pair."""
    if len(ratios) == 1:
        return None
    logs = [math.log(ratio) for ratio in ratios]
    around = T_95[len(logs) - 2] * stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean(logs) - around), math.exp(mean(logs) + around)


def summary(turns: Sequence[dict[str, Reading]]) -> dict[str, Any]:
    """Medians of all turns, their ratios, and the paired ratios' interval, first and last one."""
    line: dict[str, Any] = {}
    for what, unit in (("throughput", "mb_per_s"), ("cpu", "cpu_s_per_gb")):
        query, loop = (median(turn[side][unit] for turn in turns) for side in ("query", "loop"))
        paired = [turn["query"][unit] / turn["loop"][unit] for turn in turns]
        line |= {
            f"query_{unit}": rounded(query),
            f"loop_{unit}": rounded(loop),
            f"{what}_to_loop": rounded(query / loop),
            f"{what}_interval": [rounded(end) for end in interval(paired) or ()],
            f"{what}_first": rounded(paired[0]),
            f"{what}_last": rounded(paired[-1]),
        }
    return line


def rounded(value: float) -> float:
    """To three digits."""
    return float(f"{value:.3g}")


class Child:
    """A process of its own that ends when its standard input does, and prints lines of JSON."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("a child process has no pipes")
        self._orders, self._printed = self._process.stdin, self._process.stdout

    def order(self, line: str) -> None:
        """A line of its standard input."""
        self._orders.write(line + "\n")
        self._orders.flush()

    def answer(self) -> dict[str, Any]:
        """The next object that it prints.

        Raises:
            RuntimeError: if it has ended.
        """
        for line in self._printed:
            if line.startswith("{"):
                return dict(json.loads(line))
        raise RuntimeError(f"{self._process.args!r} has ended with status {self._process.wait()}")

    def last(self) -> dict[str, Any]:
        """Ends it, and returns what it prints then."""
        self._orders.close()
        return self.answer()

    def end(self) -> None:
        """Ends it."""
        self._orders.close()
        self._process.wait(timeout=120)


class Server:
    """The embedded server in a process of its own, with a backlog in one stream if that is to be read."""

    def __init__(self, announced: dict[str, Any], directory: Path, setting: Setting, records: int) -> None:
        self.endpoint: str = announced["tlsEndpoint" if setting.tls else "endpoint"]
        self._setting = setting
        self._records = records
        self._trust_store = directory / "trust.p12"
        self.ca_bundle = directory / "certificate.pem" if setting.tls else None
        self._client = KinesisClient(announced["endpoint"])
        self._names = (f"rows-{number}" for number in count())
        if not setting.writes:
            self._bare("Fill", announced["endpoint"], STREAM, str(setting.record_bytes), str(records))

    @contextmanager
    def stream(self) -> Iterator[str]:
        """The stream of a turn: the backlog, or one to write to that ends with the turn."""
        if not self._setting.writes:
            yield STREAM
            return
        name = next(self._names)
        self._client.create_stream(name, self._setting.shards)
        yield name
        self._client.call("DeleteStream", StreamName=name)

    def loop(self, form: Form, times: int) -> Reading:
        """The last reading or writing of a new JVM."""
        if self._setting.writes:
            program, more = "BareWriter", {"bytes": str(self._setting.record_bytes), "tasks": str(SINK_TASKS)}
        else:
            program, more = "BareLoop", {"publisher": self._setting.kind}
        given = {"endpoint": self.endpoint, "records": str(self._records), "times": str(times), **more, **form}
        with self.stream() as stream:
            lines = self._bare(program, f"stream={stream}", *(f"{name}={value}" for name, value in given.items()))
        return {name: rounded(value) for name, value in json.loads(lines[-1]).items()}

    def _bare(self, program: str, *arguments: str) -> list[str]:
        trusted = [f"-Djavax.net.ssl.trustStore={self._trust_store}", "-Djavax.net.ssl.trustStorePassword=testkit"]
        command = bare(program, *arguments, heap=self._setting.heap, java_options=trusted if self.ca_bundle else ())
        printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        return [line for line in printed.splitlines() if line.startswith("{")]


def bare(program: str, *arguments: str, heap: str, java_options: Sequence[str] = ()) -> list[str]:
    """The command of a program of benchmarks/bare, by the Java that runs the server."""
    java = server_command([])[0]
    name = f"io.github.kinesisspark.bare.{program}"
    return [java, f"-Xmx{heap}", *java_options, "-cp", CLASS_PATH.read_text(), name, *arguments]


@contextmanager
def served(*arguments: str) -> Iterator[dict[str, Any]]:
    """A server in a process of its own; what it announces."""
    first, *rest = server_command(["--exit-with-stdin", *arguments])
    child = Child([first, f"-Xmx{SERVER_HEAP}", *rest])
    try:
        yield child.answer()
    finally:
        child.end()


@contextmanager
def filled(setting: Setting, records: int) -> Iterator[Server]:
    """A server that has the backlog."""
    with TemporaryDirectory() as directory:
        files = {name: str(Path(directory) / name) for name in ("certificate.pem", "trust.p12")}
        tls = ["--tls-port", "0", "--tls-certificate-file", files["certificate.pem"]]
        tls += ["--tls-trust-store", files["trust.p12"]]
        with served("--stream", f"{STREAM}:{setting.shards}", *(tls if setting.tls else [])) as announced:
            yield Server(announced, Path(directory), setting, records)


class Progress:
    """What a query has read, in batches that have ended. A listener in Python takes 0.1 s of CPU for each of them."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self._rows = 0
        self.batches = 0
        # Calls, since the query began.
        self.refused = 0

    def wait(self, records: int) -> None:
        """Until so many have been read.

        Raises:
            RuntimeError: if the query ends before that.
        """
        self._wait_for(records)
        if self._rows != records:
            raise RuntimeError(f"The query has read {self._rows:,} of {records:,} records: {self._end()}")

    def wait_for_first(self) -> None:
        """Until a batch with records has ended.

        Raises:
            RuntimeError: if the query ends before that.
        """
        self._wait_for(1)
        if not self._rows:
            raise RuntimeError(f"The query has read nothing: {self._end()}")

    def _wait_for(self, rows: int) -> None:
        while self._rows < rows and self._query.isActive:
            time.sleep(LOOK_S)
            self._look()
        self._look()

    def _end(self) -> object:
        return self._query.exception() or "it was stopped"

    def _look(self) -> None:
        # `recentProgress` would have all of them written and read again each time.
        recent = self._query._jsq.recentProgress()  # noqa: SLF001
        for each in range(self.batches, len(recent)):
            progress = json.loads(recent[each].json())
            self._rows += progress["numInputRows"]
            self.batches += 1
            # Sources of Spark's own have no metrics.
            self.refused = int(progress["sources"][0].get("metrics", {}).get("callsThrottled", 0))


def queries(endpoint: str, kind: str, records: str, record_bytes: str, ca_bundle: str) -> None:
    """The program of a query's process: a line of standard input names a query's stream, and its reading is printed."""
    spark = session_of_query("beside-sdk")
    system = spark._jvm.java.lang.System  # type: ignore[union-attr]  # noqa: SLF001
    bench.say({"java": f"{system.getProperty('java.vm.name')} {system.getProperty('java.version')}"})
    connection = Connection(ca_bundle=ca_bundle or None)
    for turn, line in enumerate(sys.stdin):
        stream = line.strip()
        if kind in SINKS:
            to = KinesisSinkOptions(
                stream_name=stream,
                region="us-east-1",
                endpoint=endpoint,
                connection=connection,
                credentials=StaticCredentials("local", "local"),
                aggregate=kind == "aggregate",
                ordered=kind == "ordered",
            )
            bench.say(write_out(spark, to, int(records), int(record_bytes)))
        else:
            publisher = Polling() if kind == "polling" else EnhancedFanOut(f"turn-{turn}")
            options = local_source(endpoint, publisher, stream).replace(connection=connection)
            bench.say(catch_up(spark, options, int(records), int(record_bytes)))
    spark.stop()


def local_source(endpoint: str, publisher: Polling | EnhancedFanOut, stream: str = STREAM) -> KinesisOptions:
    """A local server's stream from its beginning, with default options otherwise."""
    return KinesisOptions(
        stream_name=stream,
        region="us-east-1",
        endpoint=endpoint,
        credentials=StaticCredentials("local", "local"),
        starting_position=Position.trim_horizon(),
        record_publisher=publisher,
    )


def session_of_query(name: str, config: dict[str, Any] | None = None) -> SparkSession:
    """The session of a query's process."""
    builder = session.builder(name, "local[2]").config("spark.driver.memory", QUERY_HEAP)
    builder = builder.config(map=config or {}).config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.streaming.numRecentProgressUpdates", "100000")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


class Stopwatch:
    """Time and CPU of a session's JVM from now on."""

    def __init__(self, spark: SparkSession) -> None:
        pid = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]  # noqa: SLF001
        self._jvm = psutil.Process(int(pid))
        self._cpu, self._began = self._cpu_s(), time.monotonic()

    def reading(self, records: int, record_bytes: int) -> Reading:
        """What so many records have taken."""
        seconds, used = time.monotonic() - self._began, self._cpu_s() - self._cpu
        megabytes = records * record_bytes / 1e6
        reading = {"mb_per_s": megabytes / seconds, "cpu_s_per_gb": used / (megabytes / 1000), "s": seconds}
        return {name: rounded(value) for name, value in reading.items()}

    def _cpu_s(self) -> float:
        times = self._jvm.cpu_times()
        return float(times.user + times.system)


def catch_up(spark: SparkSession, options: KinesisOptions, records: int, record_bytes: int) -> Reading:
    """One query, from its making until all records are in batches that have ended."""
    with TemporaryDirectory() as checkpoint:
        watch = Stopwatch(spark)
        writer = read_stream(spark, options).writeStream.format("noop")
        query = writer.option("checkpointLocation", checkpoint).start()
        progress = Progress(query)
        progress.wait(records)
        reading = watch.reading(records, record_bytes)
        query.stop()
    return reading | {"batches": progress.batches, "refused": progress.refused}


def write_out(spark: SparkSession, to: KinesisSinkOptions, records: int, record_bytes: int) -> Reading:
    """One batch query, from its making until all rows are in the stream. The bare loop makes rows as cheaply."""
    watch = Stopwatch(spark)
    number = functions.lpad(functions.col("id").cast("string"), DIGITS, "0")
    filler = functions.lit("x" * (record_bytes - DIGITS))
    rows = spark.range(0, records, 1, SINK_TASKS)
    write_batch(rows.select(functions.concat(number, filler).alias("data"), number.alias("partitionKey")), to)
    return watch.reading(records, record_bytes)


class Query(Child):
    """The process of a query, with a JVM of its own that has a session and has read nothing yet."""

    def __init__(self, server: Server, setting: Setting, records: int) -> None:
        self._server = server
        arguments = (server.endpoint, setting.kind, records, setting.record_bytes, server.ca_bundle or "")
        super().__init__([sys.executable, __file__, "--query", *map(str, arguments)])
        self.java = str(self.answer()["java"])

    def read(self) -> Reading:
        """Reads the backlog once, or writes the rows once."""
        with self._server.stream() as stream:
            self.order(stream)
            return self.answer()


def measure(setting: Setting, megabytes: int, turns: int) -> dict[str, Any]:
    """One setting, with all of its turns."""
    records = megabytes * 1_000_000 // setting.record_bytes
    times = 1 if setting.cold else 2
    with filled(setting, records) as server:
        tried: list[tuple[Form, Reading]] = []
        for form in setting.forms():
            # A form that fails, as one that runs out of memory, is not the best.
            try:
                tried.append((form, server.loop(form, times)))
            except subprocess.CalledProcessError:
                tried.append((form, {"mb_per_s": 0.0}))
            print(setting.name, "tried", *tried[-1], file=sys.stderr)
        best, _ = max(tried, key=lambda of: of[1]["mb_per_s"])
        measured: list[dict[str, Reading]] = []
        query = Query(server, setting, records)
        for turn in range(turns):
            if turn and setting.cold:
                query.end()
                query = Query(server, setting, records)
            measured.append({"query": query.read(), "loop": server.loop(best, times)})
            print(setting.name, "turn", turn + 1, measured[-1], file=sys.stderr)
        query.end()
    return {
        **asdict(setting),
        "megabytes": megabytes,
        **summary(measured),
        "form": best,
        "tried": [{**form, **reading} for form, reading in tried],
        "turns": measured,
        "versions": f"{query.java}, Spark {version('spark')}, AWS SDK {version('awsSdk')}",
    }


def main() -> None:
    """Measures the settings that are wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--query", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--megabytes", type=int, help="in place of each setting's own")
    parser.add_argument("--turns", type=int, help=f"of each setting ({TURNS}, and {COLD_TURNS} of first queries)")
    parser.add_argument("--results", type=Path, help="the file that keeps the lines")
    parser.add_argument("only", nargs="?", default="", help="parts of the names of settings, with commas between them")
    asked = parser.parse_args()
    if asked.query:
        queries(*asked.query)
        return
    words = asked.only.split(",")
    for setting in SETTINGS:
        if any(word in setting.name for word in words):
            line = measure(
                setting, asked.megabytes or setting.megabytes, asked.turns or (COLD_TURNS if setting.cold else TURNS)
            )
            bench.record(line, asked.results)


if __name__ == "__main__":
    main()
