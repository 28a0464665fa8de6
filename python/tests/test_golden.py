"""Checkpoints and positions files of earlier builds are continued by this one, on the same Spark and on later ones.

A file of `golden/`, called `<version>-spark-<line>.json`, is what a build of that version left on that Spark
(`golden_streams.py`).
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from golden_streams import QUERIES, SPARK, fill, half_way, run, run_in_real_time, texts
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from kinesis_spark import KinesisCallError, LocalKinesis, positions, read_batch, shards

GOLDEN = Path(__file__).parent / "golden"
REFUSED = (
    r"\[KINESIS_OFFSET_REFUSED\] The Kinesis offset has version 2, which a later release has written, and this "
    r"release reads versions up to 1: use that release, or copies of the checkpoint and of the sink's output from "
    r"before the upgrade\."
)
# In `make test`; the others run before a release, and on each Spark.
QUICK = {("0.1.0-spark-3.5", "polling"), ("0.1.0-spark-4.2", "fan-out")}


def kept() -> list[Any]:
    """Each golden query of this line of Spark and of earlier ones."""
    found = []
    for file in sorted(GOLDEN.glob("*.json")):
        line = tuple(map(int, file.stem.rpartition("-")[2].split(".")))
        for name, golden in json.loads(file.read_text()).items():
            marks = [
                pytest.mark.every_spark("checkpoints of earlier versions"),
                *([] if (file.stem, name) in QUICK else [pytest.mark.slow]),
            ]
            if line <= SPARK:
                found.append(pytest.param(name, golden, id=f"{file.stem}-{name}", marks=marks))
    return found


def written(folder: Path, golden: dict[str, Any]) -> tuple[Path, Path]:
    """The checkpoint and the positions file."""
    for name, text in golden["checkpoint"].items():
        file = folder / "checkpoint" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "positions").write_text(golden["positions"])
    return folder / "checkpoint", folder / "positions"


def in_the_next_version(golden: dict[str, Any]) -> dict[str, Any]:
    """As a build would write it whose format of offsets is a later one."""
    text = json.dumps(golden).replace(
        json.dumps('"version":1,"streams"')[1:-1], json.dumps('"version":2,"streams"')[1:-1]
    )
    return dict(json.loads(text))


@pytest.mark.parametrize(("name", "golden"), kept())
def test_a_query_and_a_batch_read_continue_exactly_where_an_earlier_build_stopped(
    spark: SparkSession, tmp_path: Path, name: str, golden: dict[str, Any]
) -> None:
    query = QUERIES[name]
    checkpoint, point = written(tmp_path, golden)
    with half_way() as kinesis:
        fill(kinesis)
        options = kinesis.options(query.streams)
        rest = read_batch(spark, options, starting_position=positions.load(spark, point))
        assert Counter(row[0] for row in rest.selectExpr("CAST(data AS STRING)").collect()) == texts(query, "c")
        if query.is_real_time:
            # Spark 4.3 refuses real-time checkpoints of 4.2, because of state, which this query has none of.
            spark.conf.set("spark.sql.streaming.realTimeMode.dangerouslyAllowCheckpointV1.enabled", "true")
            assert run_in_real_time(query.rows(spark, kinesis), checkpoint, texts(query, "c"))[0] == texts(query, "c")
        else:
            # As after a crash between the last batch and its commit: it comes again, the same.
            last = max(int(file.name) for file in (checkpoint / "commits").iterdir())
            (checkpoint / "commits" / str(last)).unlink()
            batches = run(query.rows(spark, kinesis), checkpoint)
            assert sorted(batches.pop(last).elements()) == golden["lastBatch"]
            assert sum(batches.values(), Counter()) == texts(query, "c")
        # None of a shard that is closed.
        seen = shards(spark, kinesis.options(query.streams[0]), checkpoint=checkpoint).collect()
        assert {row.millisBehindLatest for row in seen} <= {0, None}


@pytest.fixture
def of_the_next_version(tmp_path: Path) -> tuple[Path, Path]:
    """A checkpoint and a positions file of a made-up later build."""
    (file,) = GOLDEN.glob("0.1.0-spark-3.5.json")
    return written(tmp_path, in_the_next_version(json.loads(file.read_text())["polling"]))


def test_a_checkpoint_of_a_later_version_is_refused_with_its_version(
    spark: SparkSession, kinesis: LocalKinesis, of_the_next_version: tuple[Path, Path]
) -> None:
    checkpoint, _ = of_the_next_version
    kinesis.create_stream("orders", shards=2)
    with pytest.raises(StreamingQueryException, match=REFUSED):
        run(QUERIES["polling"].rows(spark, kinesis), checkpoint)
    with pytest.raises(KinesisCallError, match=REFUSED):
        positions.after_batch(spark, str(checkpoint))


def test_a_positions_file_of_a_later_version_is_refused_with_its_version(
    spark: SparkSession, kinesis: LocalKinesis, of_the_next_version: tuple[Path, Path]
) -> None:
    _, point = of_the_next_version
    with pytest.raises(Exception, match=REFUSED):
        read_batch(spark, kinesis.options("events"), starting_position=positions.load(spark, point))
