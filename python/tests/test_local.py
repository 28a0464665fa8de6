"""Tests LocalKinesis: it starts, stores records, and stops with its owner."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from base64 import b64decode
from collections import Counter
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from kinesis_spark import LocalKinesis, LocalKinesisError
from kinesis_spark.local import KinesisClient, Record

pytestmark = pytest.mark.jvm


def alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def await_end(pid: int, seconds: float = 120) -> bool:
    deadline = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not alive(pid)


def await_exit(child: int) -> None:
    """Wait until its parent, this process, could learn its status; a process's first thread may end well before."""
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)


def stored(client: KinesisClient, stream: str) -> Counter[bytes]:
    found: Counter[bytes] = Counter()
    for shard in client.call("ListShards", StreamName=stream)["Shards"]:
        request = {"StreamName": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = client.call("GetShardIterator", **request)["ShardIterator"]
        while True:
            answer = client.call("GetRecords", ShardIterator=iterator, Limit=10_000)
            found.update(b64decode(record["Data"]) for record in answer["Records"])
            iterator = answer.get("NextShardIterator")
            if iterator is None or not answer["MillisBehindLatest"]:
                break
    return found


def test_put_records_are_stored_once_each(kinesis: LocalKinesis) -> None:
    records = [Record(f"key-{i}", f"value-{i}".encode()) for i in range(1_234)]
    receipts = kinesis.put_records("events", records)
    assert len({(r.shard_id, r.sequence_number) for r in receipts}) == len(records)
    assert stored(kinesis.client, "events") == Counter(r.data for r in records)


def test_an_explicit_hash_key_selects_the_shard(kinesis: LocalKinesis) -> None:
    low, high = (Record("same", b"x", str(key)) for key in (0, (1 << 128) - 1))
    assert {r.shard_id for r in kinesis.put_records("events", [low] * 3)} == {"shardId-000000000000"}
    assert {r.shard_id for r in kinesis.put_records("events", [high] * 3)} == {"shardId-000000000001"}


def test_large_records_are_split_over_several_calls(kinesis: LocalKinesis) -> None:
    kinesis.put_records("events", [Record(str(i), b"x" * 900_000) for i in range(12)])
    assert sum(stored(kinesis.client, "events").values()) == 12


def test_a_stream_can_be_created_after_the_start(kinesis: LocalKinesis) -> None:
    kinesis.client.create_stream("more", 3)
    assert len(kinesis.client.call("ListShards", StreamName="more")["Shards"]) == 3


def test_an_error_of_the_server_is_quoted(kinesis: LocalKinesis) -> None:
    with pytest.raises(LocalKinesisError, match=r"PutRecords at http.*ResourceNotFoundException"):
        kinesis.put_records("nowhere", [Record("key", b"x")])


def test_options_contain_the_server_s_endpoint(kinesis: LocalKinesis) -> None:
    options = kinesis.options("events").to_dict()
    assert options["endpoint"] == kinesis.endpoint
    assert (options["streamName"], options["startingPosition"]) == ("events", "TRIM_HORIZON")


def test_a_reset_deletes_more_streams_than_calls_are_allowed_in_a_second() -> None:
    with LocalKinesis({f"events-{n}": 1 for n in range(8)}, arguments=["--realistic"]) as kinesis:
        kinesis.reset()
        assert kinesis.client.call("ListStreams")["StreamNames"] == []


def test_a_reset_leaves_no_past_calls_not_even_its_own(kinesis: LocalKinesis) -> None:
    kinesis.reset()
    assert kinesis.client.control("GET", "calls") == {"counts": [], "recent": []}


def test_records_are_read_within_the_service_s_quotas() -> None:
    with LocalKinesis({"events": 1}, arguments=["--limits"]) as kinesis:
        kinesis.put_records("events", [Record("key", b"x")])
        for _ in range(8):
            assert [record.data for record in kinesis.read_records("events")] == [b"x"]


def test_a_read_that_is_refused_for_too_long_fails_with_the_refusal(kinesis: LocalKinesis) -> None:
    kinesis.add_fault("ProvisionedThroughputExceededException", action="GetRecords")
    began = time.monotonic()
    with pytest.raises(LocalKinesisError, match=r"GetRecords at http.*ProvisionedThroughputExceededException"):
        kinesis.read_records("events", timeout_s=0.5)
    assert time.monotonic() - began >= 0.5


def test_a_read_that_comes_no_further_ends(kinesis: LocalKinesis) -> None:
    kinesis.put_records("events", [Record("key", b"x")])
    kinesis.add_fault({"type": "emptyAnswer", "millisBehindLatest": 1000}, action="GetRecords")
    with pytest.raises(LocalKinesisError, match=r"nothing came for 0\.5 s, though there is more \(1000 ms behind\)"):
        kinesis.read_records("events", timeout_s=0.5)


def test_a_read_goes_on_for_as_long_as_it_comes_further() -> None:
    with LocalKinesis({"events": 1}, arguments=["--realistic"]) as kinesis:
        kinesis.put_records("events", [Record("key", b"x")])
        kinesis.advance_clock(timedelta(minutes=30))
        kinesis.put_records("events", [Record("key", b"y")])
        # An answer passes a minute, and five calls a second are allowed.
        assert [record.data for record in kinesis.read_records("events", timeout_s=2)] == [b"x", b"y"]


def test_a_record_without_a_key_is_read_with_none(kinesis: LocalKinesis) -> None:
    stream = {"StreamName": "auto", "StreamModeDetails": {"StreamMode": "ON_DEMAND"}}
    kinesis.client.call("CreateStream", **stream, RecordDistributionStrategy="AUTO")
    kinesis.client.call("PutRecord", StreamName="auto", Data="eA==")
    assert [(record.partition_key, record.data) for record in kinesis.read_records("auto")] == [(None, b"x")]


def test_a_reset_on_a_clock_that_stands_still_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinesis_spark.local.server._RESET_S", 0.5)
    with LocalKinesis(arguments=["--realistic", "--manual-clock"]) as kinesis:
        kinesis.client.call("CreateStream", StreamName="events", ShardCount=1)
        kinesis.advance_clock(timedelta(minutes=1))
        # The account's quota of calls comes back by the clock, too.
        with pytest.raises(LocalKinesisError, match=r"ListStreams at http.*LimitExceededException|still being deleted"):
            kinesis.reset()


def test_the_clock_is_not_moved_back_nor_by_what_is_no_time(kinesis: LocalKinesis) -> None:
    now = kinesis.client.control("GET", "health")["nowMillis"]
    with pytest.raises(LocalKinesisError, match="advanceMillis must be a whole number of 0 at least and is -3600000"):
        kinesis.advance_clock(timedelta(hours=-1))
    with pytest.raises(LocalKinesisError, match=r"advanceMillis must be a whole number .*1 h"):
        kinesis.client.control("POST", "clock", {"advanceMillis": "1 h"})
    assert now <= kinesis.client.control("GET", "health")["nowMillis"] < now + 600_000
    assert not kinesis.client.clock_moved


def test_a_mistyped_fault_is_refused_with_its_member(kinesis: LocalKinesis) -> None:
    with pytest.raises(LocalKinesisError, match=r"Unknown member 'effect\.shar'"):
        kinesis.add_fault({"type": "refuseEntries", "shar": 0.5})
    assert kinesis.client.control("GET", "faults") == {"rules": []}


class ImpatientServer(BaseHTTPRequestHandler):
    """Answers each call, and closes its connection then. The answer doesn't say so."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
        self.close_connection = True


def test_a_connection_that_was_idle_for_minutes_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinesis_spark.local.client._MOST_IDLE_S", 0.5, raising=False)
    with HTTPServer(("127.0.0.1", 0), ImpatientServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = KinesisClient(f"http://127.0.0.1:{server.server_port}")
        client.call("ListStreams")
        time.sleep(1)
        assert client.call("ListStreams") == {}
        server.shutdown()


def test_the_server_stops_at_the_end_of_the_with_block() -> None:
    with LocalKinesis() as server:
        pid = server.pid
        assert alive(pid)
    assert not alive(pid)
    with pytest.raises(LocalKinesisError, match="isn't running"):
        _ = server.endpoint


def test_a_stopped_server_can_be_started_again_and_a_running_one_cannot() -> None:
    server = LocalKinesis()
    with server, pytest.raises(LocalKinesisError, match="already"):
        server.start()
    with server:
        assert alive(server.pid)


def test_the_death_of_the_server_is_reported_with_its_status(kinesis: LocalKinesis) -> None:
    pid = kinesis.pid
    os.kill(pid, signal.SIGKILL)
    await_exit(pid)
    with pytest.raises(LocalKinesisError, match="has ended with status -9"):
        _ = kinesis.endpoint


def test_a_failed_start_quotes_the_server_s_output() -> None:
    with pytest.raises(LocalKinesisError, match="before it was ready") as failed:
        LocalKinesis(arguments=["--no-such-argument"]).start()
    assert "no-such-argument" in str(failed.value)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_server_stops_if_its_parent_is_killed() -> None:
    script = (
        "import time; from kinesis_spark import LocalKinesis\n"
        "server = LocalKinesis().start(); print(server.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-I", "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.kill()
    assert await_end(pid)


def test_the_command_line_prints_the_endpoint_and_stops_with_its_input() -> None:
    command = [
        sys.executable,
        "-I",
        "-m",
        "kinesis_spark.local",
        "--port",
        "0",
        "--stream",
        "events:4",
        "--exit-with-stdin",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        endpoint = json.loads(server.stdout.readline())["endpoint"]
        assert len(KinesisClient(endpoint).call("ListShards", StreamName="events")["Shards"]) == 4
        server.stdin.close()
        assert server.wait(120) == 0
