"""Fixtures for tests of pipelines, which pytest finds by itself where this package is installed.

def test_orders_are_counted(kinesis, kinesis_session):
kinesis.create_stream("orders")
kinesis.put_records("orders", [Record("customer-1", b"{}")])
assert read_batch(kinesis_session, kinesis.options("orders")).count() == 1
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kinesis_spark import session
from kinesis_spark.errors import LocalKinesisError
from kinesis_spark.local import LocalKinesis

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class _Servers:
    """One server for all tests, made anew after a test that has moved its clock or ended it."""

    def __init__(self) -> None:
        self._server: LocalKinesis | None = None

    def take(self) -> LocalKinesis:
        if self._server is None:
            self._server = LocalKinesis().start()
        return self._server

    def give_back(self, server: LocalKinesis) -> None:
        try:
            server.reset()
            usable = not server.client.clock_moved
        except LocalKinesisError:
            usable = False
        if not usable:
            self.stop()

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._server = None


@pytest.fixture(scope="session")
def _kinesis_servers() -> Iterator[_Servers]:
    servers = _Servers()
    yield servers
    servers.stop()


@pytest.fixture
def kinesis(_kinesis_servers: _Servers) -> Iterator[LocalKinesis]:
    """A local Kinesis server without streams and faults. All tests share its process."""
    server = _kinesis_servers.take()
    yield server
    _kinesis_servers.give_back(server)


@pytest.fixture(scope="session")
def kinesis_session() -> Iterator[SparkSession]:
    """A small Spark session with the connector, for all tests."""
    builder = session.builder("tests", "local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.sql.session.timeZone", "UTC")
    spark = builder.getOrCreate()
    yield spark
    spark.stop()
