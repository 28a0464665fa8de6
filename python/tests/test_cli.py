"""The command line, on a local server."""

from __future__ import annotations

import io
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from click.testing import CliRunner, Result
from patience import PATIENCE_S
from pyspark.sql import SparkSession

from kinesis_spark import LocalKinesis, Position, Record, jars, read_stream
from kinesis_spark.cli import commands, service
from kinesis_spark.cli.commands import kinesis_spark
from kinesis_spark.cli.offsets import last_committed
from kinesis_spark.errors import InvalidOptionError
from kinesis_spark.local.client import Receipt

ROOT = Path(__file__).resolve().parents[2]
ARN = "arn:aws:kinesis:us-east-1:000000000000:stream/events"
Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def run(kinesis: LocalKinesis) -> Run:
    def run(command: str, *arguments: str, stream: str = "events", given: str | None = None) -> Result:
        place = ["--region", kinesis.region, "--endpoint", kinesis.endpoint]
        return CliRunner().invoke(kinesis_spark, [command, stream, *place, *arguments], input=given)

    return run


@pytest.fixture
def run_without_region(kinesis: LocalKinesis) -> Run:
    def run(command: str, *arguments: str) -> Result:
        return CliRunner().invoke(kinesis_spark, [command, "events", "--endpoint", kinesis.endpoint, *arguments])

    return run


def lines(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_lines_that_are_put_are_tailed_with_their_shards(run: Run, kinesis: LocalKinesis) -> None:
    receipts = lines(run("put", "--output", "json", given="one\ntwo\nthree\n"))
    assert len(receipts) == 3
    read = lines(run("tail", "--from", "TRIM_HORIZON", "--no-follow", "--output", "json"))
    assert sorted(record["data"] for record in read) == ["one", "three", "two"]
    assert {(r["shardId"], r["sequenceNumber"]) for r in read} == {
        (r["shardId"], r["sequenceNumber"]) for r in receipts
    }
    assert len(kinesis.read_records("events")) == 3


def test_a_tail_prints_no_control_characters_as_a_terminal_would_obey_them(run: Run) -> None:
    run("put", given="clip\x1b]52;c;aGk=\x07board\n")
    printed = run("tail", "--from", "TRIM_HORIZON", "--no-follow").stdout
    assert r"clip\x1b]52;c;aGk=\x07board" in printed
    assert "\x1b" not in printed


class PutRecords:
    """A client of the service that takes calls of up to 5 MiB, and none after the first `calls`."""

    def __init__(self, calls: int = 100) -> None:
        self.left = calls
        self.put: list[bytes] = []

    def put_records(self, Records: list[dict[str, Any]], **_: str) -> dict[str, Any]:  # noqa: N803  (boto3's name)
        if self.left == 0:
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "PutRecords")
        self.left -= 1
        assert sum(len(r["Data"]) + len(r["PartitionKey"]) for r in Records) <= 5 << 20
        self.put += [record["Data"] for record in Records]
        return {"Records": [{"ShardId": "shardId-0", "SequenceNumber": str(len(self.put))} for _ in Records]}


def test_put_keeps_each_call_below_the_service_s_limit_of_bytes() -> None:
    client = PutRecords()
    data = [bytes([n]) * 30_000 for n in range(250)] * 2
    target = service.Target("events", None, None, None)
    receipts = list(service.put(client, target, [Record("key", each) for each in data]))
    assert (client.put, len(receipts)) == (data, 500)


def test_put_retries_refused_records_for_a_time_and_fails_with_the_first_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(service, "_MOST_REFUSED_S", 0.5)
    refused = {"ErrorCode": "ProvisionedThroughputExceededException", "ErrorMessage": "Rate exceeded for shard"}
    calls: list[list[bytes]] = []

    def put_records(Records: list[dict[str, Any]], **_: str) -> dict[str, Any]:  # noqa: N803
        calls.append([record["Data"] for record in Records])
        taken = {"ShardId": "shardId-0", "SequenceNumber": "1"}
        return {"Records": [refused if record["Data"] == b"two" else taken for record in Records]}

    monkeypatch.setattr(service.Target, "client", lambda _: SimpleNamespace(put_records=put_records))
    done = CliRunner().invoke(kinesis_spark, ["put", "events", "--output", "json"], input="one\ntwo\nthree\n")
    assert (done.exit_code, len(done.stdout.splitlines())) == (1, 2)
    assert calls[:2] == [[b"one", b"two", b"three"], [b"two"]]
    assert "PutRecords into events: 1 record is still refused after 0.5 s" in done.stderr
    assert "ProvisionedThroughputExceededException: Rate exceeded for shard" in done.stderr


def test_put_sends_the_lines_of_an_open_pipe_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    client = PutRecords()
    monkeypatch.setattr(service.Target, "client", lambda _: client)
    reading, writing = os.pipe()
    arguments = ["put", "events", "--output", "json"]
    with ThreadPoolExecutor() as executor, os.fdopen(reading, "rb") as given, os.fdopen(writing, "wb", 0) as pipe:
        done = executor.submit(CliRunner().invoke, kinesis_spark, arguments, input=given)
        for written, put in ((b"one\nt", [b"one"]), (b"wo\r\n\nth", [b"one", b"two", b""])):
            pipe.write(written)
            deadline = time.monotonic() + PATIENCE_S
            while client.put != put:
                assert time.monotonic() < deadline, client.put
                time.sleep(0.01)
        pipe.write(b"ree")
        pipe.close()
        result = done.result(PATIENCE_S)
    assert client.put == [b"one", b"two", b"", b"three"]
    assert len(result.stdout.splitlines()) == 4


