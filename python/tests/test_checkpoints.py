"""Queries with several sources, and with both forms of Spark's offset log: reading, positions, the view of shards."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest
from patience import PATIENCE_S
from programs import output
from pyspark.sql import DataFrame, SparkSession

from kinesis_spark import InvalidOptionError, KinesisCallError, LocalKinesis, positions, read_batch, read_stream, shards
from kinesis_spark.local import Record

SPARK = tuple(map(int, pyspark.__version__.split(".")[:2]))
EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
LOG_FORMAT = "spark.sql.streaming.offsetLog.formatVersion"
# Of environments with another Spark, separated as in PATH; `make test-versions` sets it.
OTHER_PYTHONS = [python for python in os.environ.get("KINESIS_SPARK_OTHER_PYTHONS", "").split(os.pathsep) if python]

has_named_sources = pytest.mark.skipif(SPARK < (4, 2), reason="Spark 4.2 brought sources with names")

Rows = dict[int, Counter[str]]


@pytest.fixture
def streams() -> Iterator[LocalKinesis]:
    with LocalKinesis({"orders": 2, "refunds": 1, "late": 1}) as kinesis:
        yield kinesis


def put(kinesis: LocalKinesis, stream: str, text: str) -> Counter[str]:
    texts = [f"{stream}-{text}-{i}" for i in range(20)]
    kinesis.put_records(stream, [Record(text, text.encode()) for text in texts])
    return Counter(texts)


def values(rows: DataFrame) -> Counter[str]:
    return Counter(row["text"] for row in rows.selectExpr("CAST(data AS STRING) AS text").collect())


def run(rows: DataFrame, checkpoint: Path, into: Rows) -> None:
    """All that is there now, into a sink that a batch which comes again writes anew."""

    def keep(batch: DataFrame, number: int) -> None:
        into[number] = values(batch)

    writer = rows.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
    assert writer.trigger(availableNow=True).start().awaitTermination(PATIENCE_S)


def total(rows: Rows) -> Counter[str]:
    return sum(rows.values(), Counter())


def log_format(checkpoint: Path) -> str:
    newest = max((checkpoint / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))
    return newest.read_text().splitlines()[0]


@contextmanager
def setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.unset(name)


def source_of(spark: SparkSession, kinesis: LocalKinesis, stream: str, name: str | None = None) -> DataFrame:
    return read_stream(spark, kinesis.options(stream), name=name)


def forget_last_commit(checkpoint: Path) -> int:
    """As after a crash between the last batch and its commit."""
    last = max(int(file.name) for file in (checkpoint / "commits").glob("[0-9]*"))
    for file in (f"{last}", f".{last}.crc"):
        (checkpoint / "commits" / file).unlink(missing_ok=True)
    return last


@pytest.mark.parametrize(
    "version",
    [
        pytest.param("1", marks=pytest.mark.every_spark("two sources in a query")),
        pytest.param("2", marks=[has_named_sources, pytest.mark.slow, pytest.mark.every_spark("offset log v2")]),
    ],
)
def test_a_query_over_two_kinesis_sources_reads_each_record_once_across_a_restart(
    spark: SparkSession, streams: LocalKinesis, tmp_path: Path, version: str
) -> None:
    rows: Rows = {}
    with setting(spark, LOG_FORMAT, version):
        both = source_of(spark, streams, "orders").unionByName(source_of(spark, streams, "refunds"))
        first = put(streams, "orders", "a") + put(streams, "refunds", "a")
        run(both, tmp_path, rows)
        assert total(rows) == first
        last = forget_last_commit(tmp_path)
        again = rows.pop(last)
        more = put(streams, "orders", "b") + put(streams, "refunds", "b")
        run(both, tmp_path, rows)
    assert log_format(tmp_path) == f"v{version}"
    assert rows[last] == again
    assert total(rows) == first + more
    for number, stream in enumerate(("orders", "refunds")):
        end = positions.after_batch(spark, str(tmp_path), source=number)
        assert values(read_batch(spark, streams.options(stream).replace(ending_position=end))) == Counter(
            text for text in first + more if text.startswith(stream)
        )
    with pytest.raises(KinesisCallError, match="2 Kinesis sources in batch"):
        positions.after_batch(spark, str(tmp_path))


@pytest.mark.every_spark("named sources")
@has_named_sources
def test_named_sources_are_reordered_and_added_without_losing_a_record(
    spark: SparkSession, streams: LocalKinesis, tmp_path: Path
) -> None:
    rows: Rows = {}
    with setting(spark, EVOLUTION, "true"), setting(spark, LOG_FORMAT, "2"):
        orders = source_of(spark, streams, "orders", "orders")
        refunds = source_of(spark, streams, "refunds", "refunds")
        texts = put(streams, "orders", "a") + put(streams, "refunds", "a")
        run(orders.unionByName(refunds), tmp_path, rows)
        texts += put(streams, "orders", "b") + put(streams, "refunds", "b")
        run(refunds.unionByName(orders), tmp_path, rows)
        texts += put(streams, "orders", "c") + put(streams, "refunds", "c") + put(streams, "late", "c")
        late = source_of(spark, streams, "late", "late")
        run(late.unionByName(refunds).unionByName(orders), tmp_path, rows)
    assert log_format(tmp_path) == "v2"
    assert total(rows) == texts
    last = max(rows)
    for stream in ("orders", "refunds", "late"):
        span = streams.options(stream).replace(
            starting_position=positions.before_batch(spark, str(tmp_path), last, stream),
            ending_position=positions.after_batch(spark, str(tmp_path), last, stream),
        )
        assert values(read_batch(spark, span)) == Counter(t for t in rows[last].elements() if t.startswith(stream))
    seen = shards(spark, streams.options("orders"), checkpoint=tmp_path, source="orders").collect()
    assert [row.millisBehindLatest for row in seen] == [0, 0]
    with pytest.raises(KinesisCallError, match="no Kinesis source 'other'"):
        shards(spark, streams.options("orders"), checkpoint=tmp_path, source="other")


def test_shards_of_a_checkpoint_with_two_sources_of_a_stream_ask_which_source_is_meant(
    spark: SparkSession, streams: LocalKinesis, tmp_path: Path
) -> None:
    options = streams.options("refunds")
    put(streams, "refunds", "a")
    twice = read_stream(spark, options).unionByName(read_stream(spark, options.replace(max_records_per_trigger=1000)))
    run(twice, tmp_path, {})
    with pytest.raises(KinesisCallError, match=r"refunds by several sources, '0', '1'"):
        shards(spark, options, checkpoint=tmp_path)
    (row,) = shards(spark, options, checkpoint=tmp_path, source=1).collect()
    assert row.millisBehindLatest == 0


@pytest.mark.skipif(SPARK >= (4, 2), reason="this Spark has sources with names")
def test_a_name_for_a_source_is_refused_where_spark_has_none(spark: SparkSession, streams: LocalKinesis) -> None:
    with pytest.raises(InvalidOptionError, match=r"from Spark 4\.2 on"):
        source_of(spark, streams, "orders", "orders")


# The first run of a query, on another Spark: what is there, in batches of 10 records at most.
FIRST_RUN = """
import sys
from kinesis_spark import KinesisOptions, StaticCredentials, read_stream, session
endpoint, checkpoint, target = sys.argv[1:]
options = KinesisOptions(
    stream_name="orders", endpoint=endpoint, region="us-east-1", credentials=StaticCredentials("test", "test"),
    starting_position="TRIM_HORIZON", max_records_per_trigger=10,
)
spark = session.builder("first", "local[2]").config("spark.ui.enabled", "false").getOrCreate()
def keep(batch, number):
    texts = [row["text"] for row in batch.selectExpr("CAST(data AS STRING) AS text").collect()]
    with open(f"{target}/{number}", "w") as file:
        file.write("\\n".join(texts))
