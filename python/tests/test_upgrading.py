"""What docs/how-to/upgrading.md advises loses and doubles nothing."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from unittest import mock

import boto3
import pyspark
import pytest
from new_checkpoint import LEASES, MIGRATE, NEW, OLD, customers, fill, run_block
from pyspark.sql import SparkSession

from kinesis_spark import LocalKinesis, Record, jars, read_stream

HERE = Path(__file__).resolve().parent
RECIPE = re.findall(r"```python\n(.*?)```", (HERE.parents[1] / "docs/concepts/exactness.md").read_text(), re.DOTALL)[0]
# The newest of Delta that Maven Central has for this Spark.
DELTA = f"io.delta:delta-spark_{'.'.join(pyspark.__version__.split('.')[:2])}_2.13:4.4.0"


@pytest.fixture
def aws() -> Iterator[LocalKinesis]:
    with LocalKinesis({"orders": 2}) as server:
        yield server


def test_a_file_sink_has_each_record_once_with_a_new_directory_for_the_new_checkpoint(
    spark: SparkSession, aws: LocalKinesis, tmp_path: Path
) -> None:
    fill(spark, aws, tmp_path, lambda writer, _, which: writer.start(f"{tmp_path}/{which}", format="parquet"))
    found = spark.read.parquet(f"{tmp_path}/0", f"{tmp_path}/1").collect()
    assert sorted(row["customer"] for row in found) == sorted(OLD + NEW)


def test_a_file_sink_drops_the_batches_of_a_new_checkpoint_in_the_old_directory_as_the_page_warns(
    spark: SparkSession, aws: LocalKinesis, tmp_path: Path
) -> None:
    fill(spark, aws, tmp_path, lambda writer, _, __: writer.start(f"{tmp_path}/out", format="parquet"))
    found = spark.read.parquet(f"{tmp_path}/out").collect()
    assert sorted(row["customer"] for row in found) == sorted(OLD)


def test_the_recipe_for_a_table_has_each_record_of_both_checkpoints_once(
    spark: SparkSession, aws: LocalKinesis, tmp_path: Path
) -> None:
    # Its table and its function; the query is the test's.
    names = run_block(RECIPE.partition("options = ")[0], aws, tmp_path, {"spark": spark})
    fill(spark, aws, tmp_path, lambda writer, _, __: writer.foreachBatch(names["store"]).start())
    with sqlite3.connect(tmp_path / "orders.db") as database:
        found = [customer for (customer,) in database.execute("SELECT customer FROM orders")]
    assert sorted(found) == sorted(OLD + NEW)


@pytest.mark.jvm
@pytest.mark.slow  # downloads Delta Lake
def test_a_delta_table_has_each_record_of_both_checkpoints_once(tmp_path: Path) -> None:
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    command = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        *("--master", "local[2]", "--jars", str(jars.connector_jar()), "--packages", DELTA),
        *(part for name, value in settings.items() for part in ("--conf", f"{name}={value}")),
        *(str(HERE / "new_checkpoint.py"), str(tmp_path)),
    ]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, check=False)
    if "unresolved dependency" in done.stderr:
        pytest.skip(f"{DELTA} can't be downloaded here")
    assert done.returncode == 0, done.stderr[-4000:]
    assert sorted(json.loads(done.stdout.splitlines()[-1])) == sorted(OLD + NEW)


def test_a_query_of_another_connector_that_was_an_hour_behind_is_continued_without_loss_or_repeat(
    spark: SparkSession, aws: LocalKinesis, tmp_path: Path
) -> None:
    old, unread, late = customers(range(20)), customers(range(20, 40)), customers(range(40, 60))
    aws.put_records("orders", [Record(customer, b"{}") for customer in old])
    # Its output has the columns that other connectors have.
    options = aws.options("orders", starting_position="TRIM_HORIZON")
    rows = read_stream(spark, options).select(
        "shardId", "sequenceNumber", "partitionKey", "approximateArrivalTimestamp"
    )
    writer = rows.writeStream.format("parquet").option("checkpointLocation", f"{tmp_path}/old-checkpoint")
    writer.trigger(availableNow=True).start(f"{tmp_path}/old-orders").awaitTermination()
    aws.put_records("orders", [Record(customer, b"{}") for customer in unread])
    aws.advance_clock(timedelta(hours=1))
    aws.put_records("orders", [Record(customer, b"{}") for customer in late])
    stopped = datetime.now(timezone.utc) + timedelta(hours=1)

    names: dict[str, Any] = run_block(MIGRATE, aws, tmp_path, {"spark": spark})
    query = names["query"]
    query.processAllAvailable()
    query.stop()
    assert stopped - names["start"] >= timedelta(hours=1)
    found = spark.read.parquet(f"{tmp_path}/old-orders").union(
        spark.read.parquet(f"{tmp_path}/new-orders").select(*rows.columns)
    )
    assert sorted(row["partitionKey"] for row in found.collect()) == sorted(old + unread + late)


def test_the_positions_of_a_lease_table_are_those_of_its_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    number = "49590338271490256608559692538361571095921575989136588898"
    leases = {
        "shardId-000000000000": "SHARD_END",
        "shardId-000000000001": number,
        "shardId-000000000002": "TRIM_HORIZON",
    }
    pages = [{"Items": [{"leaseKey": {"S": shard}, "checkpoint": {"S": at}}]} for shard, at in leases.items()]
    # Of workers, which later versions of the KCL keep in the same table.
    pages.append({"Items": [{"leaseKey": {"S": "worker-1"}, "entityType": {"S": "WORKER_METRIC_STATS"}}]})
    client = mock.Mock()
    client.get_paginator.return_value.paginate.return_value = pages
    monkeypatch.setattr(boto3, "client", lambda *_, **__: client)
    names: dict[str, Any] = {}
    exec(LEASES, names)  # noqa: S102
    assert json.loads(str(names["options"].starting_position)) == {"orders": leases}