def test_put_takes_each_line_of_a_file_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    client = PutRecords(calls=1000)
    monkeypatch.setattr(service.Target, "client", lambda _: client)
    data = [str(n).encode() * (n % 50) for n in range(100_000)]
    (tmp_path / "lines").write_bytes(b"\n".join(data))
    done = CliRunner().invoke(kinesis_spark, ["put", "events", "--key", "k", "--file", str(tmp_path / "lines")])
    assert (done.exit_code, client.put) == (0, data)


# What a shell starts in the background ignores Ctrl-C, and passes that on to its children.
PUT_IN_PROCESS = """
import signal
from types import SimpleNamespace
from kinesis_spark.cli import main, service
signal.signal(signal.SIGINT, signal.default_int_handler)
answer = {"Records": [{"ShardId": "shardId-0", "SequenceNumber": "1"}]}
service.Target.client = lambda _: SimpleNamespace(put_records=lambda **_: answer)
main()
"""


def test_put_shows_what_was_put_and_exits_with_130_on_ctrl_c() -> None:
    command = [sys.executable, "-c", PUT_IN_PROCESS, "put", "events", "--output", "json"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"one\n")
        process.stdin.flush()
        assert select.select([process.stdout], [], [], PATIENCE_S)[0], "nothing is put while the pipe is open"
        assert b"shardId-0" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 130
        assert process.stderr.read() == b""


class Interrupted(io.RawIOBase):
    """Standard input, where Ctrl-C comes in the place of an answer."""

    def readable(self) -> bool:
        return True

    def readinto(self, _: Any) -> int:  # noqa: ANN401  (a buffer, which mypy has no name for)
        raise KeyboardInterrupt


def test_ctrl_c_in_a_question_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service.Target, "client", lambda _: None)
    monkeypatch.setattr(service, "old_consumers", lambda *_: [{"ConsumerName": "app-1"}])
    arguments = ["consumers", "events", "--prefix", "app-", "--deregister"]
    done = CliRunner().invoke(kinesis_spark, arguments, input=io.BufferedReader(Interrupted()))
    assert done.exit_code == 130
    assert "Deregister app-1 of events?" in done.stderr


def test_put_prints_what_was_put_before_a_call_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service.Target, "client", lambda _: PutRecords(calls=1))
    given = "\n".join("line" for _ in range(600))
    done = CliRunner().invoke(kinesis_spark, ["put", "events", "--output", "json"], input=given)
    assert (done.exit_code, len(done.stdout.splitlines())) == (1, 500)
    assert "AccessDeniedException" in done.stderr


def test_a_tail_follows_a_split_and_a_merge_and_reads_each_record_once(run: Run, kinesis: LocalKinesis) -> None:
    kinesis.put_records("events", [Record(f"key-{n}", b"before") for n in range(20)])
    kinesis.split("events", "shardId-000000000000")
    kinesis.merge("events", "shardId-000000000002", "shardId-000000000003")
    kinesis.put_records("events", [Record(f"key-{n}", b"after") for n in range(20)])
    read = lines(run("tail", "--from", "TRIM_HORIZON", "--count", "40", "--output", "json"))
    assert len({(record["shardId"], record["sequenceNumber"]) for record in read}) == 40


def number_of(read: tuple[str, dict[str, Any]]) -> str:
    return str(read[1]["SequenceNumber"])


def target_on(kinesis: LocalKinesis) -> service.Target:
    return service.Target("events", kinesis.region, kinesis.endpoint, None)


@pytest.mark.parametrize("action", ["GetRecords", "GetShardIterator"])
def test_a_tail_that_is_throttled_reads_each_record_once(run: Run, kinesis: LocalKinesis, action: str) -> None:
    put = kinesis.put_records("events", [Record(f"key-{n}", b"data") for n in range(20)])
    kinesis.add_fault("ProvisionedThroughputExceededException", action=action, first=8)
    read = lines(run("tail", "--from", "TRIM_HORIZON", "--no-follow", "--output", "json"))
    assert sorted(record["sequenceNumber"] for record in read) == sorted(receipt.sequence_number for receipt in put)


def test_a_tail_whose_iterators_expire_reads_each_record_once(kinesis: LocalKinesis) -> None:
    records = [Record(f"key-{n}", b"data") for n in range(20)]
    target = target_on(kinesis)
    tailed = service.tail(target.client(), target, Position.trim_horizon(), follow=False)
    kinesis.add_fault("ExpiredIteratorException", action="GetRecords", first=2)
    put = kinesis.put_records("events", records)
    read = [next(tailed) for _ in records]
    kinesis.add_fault("ExpiredIteratorException", action="GetRecords", first=2)
    put += kinesis.put_records("events", records)
    read += tailed
    assert sorted(map(number_of, read)) == sorted(receipt.sequence_number for receipt in put)


def test_a_tail_whose_turns_take_longer_than_iterators_live_reads_all() -> None:
    client = ShortIterators({"s-1": b"one", "s-2": b"two"})
    target = service.Target("events", None, None, None)
    read = service.tail(client, target, Position.trim_horizon(), follow=False)
    assert [(shard, record["Data"]) for shard, record in read] == [("s-1", b"one"), ("s-2", b"two")]


