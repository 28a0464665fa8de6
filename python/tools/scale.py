"""What a query costs against its shards and executors: `make bench-scale` runs it, on Linux.

A PySpark query with default options and a noop sink reads a stream of an embedded server. The server, the driver and
each executor, of one core and a heap of 1 GiB, have a process of their own. One record goes to each shard, and once all
are in batches the query settles. Then the stream is idle for 30 s. After that 1,000 records of 100 B a second go to all
shards in turn; 30 s of that count, after 15 s. Heaps are what a collection leaves at the end; buffers outside the heap
are category `Other` of the JVM's native memory tracking. Messages are the bytes of the driver's port to which executors
connect, Spark's own among them.

Prints a line of JSON for each setting. `--results` names a file that keeps it, `NAME-scale.jsonl`, and `--page` a page
whose tables show the newest lines of all such files there, with docs/pictures/scale.svg.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from threading import Event, Thread
from typing import Any

import bench
import marked
import picture
import psutil  # type: ignore[import-untyped]
from beside_sdk import STREAM, rounded, served
from cluster_query import CALLED, ClusterQuery, Executors, buffers_mb, jcmd
from matplotlib.figure import Figure
from picture import BLUE, RED

from kinesis_spark.local.client import KinesisClient, Record

HEAP_MB = 1024
# A JVM compiles what is called for about a minute, which takes more than calling it.
SETTLE_S, SPAN_S, RAMP_S = 45.0, 30.0, 15.0
PATIENCE_S = 300.0
RECORDS_A_SECOND, RECORD_BYTES, CALLS_A_SECOND = 1000, 100, 2
PICTURE = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "scale.svg"


@dataclass(frozen=True)
class Scale:
    """A query, its stream, and its executors."""

    kind: str
    shards: int
    executors: int

    @property
    def name(self) -> str:
        """What the results call it."""
        return f"{self.kind}-{self.shards}-shards-{self.executors}-executors"


SIZES = [(1, 1), (16, 1), (100, 1), (1000, 1), (1000, 2), (1000, 4), (10_000, 1), (10_000, 4)]
SCALES = [Scale(kind, *size) for kind in CALLED for size in SIZES]


class Shards:
    """Puts records to the shards in turn."""

    def __init__(self, endpoint: str, shards: int) -> None:
        self._client = KinesisClient(endpoint)
        self._keys = [str((2 * shard + 1) * 2**127 // shards) for shard in range(shards)]
        self._next = 0

    def put(self, records: int) -> None:
        """So many."""
        keys = [self._keys[(self._next + n) % len(self._keys)] for n in range(records)]
        self._client.put_records(STREAM, [Record("key", b"x" * RECORD_BYTES, key) for key in keys])
        self._next += records

    @contextmanager
    def kept_busy(self) -> Iterator[None]:
        """Records come at a steady rate."""
        done = Event()

        def produce() -> None:
            due = time.monotonic()
            while not done.wait(max(0.0, due - time.monotonic())):
                self.put(RECORDS_A_SECOND // CALLS_A_SECOND)
                due += 1 / CALLS_A_SECOND

        producer = Thread(target=produce)
        producer.start()
        try:
            yield
        finally:
            done.set()
            producer.join()


@dataclass(frozen=True)
class Used:
    """What has been used so far: s of CPU, and the bytes of each connection to the driver's port and from it."""

    driver_s: float
    executors_s: float
    received: dict[str, int]
    sent: dict[str, int]

    def since(self, before: Used, seconds: float) -> dict[str, float]:
        """Cores, and KB of messages a second."""
        a_second = {
            "driver_cores": (self.driver_s - before.driver_s) / seconds,
            "executor_cores": (self.executors_s - before.executors_s) / seconds,
            "reports_kb_s": grown(before.received, self.received) / seconds / 1000,
            "orders_kb_s": grown(before.sent, self.sent) / seconds / 1000,
        }
        return {name: rounded(value) for name, value in a_second.items()}


