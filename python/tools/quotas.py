"""How much a PySpark query reads of what the service allows, alone and beside other pollers: `make bench-quotas`.

A stream of the embedded server, which has the service's quotas, is filled once for each number of shards. A PySpark
query (`local[2]`, heap of 3 GiB, default options and trigger, noop sink) reads it under a name of AWS's: alone, beside
a second query, and beside a loop that polls each shard once a second for 100 records, as a Lambda trigger does, or for
all that an answer holds, as Firehose does. Each query has a JVM, reads the backlog twice, and the second reading
counts, from the query's making to the end of the last batch. At its limit the fullest shard needs some time for its
bytes: that time, divided by the reading's, is the query's share. Each setting has one turn. The same query also reads
from a server without quotas, to compare the CPU.

Prints a line of JSON for each setting. `--results` names a file that keeps it, `NAME-quotas.jsonl`, and
`--page` a page whose table shows the newest lines of all such files there.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import md5
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bench
import marked
from beside_sdk import (
    STREAM,
    Child,
    Server,
    Setting,
    bare,
    catch_up,
    local_source,
    rounded,
    served,
    session_of_query,
)

from kinesis_spark import EnhancedFanOut, Polling

# A name as an interface endpoint of AWS's has, which only the queries know.
AWS_NAME = "vpce-1-test.kinesis.us-east-1.vpce.amazonaws.com"
BYTES_OF_SHARD = 2 * 2**20
RECORD_BYTES = 1000
SECONDS = 30
LEAST_SHARE = 0.97
# What polls beside the query, each with its records of an answer; once a second.
LAMBDA = "a poller like Lambda"
LOOPS = {LAMBDA: 100, "a poller like Firehose": 10_000}


@dataclass(frozen=True)
class Case:
    """What reads, and what else does."""

    kind: str
    shards: int
    beside: str = ""
    calls: int = 5
    has_quotas: bool = True

    @property
    def name(self) -> str:
        """As a person reads it."""
        called = "polling" if self.kind == "polling" else "fan-out"
        fewer = "" if self.calls == Case.calls else f", callsPerSecond {self.calls}"
        quotas = "" if self.has_quotas else ", without quotas"
        return f"{called}, {self.shards} shards{quotas}{fewer}" + (f", beside {self.beside}" if self.beside else "")


CASES = [
    *(
        Case(kind, shards, has_quotas=quotas)
        for shards in (16, 64)
        for kind in ("polling", "efo")
        for quotas in (True, False)
    ),
    *(Case("polling", 16, beside) for beside in ("a second query", *LOOPS)),
    Case("polling", 16, LAMBDA, calls=3),
]


def query(endpoint: str, kind: str, calls: str, records: str, hosts: str) -> None:
    """The program of a query's process: it reads once for each line of standard input, and prints the reading."""
    spark = session_of_query("quotas", {"spark.driver.extraJavaOptions": f"-Djdk.net.hosts.file={hosts}"})
    bench.say({"ready": True})
    for _ in sys.stdin:
        publisher = Polling(int(calls)) if kind == "polling" else EnhancedFanOut(f"query-{os.getpid()}")
        bench.say(catch_up(spark, local_source(endpoint, publisher), int(records), RECORD_BYTES))
    spark.stop()


@contextmanager
def filled(shards: int, records: int, *, has_quotas: bool) -> Iterator[tuple[Server, str]]:
    """A server that has the backlog, and its endpoint: with quotas under AWS's name."""
    limits = ["--limits"] if has_quotas else []
    with TemporaryDirectory() as directory, served(*limits, "--stream", f"{STREAM}:{shards}") as announced:
        server = Server(announced, Path(directory), Setting("quotas", "polling", shards=shards), records)
        port = announced["endpoint"].rsplit(":", 1)[1]
        yield server, f"http://{AWS_NAME}:{port}" if has_quotas else server.endpoint