def test_a_tail_from_latest_whose_iterators_expire_before_a_record_skips_none(
    kinesis: LocalKinesis, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, put, waits = target_on(kinesis), list[Receipt](), list[float]()

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        assert len(waits) < 10, "records are skipped"
        if not put:
            put.extend(kinesis.put_records("events", [Record(f"key-{n}", b"data") for n in range(20)]))
            kinesis.add_fault("ExpiredIteratorException", action="GetRecords", first=2)

    monkeypatch.setattr(service, "time", SimpleNamespace(sleep=sleep))
    tailed = service.tail(target.client(), target, Position.latest(), follow=True)
    read = [next(tailed) for _ in range(20)]
    assert sorted(map(number_of, read)) == sorted(receipt.sequence_number for receipt in put)


def test_data_that_is_no_text_is_printed_as_base64(run: Run, kinesis: LocalKinesis) -> None:
    kinesis.put_records("events", [Record("key", b"\xff\x00")])
    (record,) = lines(run("tail", "--from", "TRIM_HORIZON", "--count", "1", "--output", "json"))
    assert record["dataBase64"] == "/wA="


def test_shards_and_consumers_are_listed_as_table_and_json(run: Run, kinesis: LocalKinesis) -> None:
    kinesis.split("events", "shardId-000000000001")
    found = lines(run("shards", "--output", "json"))
    assert [shard["open"] for shard in found] == [True, False, True, True]
    assert found[2]["parents"] == ["shardId-000000000001"]
    assert "shardId-000000000003" in run("shards").stdout
    kinesis.client.call("RegisterStreamConsumer", StreamARN=ARN, ConsumerName="app")
    assert [c["name"] for c in lines(run("consumers", "--output", "json"))] == ["app"]
    assert [c["name"] for c in lines(run("consumers", "--output", "json", stream=ARN))] == ["app"]


@pytest.mark.parametrize("stream", ["big", "arn:aws:kinesis:us-east-1:000000000000:stream/big"])
def test_all_shards_of_a_stream_are_listed_that_has_more_than_one_call_brings(
    run: Run, kinesis: LocalKinesis, stream: str
) -> None:
    kinesis.create_stream("big", shards=1001)
    assert len({shard["shardId"] for shard in lines(run("shards", "--output", "json", stream=stream))}) == 1001


def test_consumers_that_were_left_behind_are_deregistered_by_prefix_and_age(run: Run, kinesis: LocalKinesis) -> None:
    for name in ("app-1", "app-2", "other"):
        kinesis.client.call("RegisterStreamConsumer", StreamARN=ARN, ConsumerName=name)
    remove = ("consumers", "--prefix", "app-", "--deregister", "--output", "json")
    assert lines(run(*remove, "--older-than", "1h", "--yes")) == []
    for answer in ("n\n", ""):
        refused = run(*remove, given=answer)
        assert refused.exit_code == 1
        assert "Deregister app-1, app-2 of events? Running queries may use them." in refused.stderr
    assert len(lines(run("consumers", "--output", "json"))) == 3
    assert [c["name"] for c in lines(run(*remove, given="y\n"))] == ["app-1", "app-2"]
    assert [c["name"] for c in lines(run("consumers", "--output", "json"))] == ["other"]
    assert lines(run("consumers", "--prefix", "o", "--deregister", "--older-than", "0s", "--yes", "--output", "json"))
    assert "--deregister needs --prefix" in run("consumers", "--deregister").stderr
    assert "--yes needs --older-than" in run(*remove, "--yes").stderr


def test_lag_shows_what_a_query_has_not_read(
    run: Run, kinesis: LocalKinesis, spark: SparkSession, tmp_path: Path
) -> None:
    kinesis.put_records("events", [Record(f"key-{n}", b"read") for n in range(20)])
    checkpoint = tmp_path / "checkpoint"
    writer = read_stream(spark, kinesis.options("events")).writeStream.format("noop")
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S)
    caught_up = lines(run("lag", "--checkpoint", str(checkpoint), "--output", "json"))
    assert [shard["millisBehindLatest"] for shard in caught_up] == [0, 0]
    assert run("lag", "--checkpoint", str(checkpoint), "--above", "0").exit_code == 0
    (receipt, *_) = kinesis.put_records("events", [Record("key-0", b"new")])
    behind = lines(run("lag", "--checkpoint", str(checkpoint), "--output", "json"))
    assert [s["shardId"] for s in behind if s["millisBehindLatest"] > 0] == [receipt.shard_id]
    assert run("lag", "--checkpoint", str(checkpoint), "--above", "0").exit_code == 2


def test_lag_shows_what_a_query_has_not_begun_since_reshards(run: Run, kinesis: LocalKinesis, tmp_path: Path) -> None:
    receipts = kinesis.put_records("events", [Record(f"key-{n}", b"read") for n in range(20)])
    read = {receipt.shard_id: receipt.sequence_number for receipt in receipts}
    first, second, third, *children = (f"shardId-{n:012}" for n in (0, 2, 3, 4, 5))
    kinesis.split("events", first)
    # Nothing was put into it.
    kinesis.split("events", second)
    kinesis.put_records("events", [Record(f"key-{n}", b"new") for n in range(20)])
    rows = lag_from(tmp_path / "behind", run, read)
    assert [(shard, position) for shard, position, _ in rows] == [
        *sorted(read.items()),
        *((shard, "TRIM_HORIZON") for shard in (second, third, *children)),
    ]
    assert [shard for shard, _, millis in rows if millis == 0] == [first, second]
    # The parents of `children` have been read; their sibling was in no listing yet.
    begun = {first: "SHARD_END", **dict.fromkeys(children, "LATEST")}
    rows = lag_from(tmp_path / "begun", run, begun)
    assert [(shard, millis > 0) for shard, _, millis in rows] == [
        (first, False),
        ("shardId-000000000001", True),
        (third, True),
        *((shard, False) for shard in children),
    ]