def used(query: ClusterQuery) -> Used:
    """By a query's processes."""
    command = ["ss", "-tinH", "state", "established", f"( sport = :{query.port} )"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return Used(
        cpu_s([query.driver]), cpu_s(query.executors()), by_peer("bytes_received", said), by_peer("bytes_sent", said)
    )


def cpu_s(processes: Sequence[psutil.Process]) -> float:
    """Of all of them."""
    return float(sum(times.user + times.system for times in (process.cpu_times() for process in processes)))


def by_peer(what: str, said: str) -> dict[str, int]:
    """A number of each connection that `ss` has printed, in a line of addresses and one of numbers."""
    lines = said.splitlines()
    found = {}
    for addresses, numbers in zip(lines[::2], lines[1::2], strict=True):
        number = re.search(rf"\b{what}:(\d+)", numbers)
        found[addresses.split()[3]] = int(number[1]) if number else 0
    return found


def grown(before: dict[str, int], after: dict[str, int]) -> int:
    """By how much; a connection may have come in between."""
    return sum(value - before.get(peer, 0) for peer, value in after.items())


def span(query: ClusterQuery, name: str) -> dict[str, float]:
    """What a while takes."""
    before, began = used(query), time.monotonic()
    time.sleep(SPAN_S)
    taken = used(query).since(before, time.monotonic() - began)
    return {f"{name}_{what}": value for what, value in taken.items()}


def memory(query: ClusterQuery) -> dict[str, float]:
    """What the driver has, and an executor on the average."""
    executors = query.executors()
    return {
        "driver_heap_mb": heap_mb(query.driver),
        "executor_heap_mb": round(mean(map(heap_mb, executors))),
        "executor_buffers_mb": round(mean(map(buffers_mb, executors))),
        "driver_threads": query.driver.num_threads(),
        "executor_threads": round(mean(process.num_threads() for process in executors)),
    }


def heap_mb(process: psutil.Process) -> int:
    """MiB that a collection leaves."""
    jcmd(process, "GC.run")
    return heap_kb(jcmd(process, "GC.heap_info")) >> 10


def heap_kb(said: str) -> int:
    """What is used, of any collector's parts."""
    return sum(int(number) for number in re.findall(r"(?:heap|generation) +total \d+K, used (\d+)K", said))


def measure(of: Scale) -> dict[str, Any]:
    """One setting."""
    with served("--stream", f"{STREAM}:{of.shards}") as announced:
        query = ClusterQuery(announced["endpoint"], of.kind, Executors(of.executors, 1, HEAP_MB))
        shards = Shards(announced["endpoint"], of.shards)
        began = time.monotonic()
        shards.put(of.shards)
        while query.batches()["rows"] < of.shards:
            if time.monotonic() - began > PATIENCE_S:
                raise RuntimeError(f"{of.name}: not all shards were read within {PATIENCE_S:g} s")
            time.sleep(1)
        first_s = round(time.monotonic() - began)
        time.sleep(SETTLE_S)
        idle = span(query, "idle")
        with shards.kept_busy():
            time.sleep(RAMP_S)
            query.batches()
            busy = span(query, "busy")
            batches = query.batches()
        found = {"first_s": first_s, **idle, **busy, **batches, **memory(query)}
        query.end()
    return {**asdict(of), **found}


Column = tuple[str, Callable[[dict[str, Any]], object]]


def figure(what: str) -> Callable[[dict[str, Any]], object]:
    """A number of a line."""
    return lambda line: marked.number(line[what])


WHICH: list[Column] = [
    ("query", lambda line: CALLED[line["kind"]]),
    ("shards", lambda line: f"{line['shards']:,}"),
    ("executors", figure("executors")),
]
IDLE: list[Column] = [
    ("driver, cores", figure("idle_driver_cores")),
    ("executors, cores", figure("idle_executor_cores")),
    ("to the driver, KB/s", figure("idle_reports_kb_s")),
    ("from it, KB/s", figure("idle_orders_kb_s")),
]
BUSY: list[Column] = [
    ("planning, ms", figure("planning_ms")),
    ("batch, ms", figure("batch_ms")),
    ("driver, cores", figure("busy_driver_cores")),
    ("executors, cores", figure("busy_executor_cores")),
    ("to the driver, KB/s", figure("busy_reports_kb_s")),
    ("from it, KB/s", figure("busy_orders_kb_s")),
]
MEMORY: list[Column] = [
    ("driver's heap, MiB", figure("driver_heap_mb")),
    ("an executor's heap, MiB", figure("executor_heap_mb")),
    ("an executor's buffers outside it, MiB", figure("executor_buffers_mb")),
    ("driver's threads", figure("driver_threads")),
    ("an executor's threads", figure("executor_threads")),
    ("offset, KB", lambda line: marked.number(rounded(line["offset_bytes"] / 1000))),
]


def table(columns: Sequence[Column], lines: Sequence[dict[str, Any]]) -> str:
    """A row for each setting."""
    rows = [f"| {' | '.join(name for name, _ in columns)} |", "|---" * len(columns) + "|"]
    rows += [f"| {' | '.join(str(cell(line)) for _, cell in columns)} |" for line in lines]
    return "\n".join(rows)


def growth(lines: Sequence[dict[str, Any]]) -> str:
    """What a thousand shards more take of one executor, from the fewest shards to the most."""
    grows = {
        "executors' cores while idle": "idle_executor_cores",
        "driver's cores while idle": "idle_driver_cores",
        "KB/s to the driver while idle": "idle_reports_kb_s",
        "ms of a batch": "batch_ms",
        "MiB of the driver's heap": "driver_heap_mb",
        "MiB of the executor's heap": "executor_heap_mb",
    }
    measured = {kind: alone(kind, lines) for kind in CALLED}
    ends = {kind: (of_kind[0], of_kind[-1]) for kind, of_kind in measured.items() if of_kind}
    rows = [f"| 1,000 shards more take | {' | '.join(CALLED[kind] for kind in ends)} |", "|---" * (1 + len(ends)) + "|"]
    for name, what in grows.items():
        cells = [
            marked.number(rounded((most[what] - fewest[what]) * 1000 / (most["shards"] - fewest["shards"])))
            for fewest, most in ends.values()
        ]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def alone(kind: str, lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of one executor, from the fewest shards to the most."""
    found = [line for line in lines if line["kind"] == kind and line["executors"] == 1]
    return sorted(found, key=lambda line: int(line["shards"]))


def shown(results: Path) -> list[dict[str, Any]]:
    """The newest line of each setting, in the order of the page."""
    return bench.newest(results, "scale", [scale.name for scale in SCALES])


def sections(lines: Sequence[dict[str, Any]]) -> dict[str, str]:
    """What the page shows between its marks."""
    return {
        "idle": table(WHICH + IDLE, lines),
        "busy": table(WHICH + BUSY, lines),
        "memory": table(WHICH + MEMORY, lines),
        "growth": f"{growth(lines)}\n\n{bench.stamp(lines, 'bench-scale')}",
    }


def drawn(lines: Sequence[dict[str, Any]]) -> Figure:
    """Costs of one executor over the number of shards."""
    panels = {
        "executor while idle, cores": "idle_executor_cores",
        "to the driver while idle, KB/s": "idle_reports_kb_s",
        "a batch, ms": "batch_ms",
        "executor's heap, MiB": "executor_heap_mb",
    }
    figure = Figure(figsize=(10, 5.4), layout="constrained")
    for axes, (title, what) in zip(figure.subplots(2, 2).flat, panels.items(), strict=True):
        for kind, colour in zip(CALLED, (BLUE, RED), strict=True):
            found = alone(kind, lines)
            x, y = [line["shards"] for line in found], [line[what] for line in found]
            axes.plot(x, y, "o-", color=colour, label=CALLED[kind])
        axes.set(xscale="log", title=title, xlabel="shards")
        axes.set_ylim(bottom=0)
        axes.grid(visible=True)
        axes.legend(frameon=False)
    return figure


def main() -> None:
    """Measures the settings that are wanted, and writes the page."""
    asked = bench.parser(__doc__).parse_args()
    bench.run(SCALES, measure, asked)
    if asked.page:
        lines = shown(asked.results.parent)
        for name, text in sections(lines).items():
            marked.put(asked.page, name, text)
        description = "What a query of one executor takes over the number of its shards, from 1 to 10,000."
        picture.save(drawn(lines), PICTURE, description)


if __name__ == "__main__":
    main()
