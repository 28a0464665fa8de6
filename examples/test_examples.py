"""Runs the examples as a user does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from backfill import backfill
from orders import ORDERS as LOCAL_ORDERS
from orders import come, source

from kinesis_spark import LocalKinesis, Position, session
from kinesis_spark.local import Record

pytestmark = pytest.mark.jvm

EXAMPLES = Path(__file__).resolve().parent
ORDERS = list(range(1, 21))
MORE_ORDERS = [Record(f"customer-{n % 7}", json.dumps({"order": n}).encode()) for n in range(31, 131)]


def run(program: str) -> str:
    command = [sys.executable, str(EXAMPLES / program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def orders(printed: str) -> list[int]:
    return [
        json.loads(data)["order"] for data in re.findall(r"^batch \d+: shardId-\d+ customer-\d (.*)$", printed, re.M)
    ]


def metrics(printed: str) -> list[dict[str, int]]:
    lines = re.findall(r"^metrics \d+: (.*)$", printed, re.M)
    return [{name: int(value) for name, value in (pair.split("=") for pair in line.split())} for line in lines]


def assert_within_limit(shown: list[dict[str, int]]) -> None:
    """Of which shards a batch has records is a matter of time."""
    assert sum(batch["records"] for batch in shown) == len(ORDERS)
    assert max(batch["records"] for batch in shown) <= 12


def test_polling_example_prints_each_order_once_with_metrics() -> None:
    printed = run("polling.py")
    assert sorted(orders(printed)) == ORDERS
    shown = metrics(printed)
    assert_within_limit(shown)
    assert shown[0]["bytesPerRead"] > 0


def test_fan_out_example_prints_its_consumer_and_each_order_once_with_subscriptions() -> None:
    printed = run("fan_out.py")
    lines = printed.splitlines()
    assert lines[0] == "consumer kinesis-spark-example is ACTIVE"
    assert lines[-1] == "consumer kinesis-spark-example is deregistered"
    assert sorted(orders(printed)) == ORDERS
    shown = metrics(printed)
    assert_within_limit(shown)
    # The shard that the first batch has read to the end may be left before the second.
    assert {batch["subscriptionsLive"] for batch in shown} <= {1, 2}


def test_round_trip_example_reads_back_every_record_once() -> None:
    figures = json.loads(run("round_trip.py"))
    assert (figures["records"], figures["same"]) == (100_000, True)


def test_real_time_example_delivers_every_even_order_once_per_round() -> None:
    rounds = re.findall(r"^([\d, ]+): -?\d+ ms$", run("real_time.py"), re.M)
    assert [[int(n) for n in numbers.split(", ")] for numbers in rounds] == [
        list(range(first, first + 10, 2)) for first in (2, 12, 22, 32)
    ]


def test_backfill_example_prints_each_order_once_in_either_the_backfill_or_the_stream() -> None:
    printed = run("backfill.py")
    assert printed.startswith("backfill of 20 records\n")
    backfilled = re.findall(r"^batch -1: .*\{\"order\": (\d+)\}$", printed, re.M)
    streamed = re.findall(r"^batch \d+: .*\{\"order\": (\d+)\}$", printed, re.M)
    assert sorted(map(int, backfilled)) == ORDERS
    assert sorted(map(int, streamed)) == list(range(21, 31))


def test_a_restarted_backfill_hands_over_at_the_same_point_and_is_not_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = session.builder("backfill", "local[2]").config("spark.ui.enabled", "false").getOrCreate()
    with LocalKinesis({"orders": 2}) as kinesis:
        options = kinesis.options("orders")
        kinesis.put_records("orders", LOCAL_ORDERS + MORE_ORDERS)

        def fail_before_the_batch() -> None:
            come(options)
            raise RuntimeError("before the batch")

        def fail_after_the_batch(*_: object) -> None:
            raise RuntimeError("after the batch")

        with pytest.raises(RuntimeError, match="before the batch"):
            backfill(spark, options, tmp_path, meanwhile=fail_before_the_batch)
        with monkeypatch.context() as failing:
            failing.setattr("backfill.read_stream", fail_after_the_batch)
            with pytest.raises(RuntimeError, match="after the batch"):
                backfill(spark, options, tmp_path)
        backfill(spark, options, tmp_path)
    printed = capsys.readouterr().out
    assert printed.startswith("backfill of 120 records\n")
    found = sorted(int(number) for number in re.findall(r"\{\"order\": (\d+)\}$", printed, re.M))
    assert found == list(range(1, 131))
    spark.stop()


def test_an_example_reads_an_aws_stream_from_five_minutes_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["polling.py", "--stream", "payments", "--region", "eu-west-1"])
    with source("") as options:
        assert (options.stream_name, options.region, options.endpoint) == ("payments", "eu-west-1", None)
        assert isinstance(options.starting_position, Position)
        start = options.starting_position.timestamp
    assert start is not None
    assert timedelta(minutes=4) < datetime.now(timezone.utc) - start < timedelta(minutes=6)


def test_an_example_refuses_a_region_without_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["polling.py", "--region", "eu-west-1"])
    with pytest.raises(SystemExit), source(""):
        pass