def test_lag_shows_a_merged_shard_once_both_parents_are_read(run: Run, kinesis: LocalKinesis, tmp_path: Path) -> None:
    receipts = kinesis.put_records("events", [Record(f"key-{n}", b"data") for n in range(20)])
    last = {receipt.shard_id: receipt.sequence_number for receipt in receipts}
    first, second = sorted(last)
    kinesis.merge("events", first, second)
    read = lag_from(tmp_path / "read", run, last)
    assert [shard for shard, *_ in read] == [first, second, "shardId-000000000002"]
    unread = lag_from(tmp_path / "unread", run, {**last, second: "TRIM_HORIZON"})
    assert [shard for shard, *_ in unread] == [first, second]


def lag_from(folder: Path, run: Run, positions: dict[str, str]) -> list[tuple[str, str, Any]]:
    """The command's rows for a query that was stopped at these positions."""
    folder.mkdir()
    offset = {"version": 1, "streams": {ARN: {"created": 1, "shards": positions}}}
    write_checkpoint(folder, "v1", json.dumps(offset, separators=(",", ":")))
    found = lines(run("lag", "--checkpoint", str(folder), "--output", "json"))
    return [(shard["shardId"], shard["position"], shard["millisBehindLatest"]) for shard in found]


def write_checkpoint(folder: Path, version: str, *lines: str) -> None:
    for log in ("offsets", "commits"):
        (folder / log).mkdir()
        (folder / log / "0").write_text("\n".join([version, '{"batchWatermarkMs":0}', *lines]))


def offset_of(position: str) -> str:
    return f'{{"version":1,"streams":{{"arn":{{"created":1,"shards":{{"s":{position}}}}}}}}}'


class Shards:
    """A client of the service that has the given answers of GetRecords by shard, and no other shards."""

    class exceptions:  # noqa: N801  (boto3's name)
        class ResourceNotFoundException(Exception):  # noqa: N818
            pass

    def __init__(self, answers: dict[str, dict[str, Any]], parents: dict[str, str] | None = None) -> None:
        self.answers = answers
        self.parents = parents or {}

    def list_shards(self, **_: str) -> dict[str, Any]:
        return {"Shards": [{"ShardId": shard, "ParentShardId": self.parents.get(shard)} for shard in self.answers]}

    def get_shard_iterator(self, ShardId: str, **_: str) -> dict[str, str]:  # noqa: N803
        if ShardId not in self.answers:
            raise self.exceptions.ResourceNotFoundException
        return {"ShardIterator": ShardId}

    def get_records(self, ShardIterator: str, **_: int) -> dict[str, Any]:  # noqa: N803
        return self.answers[ShardIterator]


class ShortIterators:
    """A service of closed shards with one record each, whose iterators expire once another one is made."""

    class exceptions:  # noqa: N801  (boto3's name)
        class ExpiredIteratorException(Exception):  # noqa: N818
            pass

    def __init__(self, records: dict[str, bytes]) -> None:
        self.records = records
        self.newest = ""

    def list_shards(self, **_: str) -> dict[str, Any]:
        return {"Shards": [{"ShardId": shard} for shard in self.records]}

    def get_shard_iterator(self, ShardId: str, **_: str) -> dict[str, str]:  # noqa: N803
        self.newest = ShardId
        return {"ShardIterator": ShardId}

    def get_records(self, ShardIterator: str) -> dict[str, Any]:  # noqa: N803
        if ShardIterator != self.newest:
            raise self.exceptions.ExpiredIteratorException
        record = {"SequenceNumber": "1", "Data": self.records[ShardIterator]}
        return {"Records": [record], "MillisBehindLatest": 0}


def test_lag_waits_for_a_shard_that_others_read_at_its_limit(kinesis: LocalKinesis) -> None:
    target = target_on(kinesis)
    kinesis.add_fault("ProvisionedThroughputExceededException", action="GetRecords", first=4)
    assert [lag.millis_behind for lag in service.lags(target.client(), target, {})] == [0, 0]


def test_an_endpoint_that_is_no_url_is_said_in_one_line() -> None:
    arguments = ["shards", "events", "--region", "eu-west-1", "--endpoint", "localhost:4567"]
    failed = CliRunner().invoke(kinesis_spark, arguments)
    assert failed.exit_code == 1
    assert "--endpoint" in failed.stderr
    assert len(failed.stderr.splitlines()) == 1


def test_lag_shows_a_shard_whose_parent_is_past_retention() -> None:
    client = Shards({"s-2": {"MillisBehindLatest": 5000, "Records": [], "NextShardIterator": "s-2"}}, {"s-2": "s-1"})
    found = service.lags(client, service.Target("events", None, None, None), {"s-0": "SHARD_END", "s-1": "49"})
    assert [(lag.shard, lag.millis_behind) for lag in found] == [("s-0", 0), ("s-1", None), ("s-2", 5000)]


