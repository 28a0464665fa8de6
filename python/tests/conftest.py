"""One Spark session and one local Kinesis server for all tests, because a JVM takes seconds.

A test that uses one of these fixtures has the marker `jvm`; one that starts a JVM in another way sets it itself.
`make check` runs the others, on the source tree, which has no JARs: a test that lacks the marker fails there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kinesis_spark import LocalKinesis, session
from kinesis_spark.pytest_plugin import _Servers


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and {"spark", "kinesis", "server", "aws"} & set(item.fixturenames):
            item.add_marker(pytest.mark.jvm)
        for marker in item.iter_markers("every_spark"):
            item.user_properties.append(("shows", marker.args[0]))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """For `make test-versions`: a line for each thing that a test shows, as soon as the test has ended."""
    record = os.environ.get("KINESIS_SPARK_RECORD")
    if record and (report.when == "call" or not report.passed):
        with Path(record).open("a") as out:
            for name, shows in report.user_properties:
                if name == "shows":
                    out.write(json.dumps([report.nodeid, shows, report.outcome]) + "\n")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    warehouse = tmp_path_factory.mktemp("warehouse")
    spark = (
        session.builder("kinesis-spark tests", "local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(warehouse))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    yield spark
    spark.stop()


@pytest.fixture
def kinesis(_kinesis_servers: _Servers) -> Iterator[LocalKinesis]:
    server = _kinesis_servers.take()
    server.create_stream("events", shards=2)
    yield server
    _kinesis_servers.give_back(server)
