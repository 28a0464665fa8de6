"""What a query leaves in its JVM: objects by class, threads by name, sockets, open and temporary files.

Counted, not weighed: a leaked reader or client is one object more, which no slack of the heap hides. `take` runs in the
query's process; the rest is pure.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

# One line of a class histogram: `   1:          1234          56789  java.lang.String (java.base@17.0.1)`.
_HISTOGRAM_LINE = re.compile(r"^\s*\d+:\s+(\d+)\s+(\d+)\s+(\S+)", re.MULTILINE)
_THREAD_LINE = re.compile(r'^"([^"]*)"', re.MULTILINE)
# Our own classes without singletons, and what a client of the SDK holds, in the shaded JAR or outside it.
_OURS = re.compile(r"^io\.github\.kinesisspark\.(?!shaded\.|it\.)|^org\.apache\.spark\.kinesisspark\.")
_CLIENTS = re.compile(
    r"\.(DefaultKinesisAsyncClient|NettyNioAsyncHttpClient|SdkEventLoopGroup|NioEventLoopGroup|MultiThreadIoEventLoopGroup"
    r"|NioEventLoop|SingleThreadIoEventLoop|NioSocketChannel|NioIoHandler|Http2MultiplexedChannelPool"
    r"|MultiplexedChannelRecord|DefaultHttp2Connection|SslHandler|DefaultStsClient)$"
)
# Spark keeps the last stopped query, which refers to its client. Where clients were made anew meanwhile, the event
# loops of that one are there as well; their threads are judged by themselves.
_EVENT_LOOPS = re.compile(r"\.NioEventLoop(Group)?$")
# None of these may be left behind at all: readers, publishers, buffers, subscriptions, clients and their connections.
_WATCHED = re.compile(
    r"\.(ShardReader|RangeReader|RecordBuffer|Mailbox|ShardCoordinator|QuerySource|FanOutConsumers)$"
    r"|\.\w*(RecordPublisher|Subscription|SubscriptionCall|Held)$|" + _CLIENTS.pattern
)
# Offsets and other values are kept by Spark and by caches of limited size.
_VALUES = 100
_POOLS = ("kinesis-", "aws-java-sdk-", "sdk-", "idle-connection-reaper", "stream execution thread")


@dataclass(frozen=True, slots=True)
class Footprint:
    """What there is in a JVM after a full collection, while no query runs.

    Attributes:
        objects: instances of our own classes and of the SDK's clients and connections, by class.
        pools: pools of threads of the connector, the SDK and Spark's queries, by name without digits.
        threads: all threads, by name without digits.
        sockets: connected to the Kinesis server.
        open_files: all others, and other sockets, such as those that py4j has for each of Spark's threads.
        temporary_files: in Spark's local directory and the JVM's directory for temporary files.
        heap_bytes: reported, not judged.
    """

    objects: dict[str, int]
    pools: dict[str, int]
    threads: dict[str, int]
    sockets: int
    open_files: int
    temporary_files: int
    heap_bytes: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def summary(self) -> dict[str, int]:
        """Its totals, for a line of the report."""
        return {
            "objects": sum(self.objects.values()),
            "pools": sum(self.pools.values()),
            "threads": sum(self.threads.values()),
            "sockets": self.sockets,
            "open files": self.open_files,
            "temporary files": self.temporary_files,
            "heap MB": self.heap_bytes >> 20,
        }


def growth(before: Footprint, now: Footprint, starts: int) -> list[str]:
    """What a number of starts left behind.

    No reader, subscription, client, connection or pool of threads may be. Other objects of ours may be made at first
    use or kept in caches: they may vary by a hundred, so that a leak for each start is found in some hundred starts.
    Threads of Spark and py4j follow the work, and files of JARs are opened as they are used: these may vary, but not by
    one for each start.
    """
    one_each = max(starts - 1, 0)
    grown = [
        *_more("objects of class", _only(before.objects, watched=True), _only(now.objects, watched=True)),
        *_more("objects of class", before.objects, _only(now.objects, watched=False), allowed=max(one_each, _VALUES)),
        *_more("thread pools", before.pools, now.pools),
        *_more("threads", before.threads, now.threads, allowed=one_each),
    ]
    for what, first, later, allowed in (
        ("sockets", before.sockets, now.sockets, 0),
        ("open files", before.open_files, now.open_files, one_each),
        ("temporary files", before.temporary_files, now.temporary_files, 0),
    ):
        if later > first + allowed:
            grown.append(f"{what}: {first}, {later} after {starts} more starts")
    return grown


def _only(objects: dict[str, int], *, watched: bool) -> dict[str, int]:
    return {name: count for name, count in objects.items() if bool(_WATCHED.search(name)) == watched}


def _more(what: str, before: dict[str, int], now: dict[str, int], allowed: int = 0) -> Iterable[str]:
    for name, count in sorted(now.items()):
        again = before.get(name, 0) if _EVENT_LOOPS.search(name) else 0
        if count > before.get(name, 0) + allowed + again:
            yield f"{what} {name}: {before.get(name, 0)}, later {count}"


def read_histogram(text: str) -> tuple[dict[str, int], int]:
    """The counts of the classes that may not grow, and the bytes of all objects."""
    counts: dict[str, int] = {}
    heap = 0
    for count, size, name in _HISTOGRAM_LINE.findall(text):
        heap += int(size)
        if (_OURS.search(name) and not name.endswith("$")) or _CLIENTS.search(name):
            counts[name] = int(count)
    return counts, heap


def read_threads(dump: str) -> tuple[dict[str, int], dict[str, int]]:
    """Pools of ours by kind, and all threads by kind: a kind is a name without digits."""
    names = _THREAD_LINE.findall(dump)
    pools = {re.sub(r"-?\d+$", "", name) for name in names if name.startswith(_POOLS)}
    return _by_kind(pools), _by_kind(names)


def _by_kind(names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(re.sub(r"\d+", "#", re.sub(r"\[.*", "", re.sub(_ID, "#", name))) for name in names))


_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def read_sockets(table: str, port: int) -> set[str]:
    """The inodes of a table of `/proc/net` whose other end has that port."""
    rows = (line.split() for line in table.splitlines()[1:])
    return {row[9] for row in rows if int(row[2].rpartition(":")[2], 16) == port}


def take(spark: SparkSession, pid: int, port: int, temporary: Iterable[Path]) -> Footprint:
    """The footprint of the session's JVM, which reads from a server at that port; collects all garbage first."""
    objects, heap = read_histogram(_diagnose(spark, "gcClassHistogram"))
    pools, threads = read_threads(_diagnose(spark, "threadPrint"))
    targets = [_target(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]  # noqa: PTH208
    tables = [Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6")]
    connected = {f"socket:[{inode}]" for table in tables for inode in read_sockets(table, port)}
    sockets = sum(target in connected for target in targets)
    files = sum(path.is_file() for directory in temporary for path in directory.rglob("*"))
    return Footprint(objects, pools, threads, sockets, len(targets) - sockets, files, heap)


def _diagnose(spark: SparkSession, command: str) -> str:
    """The text that `jcmd` prints."""
    jvm = spark.sparkContext._jvm  # noqa: SLF001
    if jvm is None:
        raise RuntimeError("The Spark session has no JVM")
    return str(jvm.io.github.kinesisspark.it.chaos.JvmDiagnostics.run(command))


def _target(link: str) -> str:
    try:
        return os.readlink(link)  # noqa: PTH115
    except OSError:
        return ""