def test_the_lag_of_a_shard_with_one_unread_record_is_the_record_s_age() -> None:
    arrived = datetime.now(timezone.utc) - timedelta(minutes=10)
    record = {"ApproximateArrivalTimestamp": arrived}
    client = Shards(
        {
            "last": {"MillisBehindLatest": 0, "Records": [record]},
            "read": {"MillisBehindLatest": 0, "Records": []},
            "old": {"MillisBehindLatest": 10**9, "Records": [record]},
        }
    )
    target = service.Target("events", None, None, None)
    last, old, read = service.lags(client, target, dict.fromkeys(client.answers, "1"))
    assert (old.millis_behind, read.millis_behind) == (10**9, 0)
    assert last.millis_behind is not None
    assert 600_000 <= last.millis_behind < 700_000


@pytest.mark.parametrize(("answers", "status"), [({}, 2), ({"s": {"MillisBehindLatest": 0, "Records": []}}, 0)])
def test_a_shard_that_no_longer_exists_is_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answers: dict[str, dict[str, Any]], status: int
) -> None:
    monkeypatch.setattr(service.Target, "client", lambda _: Shards(answers))
    write_checkpoint(tmp_path, "v1", offset_of('"49"').replace('"arn"', f'"{ARN}"'))
    done = CliRunner().invoke(kinesis_spark, ["lag", ARN, "--checkpoint", str(tmp_path), "--above", "60000"])
    assert done.exit_code == status, done.output


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("v1", offset_of('"49"')),
        ("v1", '{"version":1,"streams":{"arn":{"created":1,"from":"TRIM_HORIZON","shards":{"s":["49"]}}}}'),
        ("v2", "orders:" + offset_of('{"from":"TRIM_HORIZON","to":"49"}')),
    ],
)
def test_positions_are_read_from_each_form_of_the_offset_log(tmp_path: Path, version: str, line: str) -> None:
    write_checkpoint(tmp_path, version, line)
    assert last_committed(str(tmp_path)) == {"arn": {"s": "49"}}


@pytest.mark.parametrize(("version", "names"), [("v1", ("0", "1")), ("v2", ("orders", "again"))])
def test_positions_of_a_stream_that_several_sources_read_are_those_of_the_named_source(
    tmp_path: Path, version: str, names: tuple[str, str]
) -> None:
    offsets = [offset_of('"49"'), offset_of('"50"')]
    prefixes = [f"{name}:" if version == "v2" else "" for name in names]
    write_checkpoint(tmp_path, version, *(prefix + offset for prefix, offset in zip(prefixes, offsets, strict=True)))
    assert [last_committed(str(tmp_path), name) for name in names] == [{"arn": {"s": "49"}}, {"arn": {"s": "50"}}]
    with pytest.raises(InvalidOptionError, match="Several sources of the query read arn"):
        last_committed(str(tmp_path))
    with pytest.raises(InvalidOptionError, match="source=other"):
        last_committed(str(tmp_path), "other")


def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOptionError, match="not a checkpoint on this machine"):
        last_committed(str(tmp_path))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = tmp_path / "a checkpoint"
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True)
        for batch in (9, 10):
            (folder / name / str(batch)).write_text(
                f'v1\n{{}}\n{{"version":1,"streams":{{"arn":{{"created":1,"shards":{{"s":"{batch}"}}}}}}}}\n'
            )
    # Planned and not committed.
    (folder / "offsets" / "11").write_text("v1\n{}\n{}\n")
    return folder


def test_a_checkpoint_is_read_as_a_folder_and_as_a_url_of_a_file_without_spark(checkpoint: Path) -> None:
    for given in (str(checkpoint), checkpoint.as_uri()):
        assert last_committed(given) == {"arn": {"s": "10"}}


def test_a_checkpoint_on_another_file_system_is_read_by_the_session(spark: SparkSession, checkpoint: Path) -> None:
    # Hadoop's own file system of links, in place of s3a, hdfs or abfss.
    assert spark._jsc is not None
    spark._jsc.hadoopConfiguration().set("fs.viewfs.mounttable.lake.link./data", checkpoint.parent.as_uri())
    assert last_committed(f"viewfs://lake/data/{checkpoint.name}/") == {"arn": {"s": "10"}}
    for absent, why in (("viewfs://lake/data/none", "can't be read"), ("nofs://lake/data", "can't be read")):
        with pytest.raises(InvalidOptionError, match=f"{absent} {why} as a checkpoint by Spark: .+"):
            last_committed(absent)


