"""What an executor needs of memory beside its heap: `make bench-containers` runs it, on Linux, as root.

A PySpark query with default options and a noop sink reads a backlog from an embedded server in a process of its own.
Its one executor has two cores and runs in a memory cgroup of its heap and overhead, as on YARN or Kubernetes, where a
process that goes beyond that is killed. A batch begins each 15 s, so buffers are full most of the time. The memory is
looked at every fifth of a second for 90 s, and what is in buffers outside the heap every few seconds: category `Other`
of the JVM's native memory tracking, where those of the JDK and of Netty are.

Prints a line of JSON for each setting. `--results` names a file that keeps it, `NAME-containers.jsonl`, and `--page` a
page whose table shows the newest lines of all such files there.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import bench
import marked
import psutil  # type: ignore[import-untyped]
from beside_sdk import Setting, filled
from cluster_query import CALLED, ClusterQuery, Executors, buffers_mb

HEAP_MB, OVERHEAD_MB = 1024, 384
PRESSURE_S, LOOK_S = 90.0, 0.2
# Looks at the whole memory for one at the buffers outside the heap.
LOOKS = 25


@dataclass(frozen=True)
class Container:
    """What one executor reads, and what it may have in MiB beside its heap."""

    kind: str
    shards: int
    record_bytes: int
    megabytes: int
    overhead_mb: int = OVERHEAD_MB

    @property
    def name(self) -> str:
        """What the results call it."""
        return f"{self.kind}-{self.shards}-shards-{self.record_bytes}B-{self.overhead_mb}MiB"


CONTAINERS = [
    *(Container(kind, 8, 1_000_000, 4000) for kind in CALLED),
    *(Container(kind, 1000, 1000, 2000) for kind in CALLED),
    # What the pages say for fan-out: half a MiB more for each shard.
    Container("efo", 1000, 1000, 2000, OVERHEAD_MB + 500),
]


@dataclass(frozen=True)
class CgroupFiles:
    """What a version of cgroups calls things."""

    root: Path
    limit: str
    # In `memory.stat`: memory that can't be given back, as pages of files can.
    anonymous: str
    kills: str


V1 = CgroupFiles(Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "total_rss", "memory.oom_control")
V2 = CgroupFiles(Path("/sys/fs/cgroup"), "memory.max", "anon", "memory.events")


class Cgroup:
    """A group of processes with a limit of memory."""

    def __init__(self, limit_mb: int) -> None:
        self._files = V2 if (V2.root / "cgroup.controllers").exists() else V1
        self._path = self._files.root / "kinesis-spark-containers"
        self._path.mkdir()
        (self._path / self._files.limit).write_text(str(limit_mb << 20))

    def take(self, processes: Sequence[psutil.Process]) -> None:
        """Puts them into it; those that are in it stay."""
        there = set((self._path / "cgroup.procs").read_text().split())
        for process in processes:
            # One that was killed is gone.
            if str(process.pid) not in there:
                with suppress(ProcessLookupError):
                    (self._path / "cgroup.procs").write_text(str(process.pid))

    def used_mb(self) -> int:
        """MiB that its processes have."""
        return self._value("memory.stat", self._files.anonymous) >> 20

    def kills(self) -> int:
        """How often a process of it was killed for its memory."""
        return self._value(self._files.kills, "oom_kill")

    def remove(self) -> None:
        """Ends it, once its processes have ended."""
        while (self._path / "cgroup.procs").read_text():
            time.sleep(0.1)
        self._path.rmdir()

    def _value(self, file: str, name: str) -> int:
        return int(dict(line.split() for line in (self._path / file).read_text().splitlines())[name])


def measure(of: Container) -> dict[str, Any]:
    """One setting."""
    records = of.megabytes * 1_000_000 // of.record_bytes
    setting = Setting("containers", of.kind, shards=of.shards, record_bytes=of.record_bytes)
    group = Cgroup(HEAP_MB + of.overhead_mb)
    try:
        with filled(setting, records) as server:
            query = ClusterQuery(server.endpoint, of.kind, Executors(1, 2, HEAP_MB), "15 seconds")
            found = under_pressure(query, group)
    finally:
        group.remove()
    return {
        **asdict(of),
        "heap_mb": HEAP_MB,
        **found,
    }


def under_pressure(running: ClusterQuery, group: Cgroup) -> dict[str, int]:
    """What an executor has at most while a backlog waits."""
    most, buffers, looks = 0, 0, 0
    until = time.monotonic() + PRESSURE_S
    while time.monotonic() < until:
        executors = running.executors()
        group.take(executors)
        most = max(most, group.used_mb())
        looks += 1
        if looks % LOOKS == 0:
            with suppress(subprocess.CalledProcessError):
                buffers = max([buffers, *map(buffers_mb, executors)])
        time.sleep(LOOK_S)
    kills, last = group.kills(), running.last()
    # One that ran out of its heap has ended by itself.
    lost = int(last["executors"]) - 1
    return {"most_mb": most, "buffers_mb": buffers, "killed": kills, "lost": lost, "rows": int(last["rows"])}


def table(lines: Sequence[dict[str, Any]]) -> str:
    """A row for each setting."""
    rows = [
        "| query | shards | record | heap, MiB | overhead, MiB | most used, MiB | buffers outside the heap, MiB "
        "| ended by its limit |",
        "|---" * 8 + "|",
    ]
    for line in lines:
        cells = [
            CALLED[line["kind"]],
            f"{line['shards']:,}",
            f"{line['record_bytes']:,} B",
            *(f"{line[what]:,}" for what in ("heap_mb", "overhead_mb", "most_mb", "buffers_mb")),
            "**yes**" if line["killed"] else "**its heap**" if line["lost"] else "no",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + f"\n\n{bench.stamp(lines, 'bench-containers')}"


def shown(results: Path) -> list[dict[str, Any]]:
    """The newest line of each setting, in the order of the page."""
    return bench.newest(results, "containers", [of.name for of in CONTAINERS])


def main() -> None:
    """Measures the settings that are wanted, and writes the page."""
    asked = bench.parser(__doc__).parse_args()
    bench.run(CONTAINERS, measure, asked)
    if asked.page:
        marked.put(asked.page, "containers", table(shown(asked.results.parent)))


if __name__ == "__main__":
    main()
