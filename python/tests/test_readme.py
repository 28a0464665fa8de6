"""README.md says what the code does: its options table is the connector's, its Python runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kinesis_spark import KinesisSinkOptions, KinesisSourceOptions, LocalKinesis, Record, read_batch

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_readme_has_the_connector_s_options_table(spark: SparkSession) -> None:
    assert spark._jvm is not None
    table: str = spark._jvm.io.github.kinesisspark.config.OptionDocs.markdown()
    assert table.strip() in README.read_text(), "run `make readme`"


@pytest.fixture
def aws(kinesis: LocalKinesis) -> LocalKinesis:
    kinesis.create_stream("orders", shards=2)
    kinesis.create_stream("orders-checked")
    totals = [f'{{"total": {n}}}'.encode() for n in range(-5, 20)]
    kinesis.put_records("orders", [Record("customer-1", total) for total in totals])
    return kinesis


def test_python_examples_of_the_readme_run_one_after_the_other(
    spark: SparkSession, aws: LocalKinesis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they stand, except for the service, the folder, and queries that end when they have read what there is."""
    for options, local in ((KinesisSourceOptions, aws.options("orders")), (KinesisSinkOptions, aws.sink_options())):
        monkeypatch.setattr(options, "to_dict", at_endpoint(options.to_dict, local.to_dict()))
    monkeypatch.setattr(StreamingQuery, "awaitTermination", read_what_is_there)
    names: dict[str, Any] = {}
    examples = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    for example in examples:
        exec(example.replace("/data/", f"{tmp_path}/"), names)  # noqa: S102
    assert names["latest"].collect()[0]["data"] == b'{"total": 19}'
    assert spark.read.parquet(str(tmp_path / "orders")).count() == 25
    # Nothing came after the point where the batch ended.
    assert names["backfill"].count() == 25
    assert read_batch(spark, aws.options("orders-checked")).count() == 0


def at_endpoint(to_dict: Callable[[Any], dict[str, str]], local: dict[str, str]) -> Callable[[Any], dict[str, str]]:
    """The options of README's programs with the endpoint and the keys of a local server."""
    service = {name: local[name] for name in ("endpoint", "region", "accessKeyId", "secretAccessKey")}
    return lambda options: {**service, **to_dict(options)} | {"region": service["region"]}


def read_what_is_there(query: StreamingQuery) -> None:
    query.processAllAvailable()
    query.stop()
