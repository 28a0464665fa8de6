"""An executor that reaches Kinesis and not the driver for a minute, the reverse, and neither."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from kinesis_spark import LocalKinesis

from .application import SHARDS, Queries
from .cluster_query import running
from .network import IS_POSSIBLE, Network, network
from .server_log import ServerLog
from .standalone import Worker, standalone_cluster

pytestmark = [
    pytest.mark.jvm,
    pytest.mark.slow,
    pytest.mark.skipif(not IS_POSSIBLE, reason="network namespaces need root, `ip` and `nft`"),
]

PARTITION_S = 60

# The driver has noticed by then: a batch that it plans before may have a task there, which Spark waits for.
NOTICED_S = 15

# The kernel sends again what got no answer, and waits twice as long from one time to the next.
RETRANSMITTED_S = 60

# Within that time the server notices that a client has left.
OVERLAP_S = 4

QUERIES = ("idle-polling", "idle-efo")

# The worker's own, which the master calls.
WORKER_PORT = 7078


class Cut(NamedTuple):
    """What of the executor's traffic is dropped.

    Args:
        driver: with the driver; the worker still reaches the master.
        kinesis: with Kinesis.
        out: of what the executor sends.
        into: of what it is sent.
    """

    driver: bool
    kinesis: bool
    out: bool = True
    into: bool = True

    def rules(self, master: int, kinesis: int) -> dict[str, list[str]]:
        """For nftables, by the ports of the master and of Kinesis."""

        def chain(here: str, there: str) -> list[str]:
            spared = [f"tcp {there} {master} accept", f"tcp {here} {WORKER_PORT} accept"]
            of_kinesis = f"tcp {there} {kinesis} {'drop' if self.kinesis else 'accept'}"
            return [*spared, of_kinesis, "drop" if self.driver else "accept"]

        return {
            "out": chain("sport", "dport") if self.out else [],
            "into": chain("dport", "sport") if self.into else [],
        }


CUTS = {
    "to-driver": Cut(driver=True, kinesis=False, into=False),
    "from-driver": Cut(driver=True, kinesis=False, out=False),
    "driver": Cut(driver=True, kinesis=False),
    "to-kinesis": Cut(driver=False, kinesis=True, into=False),
    "from-kinesis": Cut(driver=False, kinesis=True, out=False),
    "driver-and-kinesis": Cut(driver=True, kinesis=True),
}


class Subscribers:
    """How often a shard had more than one subscription for how long, as the server sees them."""

    def __init__(self, kinesis: LocalKinesis, stream: str) -> None:
        self._log = ServerLog(kinesis, shards=SHARDS, publisher="efo", stream=stream)
        self._since: dict[str, float] = {}
        self.longest_s = 0.0

    def look(self) -> None:
        now, live = time.monotonic(), Counter(s["shardId"] for s in self._log.subscriptions())
        self._since = {shard: self._since.get(shard, now) for shard, count in live.items() if count > 1}
        self.longest_s = max([self.longest_s, *(now - since for since in self._since.values())])


@contextmanager
def watched(subscribers: Subscribers) -> Iterator[None]:
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            subscribers.look()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture
def link() -> Iterator[Network]:
    with network() as made:
        yield made


@pytest.mark.parametrize("cut", CUTS)
def test_an_executor_that_is_cut_off_costs_no_record_and_no_query(link: Network, tmp_path: Path, cut: str) -> None:
    workers = [Worker(link.host, cores=4, port=WORKER_PORT, network=link.name), Worker(link.machine, cores=4)]
    streams = dict.fromkeys(QUERIES, SHARDS)
    with (
        LocalKinesis(streams, arguments=["--host", link.machine], log=tmp_path / "local-kinesis.log") as kinesis,
        standalone_cluster(workers, tmp_path, link.machine) as master,
        running(
            Queries(tmp_path / "queries", kinesis, QUERIES, master, {"spark.driver.host": link.machine})
        ) as queries,
    ):
        queries.await_begin()
        queries.two_executors()
        ports = {"master": urlsplit(master).port or 0, "kinesis": urlsplit(kinesis.endpoint).port or 0}
        subscribers = Subscribers(kinesis, "idle-efo")
        with watched(subscribers):
            with link.cut(**CUTS[cut].rules(**ports)):
                began = time.monotonic()
                time.sleep(NOTICED_S)
                put(queries, "during")
                queries.await_records(time.time())
                time.sleep(max(0, began + PARTITION_S - time.monotonic()))
            # An executor that was cut off takes no shard back.
            put(queries, "after")
            queries.await_records(time.time() + RETRANSMITTED_S)
            queries.await_one_reader_for_each_shard()
        queries.await_end()
    assert subscribers.longest_s <= OVERLAP_S


def put(queries: Queries, prefix: str) -> None:
    for name in QUERIES:
        queries.put(name, *(f"{prefix}-{i}" for i in range(20)))
