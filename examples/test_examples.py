"""Runs the examples: most in one Spark session and on one server, to be quick; others by spark-submit, as users do."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from typing import Any, ClassVar, cast
from urllib.parse import parse_qs

import boto3
import pyspark
import pytest
import real_time
from backfill import backfill
from orders import Service, order
from pyspark.sql import SparkSession

from kinesis_spark import LocalKinesis, Record, jars

EXAMPLES = Path(__file__).resolve().parent
ORDERS = list(range(20))
NO_PROGRAMS = ("orders.py", "conftest.py", "test_examples.py", "test_pipeline.py")
PROGRAMS = sorted(path.name for path in EXAMPLES.glob("*.py") if path.name not in NO_PROGRAMS)
OF_ITS_OWN_SERVER = ("payloads.py", "real_time.py", "round_trip.py")
# The argument that names the folder of what a program keeps, where it isn't --checkpoint.
STATE = {"to_files.py": "--output", "backfill.py": "--state"}
Run = Callable[..., str]


@pytest.fixture(scope="module")
def kinesis() -> Iterator[LocalKinesis]:
    with LocalKinesis({"large-orders": 1, "copied": 1}) as server:
        yield server


def stream_of(request: pytest.FixtureRequest) -> str:
    return re.sub(r"\W+", "-", str(request.node.name).replace("test_", ""))[:80].strip("-")


@pytest.fixture
def run(  # noqa: PLR0913, PLR0917  (each is a fixture)
    kinesis_session: SparkSession,  # noqa: ARG001  (the programs take up this session)
    kinesis: LocalKinesis,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Run:
    """Runs a program on a stream of its own with 20 orders and one folder of state, and returns what it prints."""
    stream = stream_of(request)

    def run(program: str, *arguments: str) -> str:
        if stream not in kinesis.client.call("ListStreams")["StreamNames"]:
            kinesis.client.create_stream(stream, 2)
            kinesis.put_records(stream, [order(number) for number in ORDERS])
        state = (STATE.get(program, "--checkpoint"), str(tmp_path))
        play(monkeypatch, program, "--stream", stream, "--endpoint", kinesis.endpoint, *state, *arguments)
        return capsys.readouterr().out

    return run


@pytest.fixture
def functions_run_in_this_python(kinesis_session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the packages that they need; PATH may lead to another one."""
    monkeypatch.setattr(kinesis_session.sparkContext, "pythonExec", sys.executable)


def play(monkeypatch: pytest.MonkeyPatch, program: str, *arguments: str) -> None:
    with monkeypatch.context() as here:
        here.setattr(sys, "argv", [program, *arguments])
        # A program ends with the session; here others continue with it.
        here.setattr(SparkSession, "stop", lambda _: None)
        runpy.run_path(str(EXAMPLES / program), run_name="__main__")


def numbers(pattern: str, printed: str) -> list[int]:
    return sorted(int(number) for number in re.findall(pattern, printed, re.M))


def test_each_order_is_appended_once_in_two_runs_and_data_that_is_no_order_is_kept(
    run: Run, kinesis: LocalKinesis, request: pytest.FixtureRequest
) -> None:
    assert run("to_files.py") == "20 rows, 0 of them unparsed\n"
    kinesis.put_records(stream_of(request), [Record("customer-1", b"no order")])
    assert run("to_files.py") == "21 rows, 1 of them unparsed\n"


def test_orders_are_counted_by_window_and_customer(run: Run) -> None:
    lines = re.findall(r"^batch \d+: \d\d:\d\d (customer-\d) (\d+) ([\d.]+)$", run("windowed_counts.py"), re.M)
    last = {customer: (int(orders), float(total)) for customer, orders, total in lines}
    # Two windows, if a minute ended between the records.
    assert set(last) == {"customer-0", "customer-1", "customer-2"}
    if len(lines) == 3:
        assert last["customer-0"] == (7, sum(range(0, 20, 3)) / 2)


def test_the_latest_order_of_each_customer_stays_when_batches_run_again(run: Run, tmp_path: Path) -> None:
    database = str(tmp_path / "orders.db")
    for _ in range(2):
        printed = run("latest_per_customer.py", "--database", database)
        assert numbers(r"order (\d+), total", printed) == [17, 18, 19]
        shutil.rmtree(tmp_path / "checkpoint")


@pytest.mark.usefixtures("functions_run_in_this_python")
@pytest.mark.parametrize(("payload", "by"), [("json", "spark"), ("avro", "python"), ("protobuf", "python")])
def test_payloads_are_written_and_read_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], payload: str, by: str
) -> None:
    play(monkeypatch, "payloads.py", "--payload", payload, "--by", by)
    printed = capsys.readouterr().out
    assert numbers(rf"^{payload}: order (\d+) of customer-\d, total \d\.\d$", printed) == list(range(1, 11))


