"""docs/how-to/testing.md says what the fixtures and the server do: its test runs, its methods exist."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kinesis_spark import LocalKinesis, pytest_plugin

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "testing.md").read_text()


def test_the_test_of_the_page_passes(spark: SparkSession, tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)  # noqa: S102
    with LocalKinesis(log=tmp_path / "server.log") as kinesis:
        names["test_large_orders_are_passed_on"](kinesis, spark)


def test_methods_and_fixtures_of_the_page_exist() -> None:
    tables = "".join(line.split("|")[1] for line in TEXT.splitlines() if line.startswith("| `"))
    methods = re.findall(r"`(\w+)\(", tables)
    assert {"split", "merge", "advance_clock", "add_fault", "read_records"} <= set(methods)
    assert [name for name in methods if not hasattr(LocalKinesis, name)] == []
    fixtures = re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)
    assert fixtures == ["kinesis", "kinesis_session"]
    assert all(hasattr(pytest_plugin, name) for name in fixtures)


@pytest.mark.jvm
def test_a_server_is_reset_between_tests_and_made_anew_after_its_clock_moved() -> None:
    servers = pytest_plugin._Servers()
    try:
        first = servers.take()
        first.create_stream("orders")
        first.add_fault("InternalFailure", action="PutRecords")
        pid = first.pid
        servers.give_back(first)
        second = servers.take()
        assert second.pid == pid
        assert second.client.call("ListStreams")["StreamNames"] == []
        assert second.client.control("GET", "faults") == {"rules": []}
        second.advance_clock(timedelta(hours=1))
        servers.give_back(second)
        third = servers.take()
        pids = {pid, third.pid}
        third.client.control("POST", "clock", {"setMillis": 0})
        servers.give_back(third)
        assert len({*pids, servers.take().pid}) == 3
    finally:
        servers.stop()