@cache
def least_seconds(shards: int, records: int) -> float:
    """How long the fullest shard takes at its limit. The service counts data and keys."""
    sizes = [0] * shards
    for number in range(records):
        key = str(number).encode()
        hashed = int.from_bytes(md5(key, usedforsecurity=False).digest(), "big")
        sizes[hashed * shards >> 128] += RECORD_BYTES + len(key)
    return max(sizes) / BYTES_OF_SHARD


def loop(endpoint: str, limit: int) -> Child:
    """A poller that reads until it is ended."""
    given = {"endpoint": endpoint, "stream": STREAM, "pause": 1000, "limit": limit}
    return Child(bare("Neighbour", *(f"{name}={value}" for name, value in given.items()), heap="2g"))


def read(queries: Sequence[Child]) -> list[dict[str, Any]]:
    """Has all of them read the backlog at once."""
    for each in queries:
        each.order("read")
    return [each.answer() for each in queries]


def measure(case: Case, server: Server, endpoint: str, records: int, hosts: str) -> dict[str, Any]:
    """One setting."""
    command = [sys.executable, __file__, "--query", endpoint, case.kind, str(case.calls), str(records), hosts]
    queries = [Child(command) for _ in range(2 if case.beside == "a second query" else 1)]
    for each in queries:
        each.answer()
    read(queries)
    beside = loop(server.endpoint, LOOPS[case.beside]) if case.beside in LOOPS else None
    readings = read(queries)
    other = {} if beside is None else beside.last()
    for each in queries:
        each.end()
    for reading in readings:
        reading["share"] = rounded(least_seconds(case.shards, records) / reading["s"])
    return {
        "name": case.name,
        "shards": case.shards,
        "has_quotas": case.has_quotas,
        "megabytes": records * RECORD_BYTES // 1_000_000,
        "share": rounded(sum(reading["share"] for reading in readings)),
        "queries": readings,
        "beside": other,
        "beside_share": rounded(other["mb"] * 1e6 / other["s"] / (case.shards * BYTES_OF_SHARD)) if other else 0.0,
    }


def table(lines: Sequence[dict[str, Any]]) -> str:
    """A row for each setting."""
    rows = [
        "| query | share of what shards allow | goal | refused calls | CPU s/GB | the other poller's share |",
        "|---|---|---|---|---|---|",
    ]
    for line in lines:
        verdict = ""
        if line["has_quotas"] and not line["beside_share"] and len(line["queries"]) == 1:
            verdict = f"at least {LEAST_SHARE:g}: {'met' if line['share'] >= LEAST_SHARE else '**missed**'}"
        others = [each["share"] for each in line["queries"][1:]] or [line["beside_share"]]
        own = line["queries"][0]
        share = f"{own['share']:g}" if line["has_quotas"] else ""
        rows.append(
            f"| {line['name']} | {share} | {verdict} | {own['refused']:g} "
            f"| {own['cpu_s_per_gb']:g} | {others[0] or ''} |"
        )
    return "\n".join(rows) + f"\n\n{bench.stamp(lines, 'bench-quotas')}"


def main() -> None:
    """Measures the settings that are wanted."""
    parser = bench.parser(__doc__)
    parser.add_argument("--query", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=int, default=SECONDS, help="that a backlog takes as fast as shards allow")
    asked = parser.parse_args()
    if asked.query:
        query(*asked.query)
        return
    with TemporaryDirectory() as directory:
        hosts = Path(directory) / "hosts"
        hosts.write_text(f"127.0.0.1 localhost {socket.gethostname()} {AWS_NAME}\n")
        cases = [case for case in CASES if asked.only in case.name]
        for shards, has_quotas in sorted({(case.shards, case.has_quotas) for case in cases}):
            records = shards * BYTES_OF_SHARD * asked.seconds // RECORD_BYTES
            with filled(shards, records, has_quotas=has_quotas) as (server, endpoint):
                for case in cases:
                    if (case.shards, case.has_quotas) == (shards, has_quotas):
                        bench.record(measure(case, server, endpoint, records, str(hosts)), asked.results)
    if asked.page:
        kept = bench.newest(asked.results.parent, "quotas", [case.name for case in CASES])
        marked.put(asked.page, "quotas", table(kept))


if __name__ == "__main__":
    main()
