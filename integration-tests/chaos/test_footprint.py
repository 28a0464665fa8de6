"""A leak of any kind is found, and a JVM that is as it was before has none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from .footprint import Footprint, growth, read_histogram, read_sockets, read_threads
from .outcome import RunOutcome
from .plan import restarts

SHADED = "io.github.kinesisspark.shaded.software.amazon.awssdk."
HISTOGRAM = f"""\
 num     #instances         #bytes  class name (module)
-------------------------------------------------------
   1:        200000       12000000  [B (java.base@17.0.15)
   2:             3            480  io.github.kinesisspark.read.reader.ShardReader
   3:             2             64  {SHADED}services.kinesis.DefaultKinesisAsyncClient
   4:             1             16  io.github.kinesisspark.aws.KinesisClients$
   5:          5000          80000  {SHADED}utils.AttributeMap
Total        205006       12080560
"""
DUMP = """\
"main" #1 prio=5 os_prio=0 cpu=1ms
   java.lang.Thread.State: RUNNABLE
"aws-java-sdk-NettyEventLoop-0-0" #40 daemon prio=5
"aws-java-sdk-NettyEventLoop-0-1" #41 daemon prio=5
"aws-java-sdk-NettyEventLoop-1-0" #42 daemon prio=5
"stream execution thread for [id = 0b0b4e2c-1b9a-4c9e-9d7e-000000000001, runId = x]" #50 daemon prio=5
"""

BEFORE = Footprint(
    objects={"io.github.kinesisspark.read.reader.ShardReader": 3},
    pools={"aws-java-sdk-NettyEventLoop-#": 2},
    threads={"main": 1, "Executor task launch worker for task #": 4},
    sockets=10,
    open_files=300,
    temporary_files=2,
    heap_bytes=50 << 20,
)


def test_a_histogram_counts_our_objects_and_clients_and_weighs_all() -> None:
    assert read_histogram(HISTOGRAM) == (
        {"io.github.kinesisspark.read.reader.ShardReader": 3, f"{SHADED}services.kinesis.DefaultKinesisAsyncClient": 2},
        12080560,
    )


def test_a_thread_dump_counts_pools_and_threads_by_name() -> None:
    pools, threads = read_threads(DUMP)
    assert pools == {"aws-java-sdk-NettyEventLoop-#": 2, "stream execution thread for ": 1}
    assert threads["aws-java-sdk-NettyEventLoop-#-#"] == 3
    assert threads["main"] == 1


def test_sockets_are_those_of_the_port_at_the_other_end() -> None:
    table = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 111 1 0000 20 4 0 10 -1
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0000 20 4 0 10 -1
"""
    assert read_sockets(table, 8080) == {"222"}


def test_equal_and_smaller_footprints_have_no_growth() -> None:
    smaller = replace(BEFORE, objects={}, sockets=1, heap_bytes=500 << 20)
    assert growth(BEFORE, BEFORE, 100) == growth(BEFORE, smaller, 100) == []


def test_objects_that_are_made_once_are_no_growth() -> None:
    once = replace(BEFORE, objects={**BEFORE.objects, "io.github.kinesisspark.aws.Regions": 1})
    assert growth(BEFORE, once, 100) == []


@pytest.mark.parametrize(
    "now",
    [
        replace(BEFORE, objects={"io.github.kinesisspark.read.reader.ShardReader": 4}),
        replace(BEFORE, objects={**BEFORE.objects, "io.github.kinesisspark.read.reader.Mailbox": 1}),
        replace(BEFORE, objects={"io.github.kinesisspark.position.ShardPosition": 101}),
        replace(BEFORE, pools={"aws-java-sdk-NettyEventLoop-#": 3}),
        replace(BEFORE, threads={**BEFORE.threads, "Thread-#": 100}),
        replace(BEFORE, sockets=11),
        replace(BEFORE, open_files=400),
        replace(BEFORE, temporary_files=3),
    ],
    ids=[
        "object",
        "object of a new class",
        "object of any class for each start",
        "pool",
        "thread for each start",
        "socket",
        "file for each start",
        "temporary file",
    ],
)
def test_each_kind_of_leak_is_found(now: Footprint) -> None:
    assert len(growth(BEFORE, now, 100)) == 1


def test_a_run_of_restarts_compares_its_first_and_last_footprints() -> None:
    run = restarts("1.0", 12).runs[0]
    leaking = replace(BEFORE, sockets=22)
    outcome = RunOutcome(run, died=run.end.name, footprints={4: BEFORE, 8: BEFORE, 12: leaking})
    assert outcome.leaks == ["sockets: 10, 22 after 8 more starts"]
    outcome.footprints[12] = BEFORE
    assert outcome.leaks == []