@pytest.fixture
def no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if PySpark were not installed."""
    for name in [name for name in sys.modules if name.split(".")[0] == "pyspark"]:
        monkeypatch.setitem(sys.modules, name, None)
    installed = metadata.version

    def version(name: str) -> str:
        if name == "pyspark":
            raise metadata.PackageNotFoundError(name)
        return installed(name)

    monkeypatch.setattr(metadata, "version", version)


@pytest.mark.usefixtures("no_pyspark")
def test_a_checkpoint_on_another_file_system_without_pyspark_says_that_it_needs_a_session() -> None:
    with pytest.raises(InvalidOptionError, match="a Spark session, and there is none: PySpark isn't installed here"):
        last_committed("s3a://bucket/checkpoint")


def test_a_doctor_finds_all_in_order_on_a_stream_that_can_be_read(run: Run) -> None:
    checks = lines(run("doctor", "--fan-out", "--output", "json"))
    assert {check["result"] for check in checks} == {"ok"}
    assert re.fullmatch(r"Spark \S+ with the connector", checks[3]["found"])
    assert [check["check"] for check in checks][-5:] == [
        "kinesis:DescribeStreamSummary",
        "kinesis:ListShards",
        "kinesis:GetShardIterator",
        "kinesis:GetRecords",
        "kinesis:ListStreamConsumers",
    ]


def test_a_doctor_fails_a_spark_session_that_takes_too_long(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinesis_spark.cli.doctor._SESSION_TIMEOUT_S", 0.001)
    result = run("doctor", "--output", "json")
    checks = {check["check"]: check for check in map(json.loads, result.stdout.splitlines())}
    assert (result.exit_code, checks["Spark session"]["result"]) == (1, "failed")
    assert checks["Spark session"]["found"] == "not ready after 0.001 s"
    assert checks["kinesis:GetRecords"]["result"] == "ok"


def doctor(run: Run, *arguments: str, **given: str) -> dict[str, dict[str, str]]:
    """What is found of all but the Spark session, by what it is about."""
    result = run("doctor", "--no-session", "--output", "json", *arguments, **given)
    checks = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == (1 if any(check["result"] == "failed" for check in checks) else 0)
    return {check["check"].removeprefix("kinesis:"): check for check in checks}


def results(checks: dict[str, dict[str, str]], *names: str) -> list[str]:
    return [checks[name]["result"] for name in names]


def test_a_doctor_reports_each_of_several_refused_calls_with_what_to_do(run: Run, kinesis: LocalKinesis) -> None:
    kinesis.add_fault("AccessDeniedException", action="DescribeStreamSummary")
    kinesis.add_fault("KMSAccessDeniedException", action="GetRecords")
    kinesis.add_fault("AccessDeniedException", action="ListStreamConsumers")
    checks = doctor(run, "--fan-out", stream=ARN)
    assert results(checks, "DescribeStreamSummary", "ListShards", "GetShardIterator", "GetRecords") == [
        "failed",
        "ok",
        "ok",
        "failed",
    ]
    assert "Allow kinesis:DescribeStreamSummary" in checks["DescribeStreamSummary"]["advice"]
    assert "kms:Decrypt" in checks["GetRecords"]["advice"]
    assert "Allow kinesis:ListStreamConsumers" in checks["ListStreamConsumers"]["advice"]


def test_a_doctor_tries_no_call_that_needs_what_another_one_did_not_bring(run: Run, kinesis: LocalKinesis) -> None:
    kinesis.add_fault("AccessDeniedException", action="ListShards")
    checks = doctor(run)
    assert results(checks, "DescribeStreamSummary", "ListShards") == ["ok", "failed"]
    assert checks["GetShardIterator"]["found"] == "needs a shard to try it on"
    assert checks["GetRecords"]["found"] == "needs an iterator"


def test_a_doctor_reports_a_missing_stream_once(run: Run) -> None:
    checks = doctor(run, stream="absent")
    assert "There is no stream absent" in checks["DescribeStreamSummary"]["advice"]
    assert checks["ListShards"]["found"] == checks["GetRecords"]["found"] == "needs the stream"


@pytest.mark.usefixtures("no_pyspark")
def test_a_doctor_without_pyspark_makes_the_checks_that_need_no_spark() -> None:
    arguments = ["doctor", "events", "--endpoint", "http://127.0.0.1:1", "--output", "json"]
    result = CliRunner().invoke(kinesis_spark, arguments)
    checks = {check["check"]: check for check in map(json.loads, result.stdout.splitlines())}
    assert checks["PySpark"]["found"] == "not installed here"
    assert "PySpark is not installed here" in checks["connector JAR"]["advice"]
    assert checks["Spark session"]["found"] == "needs PySpark and connector JAR"
    assert "region" in checks


@pytest.mark.usefixtures("no_pyspark")
def test_the_path_of_the_jar_is_not_printed_without_pyspark() -> None:
    result = CliRunner().invoke(kinesis_spark, ["jar"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: PySpark is not installed here")


def test_a_doctor_reports_all_that_is_missing_on_a_bare_machine(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(jars, "_JARS", tmp_path)
    result = CliRunner().invoke(kinesis_spark, ["doctor", "events", "--output", "json"])
    checks = {check["check"]: check for check in map(json.loads, result.stdout.splitlines())}
    assert result.exit_code == 1
    assert [name for name, check in checks.items() if check["result"] == "failed"] == [
        "Java",
        "connector JAR",
        "region",
    ]
    assert all(checks[name]["advice"] for name in ("Java", "connector JAR", "region"))
    assert checks["Spark session"]["found"] == "needs Java and connector JAR"
    assert checks["credentials"]["found"] == "needs a region"
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    without_keys = doctor(run)
    assert results(without_keys, "Java", "credentials", "GetRecords") == ["failed", "failed", "not tried"]


def test_a_doctor_looks_for_java_on_path_only_without_java_home(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("JAVA_HOME", "/no/java")
    assert doctor(run)["Java"]["found"] == "no java in /no/java/bin, where JAVA_HOME points"
    monkeypatch.delenv("JAVA_HOME")
    assert doctor(run)["Java"]["found"] == "17.0.1"


@pytest.mark.parametrize(
    ("variables", "of_profile", "region"),
    [
        ({"AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "us-east-1"}, "region = eu-north-1", "eu-central-1"),
        ({"AWS_DEFAULT_REGION": "us-east-1"}, "region = eu-north-1", "eu-north-1"),
        ({"AWS_DEFAULT_REGION": "us-east-1"}, "", "us-east-1"),
    ],
)
def test_the_region_is_that_of_aws_region_then_of_the_profile_then_of_aws_default_region(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variables: dict[str, str], of_profile: str, region: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "config").write_text(f"[default]\n{of_profile}\n")
    assert service.Target("events", None, None, None).session().region_name == region


def test_a_doctor_reports_a_region_that_the_connector_does_not_read_and_calls_kinesis_there(
    run_without_region: Run, kinesis: LocalKinesis, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", kinesis.region)
    checks = doctor(run_without_region)
    assert results(checks, "region", "credentials", "GetRecords") == ["failed", "ok", "ok"]
    assert "The connector doesn't read AWS_DEFAULT_REGION: set AWS_REGION" in checks["region"]["advice"]
    (tmp_path / "config").write_text(f"[default]\nregion = {kinesis.region}\n")
    assert results(doctor(run_without_region), "region") == ["ok"]


def test_a_doctor_reports_a_profile_that_does_not_exist_after_the_checks_that_need_none(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = doctor(run, "--profile", "typo")
    monkeypatch.setenv("AWS_PROFILE", "typo")
    for checks in (given, doctor(run)):
        assert results(checks, "PySpark", "Java", "connector JAR") == ["ok", "ok", "ok"]
        assert results(checks, "region", "credentials", "GetRecords") == ["not tried", "failed", "not tried"]
        assert "typo" in checks["credentials"]["found"]
        assert "Correct --profile" in checks["credentials"]["advice"]


def test_a_doctor_reports_an_endpoint_that_is_no_url_after_the_checks_that_need_none(
    monkeypatch: pytest.MonkeyPatch, kinesis: LocalKinesis
) -> None:
    def run(*arguments: str) -> Result:
        return CliRunner().invoke(kinesis_spark, [*arguments, "events", "--region", kinesis.region])

    given = doctor(run, "--endpoint", "localhost:4567")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "localhost:4567")
    for checks in (given, doctor(run)):
        assert results(checks, "PySpark", "Java", "connector JAR", "region") == ["ok"] * 4
        assert results(checks, "endpoint", "credentials", "GetRecords") == ["failed", "not tried", "not tried"]
        assert "localhost:4567" in checks["endpoint"]["found"]
    monkeypatch.setenv("AWS_ENDPOINT_URL_KINESIS", kinesis.endpoint)
    checks = doctor(run)
    assert "endpoint" not in checks
    assert results(checks, "credentials", "GetRecords") == ["failed", "not tried"]
    assert "AWS_ENDPOINT_URL_STS" in checks["credentials"]["advice"]


def test_a_doctor_that_does_not_reach_sts_tries_kinesis_with_the_credentials_that_it_finds(
    kinesis: LocalKinesis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_KINESIS", kinesis.endpoint)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(kinesis_spark, [*arguments, "events", "--region", kinesis.region])

    checks = doctor(run)
    assert results(checks, "credentials", "GetRecords") == ["ok", "ok"]
    assert checks["credentials"]["found"] == "identity unknown: STS is not reachable"
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert results(doctor(run), "credentials", "GetRecords") == ["failed", "not tried"]


def test_a_failure_is_printed_without_traceback_and_names_the_command_that_looks_into_it(run: Run) -> None:
    result = run("shards", stream="absent")
    assert result.exit_code == 1
    assert re.fullmatch(r"Error: .*ResourceNotFoundException.*\n`kinesis-spark doctor` .*\n", result.stderr)
    assert "EARLIEST" in run("tail", "--from", "EARLIEST").stderr


def test_a_table_shows_brackets_in_a_cell_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    commands._show("table", ("name", "parents"), [("[/x]", ["[bold]one", ":bug:"])])
    printed = capsys.readouterr().out
    assert "[/x]" in printed
    assert "[bold]one, :bug:" in printed


def test_a_stream_without_consumers_is_reported_in_a_sentence_or_as_no_line_of_json(run: Run) -> None:
    assert run("consumers").stdout == "There is no such stream consumer.\n"
    assert run("consumers", "--output", "json").stdout == ""


@pytest.mark.parametrize(
    ("use", "heading"),
    [("polling", "Polling"), ("fan-out", "Fan-out, lazy or eager"), ("fan-out-none", "Fan-out, none")],
)
def test_iam_prints_the_policy_of_the_reference(use: str, heading: str) -> None:
    arn = "arn:aws:kinesis:eu-west-1:111122223333:stream/orders"
    result = CliRunner().invoke(kinesis_spark, ["iam", arn, "--for", use, "--consumer", "orders-to-parquet"])
    page = (ROOT / "docs" / "reference" / "iam.md").read_text()
    (documented, *_) = re.findall(r"```json\n(.*?)```", page.partition(f"### {heading}\n")[2], re.DOTALL)
    assert json.loads(result.stdout) == json.loads(documented)


STREAM = "arn:aws:kinesis:eu-west-1:111122223333:stream/orders"
ROLE = "arn:aws:iam::444455556666:role/reader"
CONSUMER_OF_REFUNDS = "arn:aws:kinesis:eu-west-1:111122223333:stream/refunds/consumer/app:1525898737"


def iam(*options: str, use: str = "polling") -> dict[str, Any]:
    """The resource of each action that the command allows."""
    arguments = [word for option in options for word in ("--option", option)]
    result = CliRunner().invoke(kinesis_spark, ["iam", STREAM, "--for", use, *arguments])
    assert result.exit_code == 0, result.output
    return {action: s["Resource"] for s in json.loads(result.stdout)["Statement"] for action in s["Action"]}


def test_iam_says_what_of_the_arn_is_a_placeholder() -> None:
    unknown = CliRunner().invoke(kinesis_spark, ["iam", "orders"])
    assert json.loads(unknown.stdout)["Statement"][0]["Resource"] == STREAM
    assert unknown.stderr.startswith("The account 111122223333 and the region eu-west-1 are placeholders;")
    known = CliRunner().invoke(kinesis_spark, ["iam", "orders", "--region", "eu-west-1"])
    assert known.stderr.startswith("The account 111122223333 is a placeholder;")


@pytest.mark.parametrize(
    ("region", "partition"), [("eu-west-1", "aws"), ("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov")]
)
def test_iam_prints_the_partition_of_the_region(region: str, partition: str) -> None:
    result = CliRunner().invoke(kinesis_spark, ["iam", "orders", "--region", region])
    resource = json.loads(result.stdout)["Statement"][0]["Resource"]
    assert resource == f"arn:{partition}:kinesis:{region}:111122223333:stream/orders"


@pytest.mark.parametrize("stream", ["orders", "Orders", STREAM])
def test_iam_takes_the_options_of_the_stream_itself(stream: str) -> None:
    own = (f"stream.{stream}.roleArn={ROLE}", f"stream.{stream}.ROLETAGS=team=data")
    allowed = iam("roleArn=arn:aws:iam::444455556666:role/other", *own, "roleSourceIdentity=alice")
    actions = ("sts:AssumeRole", "sts:TagSession", "sts:SetSourceIdentity")
    assert {action: allowed.get(action) for action in actions} == dict.fromkeys(actions, ROLE)


def test_iam_leaves_out_the_options_of_another_stream() -> None:
    assert iam(f"stream.refunds.roleArn={ROLE}", "stream.refunds.roleTags=team=data") == iam()


@pytest.mark.parametrize("stream", ["orders", "Orders", STREAM])
def test_iam_allows_the_consumer_whose_arn_is_given_for_the_stream(stream: str) -> None:
    consumer = f"{STREAM}/consumer/shared:1525898737"
    options = (f"efo.consumerArn.{stream}={consumer}", f"efo.consumerArn.refunds={CONSUMER_OF_REFUNDS}")
    for use in ("fan-out-none", "fan-out"):
        allowed = iam(*options, "efo.consumerName=app", use=use)
        assert allowed["kinesis:SubscribeToShard"] == allowed["kinesis:DescribeStreamConsumer"] == consumer
        assert "kinesis:RegisterStreamConsumer" not in allowed


def test_iam_allows_a_consumer_by_name_where_only_another_stream_has_the_arn_of_one() -> None:
    of_refunds = f"efo.consumerArn.refunds={CONSUMER_OF_REFUNDS}"
    by_name = iam(of_refunds, "efo.consumerName=app", use="fan-out")
    assert by_name["kinesis:SubscribeToShard"] == f"{STREAM}/consumer/app:*"
    assert iam(of_refunds, use="fan-out")["kinesis:SubscribeToShard"] == f"{STREAM}/consumer/*:*"


def test_iam_says_of_a_policy_with_a_role_that_it_is_for_two_principals() -> None:
    def said(*arguments: str) -> str:
        return CliRunner().invoke(kinesis_spark, ["iam", STREAM, *arguments]).stderr

    role = ("--option", f"roleArn={ROLE}")
    assert said(*role).startswith("The statement with sts:AssumeRole is for the principal that assumes the role;")
    assert said() == said(*role, "--principal", "444455556666") == ""
    assert said(*role, "--option", "webIdentityTokenFile=/token") == ""


def test_iam_prints_the_role_of_a_stream_whose_own_credentials_replace_a_general_web_identity() -> None:
    general = (f"roleArn={ROLE}", "webIdentityTokenFile=/token")
    assert "sts:AssumeRole" not in iam(*general)
    assert iam(*general, "stream.orders.profile=production")["sts:AssumeRole"] == ROLE


@pytest.mark.parametrize(
    "name",
    ["efo.deregisterOnStop", "cloudWatch.namespace", "getRecords.maxRetries", "roleChain"],
)
def test_iam_takes_an_option_of_a_source_and_refuses_a_typing_error(name: str) -> None:
    iam(f"{name}=false")
    result = CliRunner().invoke(kinesis_spark, ["iam", STREAM, "--option", f"{name}s=false"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"Unknown option '{name}s'. Did you mean '{name}'?" in result.stderr


@pytest.mark.parametrize("name", ["stream.orders.roleArns", "stream.orders", "maxRecordsPerTrigger"])
def test_iam_refuses_an_option_that_a_sink_does_not_have(name: str) -> None:
    result = CliRunner().invoke(kinesis_spark, ["iam", STREAM, "--for", "sink", "--option", f"{name}=1"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"Unknown option '{name}'" in result.stderr


def test_the_command_line_says_how_to_install_what_it_needs() -> None:
    script = "import sys; sys.modules['click'] = None; from kinesis_spark.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "pip install boto3 click rich" in done.stderr