def test_payloads_are_not_written_to_a_stream_of_the_user(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        play(monkeypatch, "payloads.py", "--stream", "orders", "--region", "eu-west-1")
    assert "unrecognized arguments: --stream" in capsys.readouterr().err


ROLE = "arn:aws:iam::222222222222:role/reader"
ASSUMED = b"""<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>ASIDREADER</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>token</SessionToken>
<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""


class Sts(BaseHTTPRequestHandler):
    """Gives out the keys of the role, and notes who asked for which."""

    asked: ClassVar[list[tuple[str, str]]] = []

    def do_POST(self) -> None:
        given = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        by = re.findall(r"Credential=(\w+)/", self.headers["Authorization"])
        self.asked.append((*by, *given["RoleArn"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/xml")
        self.send_header("Content-Length", str(len(ASSUMED)))
        self.end_headers()
        self.wfile.write(ASSUMED)

    def log_message(self, *_: object) -> None:
        """Tests print nothing."""


@pytest.fixture
def sts(kinesis_session: SparkSession) -> Iterator[type[Sts]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Sts)
    Thread(target=server.serve_forever, daemon=True).start()
    assert kinesis_session._jvm is not None
    properties = kinesis_session._jvm.java.lang.System
    properties.setProperty("aws.endpointUrlSts", f"http://127.0.0.1:{server.server_port}")
    yield Sts
    properties.clearProperty("aws.endpointUrlSts")
    server.shutdown()


def test_a_query_reads_streams_of_two_accounts_by_a_role(
    sts: type[Sts], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    accounts = {
        "orders": ("111111111111", "local", "local"),
        "refunds": ("222222222222", "ASIDREADER", "secret", "token"),
    }
    words = [word for account in accounts.values() for word in ("--account", ":".join(account))]
    with LocalKinesis(arguments=words) as kinesis:
        for stream, count in (("orders", 20), ("refunds", 5)):
            _, key, secret, *token = accounts[stream]
            session = boto3.Session(key, secret, *token, region_name=kinesis.region)
            client = session.client("kinesis", endpoint_url=kinesis.endpoint)
            client.create_stream(StreamName=stream, ShardCount=1)
            records = [{"PartitionKey": key, "Data": data} for key, data, _ in map(order, range(count))]
            client.put_records(StreamName=stream, Records=records)
        where = ["--endpoint", kinesis.endpoint, "--checkpoint", str(tmp_path)]
        play(monkeypatch, "two_accounts.py", "--stream", "orders", "--other", "refunds", "--role", ROLE, *where)
    printed = capsys.readouterr().out
    assert sum(numbers(r"(\d+) records of refunds", printed)) == 5
    assert sum(numbers(r"(\d+) records of orders", printed)) == 20
    # By the account's own keys, for that role.
    assert set(sts.asked) == {("local", ROLE)}


@pytest.mark.parametrize("registration", ["lazy", "none"])
def test_fan_out_delivers_each_order_once(run: Run, registration: str) -> None:
    printed = run("fan_out.py", "--registration", registration)
    assert numbers(r"^batch \d+: shardId-\d+ customer-\d \{\"order\": (\d+),", printed) == ORDERS
    assert set(numbers(r"^metrics .* subscriptionsLive=(\d+)", printed)) <= {1, 2}
    assert ("consumer kinesis-spark-example is deregistered" in printed) == (registration == "none")


def test_a_copy_that_runs_again_writes_each_large_order_once(
    run: Run, kinesis: LocalKinesis, request: pytest.FixtureRequest
) -> None:
    for expected in (range(11, 20), range(11, 22)):
        printed = run("kinesis_to_kinesis.py")
        assert numbers(r"^large: order (\d+) of customer-\d", printed) == list(expected)
        assert len(kinesis.read_records("large-orders")) == len(expected)
        kinesis.put_records(stream_of(request), [order(20), order(21)])


def test_the_tested_pipeline_runs_as_a_program_and_continues_from_its_checkpoint(run: Run) -> None:
    assert run("pipeline.py", "--target", "copied") == "20 records read\n"
    assert run("pipeline.py", "--target", "copied") == "0 records read\n"


@pytest.mark.parametrize("program", [program for program in PROGRAMS if program not in OF_ITS_OWN_SERVER])
def test_a_program_refuses_a_stream_without_a_folder_for_the_checkpoint(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        play(monkeypatch, program, "--stream", "orders", "--region", "eu-west-1")
    assert f"--stream needs {STATE.get(program, '--checkpoint')}, " in capsys.readouterr().err


def test_a_backfill_and_its_stream_have_each_order_once(run: Run) -> None:
    printed = run("backfill.py")
    assert printed.startswith("backfill of 20 records\n")
    assert numbers(r"^batch -1: .*\{\"order\": (\d+),", printed) == ORDERS
    assert numbers(r"^batch \d+: .*\{\"order\": (\d+),", printed) == list(range(20, 30))


def test_a_restarted_backfill_hands_over_at_the_same_point_and_is_not_repeated(
    kinesis_session: SparkSession,
    kinesis: LocalKinesis,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinesis.client.create_stream("restarted", 2)
    kinesis.put_records("restarted", [order(number) for number in range(120)])
    service = Service("restarted", None, kinesis.endpoint, str(tmp_path))

    def fail_before_the_batch() -> None:
        service.put([order(number) for number in range(120, 130)])
        raise RuntimeError("before the batch")

    def fail_after_the_batch(*_: object, **__: object) -> None:
        raise RuntimeError("after the batch")

    with pytest.raises(RuntimeError, match="before the batch"):
        backfill(kinesis_session, service.source, service.state, fail_before_the_batch)
    with monkeypatch.context() as failing:
        failing.setattr("backfill.read_stream", fail_after_the_batch)
        with pytest.raises(RuntimeError, match="after the batch"):
            backfill(kinesis_session, service.source, service.state)
    backfill(kinesis_session, service.source, service.state)
    printed = capsys.readouterr().out
    assert printed.startswith("backfill of 120 records\n")
    assert numbers(r"\{\"order\": (\d+),", printed) == list(range(130))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_leaves_the_master_to_spark_submit(program: str) -> None:
    code = (EXAMPLES / program).read_text()
    assert re.findall(r"\.master\(|spark\.master|local\[|builder\([^()]*,", code) == []


def test_every_program_is_on_the_page_of_examples() -> None:
    listed = re.findall(r"^\| \[(\w+\.py)\]", (EXAMPLES / "README.md").read_text(), re.M)
    assert sorted(listed) == PROGRAMS


def test_orders_pass_through_a_real_time_query(
    kinesis_session: SparkSession,  # noqa: ARG001  (the program takes up this session)
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    play(monkeypatch, "real_time.py")
    rounds = re.findall(r"^([\d, ]+): -?\d+ ms$", capsys.readouterr().out, re.M)
    assert [[int(n) for n in found.split(", ")] for found in rounds] == [
        list(range(first, first + 10, 2)) for first in (2, 12, 22, 32)
    ]


class FailedQuery:
    """A query that ends before it has written anything."""

    isActive = False  # noqa: N815  (as PySpark has it)
    recentProgress = ()  # noqa: N815

    def exception(self) -> Exception:
        return RuntimeError("the sink is full")


class EmptyStream:
    """A client that has a stream of one shard without records, and may be asked for some a few times."""

    asked = 0

    def call(self, _: str, **__: str) -> dict[str, Any]:
        self.asked += 1
        assert self.asked < 10
        return {"Shards": [{"ShardId": "shardId-0"}], "ShardIterator": "", "NextShardIterator": "", "Records": []}


def test_the_reader_of_the_real_time_program_raises_the_failure_of_its_query() -> None:
    reader = real_time.Reader(cast("Any", EmptyStream()), "even", cast("Any", FailedQuery()))
    with pytest.raises(RuntimeError, match="the sink is full"):
        reader.take(1)


def test_the_real_time_program_raises_the_failure_of_a_query_before_its_first_batch(
    kinesis_session: SparkSession,  # noqa: ARG001  (the program takes up this session)
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    monkeypatch.setattr(real_time, "pipeline", lambda *_: FailedQuery())
    monkeypatch.setattr(real_time, "Reader", None)
    with pytest.raises(RuntimeError, match="the sink is full"):
        real_time.main()


# Of other versions than Spark's and the SDK's.
NEIGHBOURS = "io.netty:netty-codec-http2:4.1.100.Final,com.fasterxml.jackson.core:jackson-databind:2.15.4"


def submit(program: str, *arguments: str, packages: str, settings: Mapping[str, str] = MappingProxyType({})) -> str:
    """As a user does, with nothing about the master in the program."""
    spark_submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    options = ["--master", "local[2]", "--conf", "spark.ui.enabled=false", "--jars", str(jars.connector_jar())]
    more = ["--packages", packages] if packages else []
    more += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    done = subprocess.run(
        [str(spark_submit), *options, *more, str(EXAMPLES / program), *arguments],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    if "unresolved dependency" in done.stderr:
        pytest.skip(f"{packages} can't be downloaded here")
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_an_example_runs_by_spark_submit_beside_another_netty_and_jackson_and_reads_each_record_once() -> None:
    figures = json.loads(submit("round_trip.py", "--records", "20000", packages=NEIGHBOURS))
    assert (figures["records"], figures["same"]) == (20_000, True)


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_example_runs_by_spark_submit(program: str) -> None:
    assert submit(program, packages="") != ""


# The newest of Delta that Maven Central has for this Spark.
DELTA = f"io.delta:delta-spark_{'.'.join(pyspark.__version__.split('.')[:2])}_2.13:4.4.0"


@pytest.mark.slow
def test_orders_are_appended_to_a_delta_table_once_in_two_runs(kinesis: LocalKinesis, tmp_path: Path) -> None:
    kinesis.create_stream("delta", shards=2)
    kinesis.put_records("delta", [order(number) for number in ORDERS])
    settings = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    where = ["--stream", "delta", "--endpoint", kinesis.endpoint, "--output", str(tmp_path), "--format", "delta"]
    for _ in range(2):
        printed = submit("to_files.py", *where, packages=DELTA, settings=settings)
        assert printed.endswith("20 rows, 0 of them unparsed\n")
    assert (tmp_path / "orders" / "_delta_log").is_dir()
