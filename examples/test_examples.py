"""Runs the examples: most in one Spark session and on one server, to be quick; others by spark-submit, as users do."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest
from backfill import backfill
from orders import Service, order
from pyspark.sql import SparkSession

from kinesis_spark import LocalKinesis, Record, jars

EXAMPLES = Path(__file__).resolve().parent
ORDERS = list(range(20))
NO_PROGRAMS = ("orders.py", "conftest.py", "test_examples.py", "test_pipeline.py")
PROGRAMS = sorted(path.name for path in EXAMPLES.glob("*.py") if path.name not in NO_PROGRAMS)
Run = Callable[..., str]


@pytest.fixture(scope="module")
def kinesis() -> Iterator[LocalKinesis]:
    with LocalKinesis({"large-orders": 1, "payloads": 1, "refunds": 1}) as server:
        yield server


@pytest.fixture
def run(
    kinesis_session: SparkSession,  # noqa: ARG001  (the programs take up this session)
    kinesis: LocalKinesis,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Runs a program on a stream of its own with 20 orders, and returns what it prints."""
    stream = re.sub(r"\W+", "-", str(request.node.name).replace("test_", ""))[:80].strip("-")

    def run(program: str, *arguments: str) -> str:
        if stream not in kinesis.client.call("ListStreams")["StreamNames"]:
            kinesis.client.create_stream(stream, 2)
            kinesis.put_records(stream, [order(number) for number in ORDERS])
        command = [program, "--stream", stream, "--endpoint", kinesis.endpoint, *arguments]
        monkeypatch.setattr(sys, "argv", command)
        # A program ends with the session; here others continue with it.
        monkeypatch.setattr(SparkSession, "stop", lambda _: None)
        runpy.run_path(str(EXAMPLES / program), run_name="__main__")
        monkeypatch.undo()
        return capsys.readouterr().out

    return run


def numbers(pattern: str, printed: str) -> list[int]:
    return sorted(int(number) for number in re.findall(pattern, printed, re.M))


def test_orders_are_appended_to_files_once_in_two_runs(run: Run, tmp_path: Path) -> None:
    for _ in range(2):
        assert run("to_files.py", "--output", str(tmp_path)) == "20 rows, 0 of them unparsed\n"


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


def test_json_payloads_are_written_and_read_back(run: Run) -> None:
    assert numbers(r"^json: order (\d+) of customer-\d", run("payloads.py", "--stream", "payloads")) == list(
        range(1, 11)
    )


def test_a_query_reads_streams_of_two_accounts(run: Run, kinesis: LocalKinesis) -> None:
    kinesis.put_records("refunds", [order(number) for number in range(5)])
    printed = run("two_accounts.py")
    assert sum(numbers(r"(\d+) records of refunds", printed)) == 5
    assert sum(numbers(r"(\d+) records of a_query", printed)) == 20


@pytest.mark.parametrize("registration", ["lazy", "none"])
def test_fan_out_delivers_each_order_once(run: Run, registration: str) -> None:
    printed = run("fan_out.py", "--registration", registration)
    assert numbers(r"^batch \d+: shardId-\d+ customer-\d \{\"order\": (\d+),", printed) == ORDERS
    assert set(numbers(r"^metrics .* subscriptionsLive=(\d+)", printed)) <= {1, 2}
    assert ("consumer kinesis-spark-example is deregistered" in printed) == (registration == "none")


def test_a_copy_in_another_stream_has_each_large_order_once(run: Run) -> None:
    assert numbers(r"^large: order (\d+) of customer-\d", run("kinesis_to_kinesis.py")) == list(range(11, 20))


def test_the_tested_pipeline_runs_as_a_program(run: Run) -> None:
    assert run("pipeline.py") == "20 records read\n"


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
    service, state = Service("restarted", None, kinesis.endpoint), str(tmp_path)

    def fail_before_the_batch() -> None:
        service.put([order(number) for number in range(120, 130)])
        raise RuntimeError("before the batch")

    def fail_after_the_batch(*_: object, **__: object) -> None:
        raise RuntimeError("after the batch")

    with pytest.raises(RuntimeError, match="before the batch"):
        backfill(kinesis_session, service.source, state, fail_before_the_batch)
    with monkeypatch.context() as failing:
        failing.setattr("backfill.read_stream", fail_after_the_batch)
        with pytest.raises(RuntimeError, match="after the batch"):
            backfill(kinesis_session, service.source, state)
    backfill(kinesis_session, service.source, state)
    printed = capsys.readouterr().out
    assert printed.startswith("backfill of 120 records\n")
    assert numbers(r"\{\"order\": (\d+),", printed) == list(range(130))


def test_data_that_is_no_order_is_kept_and_stops_nothing(run: Run, kinesis: LocalKinesis, tmp_path: Path) -> None:
    run("to_files.py", "--output", str(tmp_path))
    kinesis.put_records("data_that_is_no_order_is_kept_and_stops_nothing", [Record("customer-1", b"no order")])
    assert run("to_files.py", "--output", str(tmp_path)) == "21 rows, 1 of them unparsed\n"


def test_every_program_is_on_the_page_of_examples() -> None:
    listed = re.findall(r"^\| \[(\w+\.py)\]", (EXAMPLES / "README.md").read_text(), re.M)
    assert sorted(listed) == PROGRAMS


def submit(program: str, *arguments: str, packages: str | None = None) -> str:
    """As a user does, with nothing about the master in the program."""
    more = ["--packages", packages] if packages else []
    spark_submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    options = ["--master", "local[2]", "--conf", "spark.ui.enabled=false", "--jars", str(jars.connector_jar()), *more]
    done = subprocess.run(
        [str(spark_submit), *options, str(EXAMPLES / program), *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    if packages is not None and "unresolved dependency" in done.stderr:
        pytest.skip(f"{packages} can't be downloaded here")
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_an_example_runs_by_spark_submit_with_a_server_of_its_own() -> None:
    rounds = re.findall(r"^([\d, ]+): -?\d+ ms$", submit("real_time.py"), re.M)
    assert [[int(n) for n in found.split(", ")] for found in rounds] == [
        list(range(first, first + 10, 2)) for first in (2, 12, 22, 32)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_example_runs_by_spark_submit(program: str) -> None:
    assert submit(program) != ""


@pytest.mark.slow
@pytest.mark.parametrize("module", ["avro", "protobuf"])
def test_payloads_of_spark_s_modules_are_written_and_read_back(module: str) -> None:
    version = pyspark.__version__
    printed = submit("payloads.py", "--payload", module, packages=f"org.apache.spark:spark-{module}_2.13:{version}")
    assert numbers(rf"^{module}: order (\d+) of customer-\d", printed) == list(range(1, 11))


def test_round_trip_example_reads_back_every_record_once() -> None:
    figures = json.loads(submit("round_trip.py"))
    assert (figures["records"], figures["same"]) == (100_000, True)
