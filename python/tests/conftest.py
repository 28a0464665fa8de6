"""One Spark session for all tests (a JVM takes seconds), and a local Kinesis server for each that asks.

A test that uses one of these fixtures has the marker `jvm`; one that starts a JVM in another way sets it itself.
`make check` runs the others, on the source tree, which has no JARs: a test that lacks the marker fails there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kinesis_spark import LocalKinesis, session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and {"spark", "kinesis", "server", "aws"} & set(item.fixturenames):
            item.add_marker(pytest.mark.jvm)


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
def kinesis(tmp_path: Path) -> Iterator[LocalKinesis]:
    with LocalKinesis({"events": 2}, log=tmp_path / "local-kinesis.log") as server:
        yield server
