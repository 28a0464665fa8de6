"""docs/how-to/write.md says what the sink does: its options and errors exist, and its recipes drop every repeat."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S, until
from pyspark.sql import DataFrame, SparkSession

import kinesis_spark
from kinesis_spark import LocalKinesis, read_stream
from kinesis_spark.local import Record

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "how-to" / "write.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
RECORDS = [f"value-{i}" for i in range(600)]


def test_errors_named_on_the_sink_page_exist_and_all_sink_options_are_on_it(spark: SparkSession) -> None:
    code = "".join(file.read_text() for file in (ROOT / "connector/src/main/scala").rglob("*.scala"))
    errors = set(re.findall(r"KINESIS_\w+", TEXT))
    assert errors
    assert sorted(error for error in errors if f'"{error}"' not in code) == []
    assert spark._jvm is not None
    options = json.loads(spark._jvm.io.github.kinesisspark.config.OptionDocs.json())
    for option in (o["name"] for o in options if o["scope"] == "sink"):
        assert f"`{option}`" in TEXT, option


@pytest.fixture
def two_streams(kinesis: LocalKinesis) -> LocalKinesis:
    for stream in ("source", "target"):
        kinesis.create_stream(stream, shards=2)
    kinesis.put_records("source", [Record(data, data.encode()) for data in RECORDS])
    return kinesis


@pytest.mark.parametrize("recipe", [BLOCKS[1:3], BLOCKS[3:5]])
def test_the_recipes_of_the_sink_page_drop_every_repeat(
    spark: SparkSession, two_streams: LocalKinesis, tmp_path: Path, recipe: list[str]
) -> None:
    copy, once = recipe
    names: dict[str, Any] = {
        **vars(kinesis_spark),
        "source": read_stream(spark, two_streams.options("source")),
        "target": read_stream(spark, two_streams.options("target")),
        "options": two_streams.sink_options("target"),
    }
    # Two runs of one pipeline write each record twice, as a batch that runs again does.
    for run in ("first", "second"):
        exec(copy, names | {"checkpoint": str(tmp_path / run)})  # noqa: S102
        (query,) = spark.streams.active
        try:
            until(lambda: sum(p.numInputRows for p in query.recentProgress) == len(RECORDS), query)  # noqa: B023  (used up here)
        finally:
            query.stop()
    exec(once, names)  # noqa: S102
    repeated, single = read(names["target"], "data"), read(names["once"], "string(data)")
    assert len(repeated) == 2 * len(RECORDS)
    assert Counter(single) == Counter(RECORDS)


def read(rows: DataFrame, column: str) -> list[Any]:
    name = f"read_{rows.semanticHash():x}".replace("-", "_")
    query = rows.selectExpr(f"{column} AS value").writeStream.format("memory").queryName(name)
    assert query.trigger(availableNow=True).start().awaitTermination(PATIENCE_S)
    return [row["value"] for row in rows.sparkSession.table(name).collect()]