writer = read_stream(spark, options).writeStream.foreachBatch(keep).option("checkpointLocation", checkpoint)
assert writer.trigger(availableNow=True).start().awaitTermination(300)
"""


@pytest.mark.every_spark("checkpoint of another Spark")
@pytest.mark.skipif(not OTHER_PYTHONS, reason="no other Spark at hand: make test-versions has some")
@pytest.mark.parametrize("other", OTHER_PYTHONS)
def test_a_query_continues_exactly_from_a_checkpoint_of_another_spark(
    spark: SparkSession, streams: LocalKinesis, tmp_path: Path, other: str
) -> None:
    checkpoint, target = tmp_path / "checkpoint", tmp_path / "target"
    target.mkdir()
    first = put(streams, "orders", "a") + put(streams, "orders", "b")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    environment["PYSPARK_PYTHON"] = other
    program = [other, "-c", FIRST_RUN, streams.endpoint, str(checkpoint), str(target)]
    output(program, timeout_s=PATIENCE_S, environment=environment)
    rows: Rows = {int(file.name): Counter(file.read_text().splitlines()) for file in target.iterdir()}
    assert total(rows) == first
    last = forget_last_commit(checkpoint)
    again = rows.pop(last)
    more = put(streams, "orders", "c")
    run(read_stream(spark, streams.options("orders").replace(max_records_per_trigger=10)), checkpoint, rows)
    assert rows[last] == again
    assert total(rows) == first + more
    seen = shards(spark, streams.options("orders"), checkpoint=checkpoint).collect()
    assert [row.millisBehindLatest for row in seen] == [0, 0]
