"""Batch reads, exact positions and SQL from PySpark."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pyspark
import pytest
from patience import PATIENCE_S
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import kinesis_spark
from kinesis_spark import (
    InvalidOptionError,
    KinesisCallError,
    KinesisOptions,
    LocalKinesis,
    Position,
    Positions,
    positions,
    read_batch,
    read_stream,
    sequence_key,
)
from kinesis_spark.local import Record

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "batch.md"


def put(kinesis: LocalKinesis, first: int, last: int) -> list[str]:
    kinesis.put_records("events", [Record(f"key-{i}", str(i).encode()) for i in range(first, last)])
    return [str(i) for i in range(first, last)]


def values(frame: DataFrame) -> Counter[str]:
    return Counter(bytes(row["data"]).decode() for row in frame.select("data").collect())


def run(stream: DataFrame, checkpoint: Path, into: dict[int, Counter[str]]) -> StreamingQuery:
    def keep(batch: DataFrame, number: int) -> None:
        into[number] = values(batch)

    query = (
        stream.writeStream.foreachBatch(keep)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(PATIENCE_S)
    return query


@pytest.fixture
def options(kinesis: LocalKinesis) -> KinesisOptions:
    return kinesis.options("events")


@pytest.mark.every_spark("batch")
def test_a_batch_read_has_the_same_rows_in_every_action(
    spark: SparkSession, kinesis: LocalKinesis, options: KinesisOptions
) -> None:
    first = put(kinesis, 0, 300)
    batch = read_batch(spark, options.replace(starting_position=None))
    assert batch.count() == 300
    put(kinesis, 300, 400)
    assert values(batch) == Counter(first)
    assert read_batch(spark, options).count() == 400


@pytest.mark.every_spark("batch")
def test_a_stream_continues_exactly_where_a_batch_read_ended(
    spark: SparkSession, kinesis: LocalKinesis, options: KinesisOptions, tmp_path: Path
) -> None:
    before = put(kinesis, 0, 100)
    point = positions.latest(spark, options)
    after = put(kinesis, 100, 150)
    assert values(read_batch(spark, options.replace(ending_position=point))) == Counter(before)
    seen: dict[int, Counter[str]] = {}
    run(read_stream(spark, options.replace(starting_position=point)), tmp_path, seen)
    assert sum(seen.values(), Counter()) == Counter(after)


@pytest.mark.every_spark("batch")
def test_a_batch_of_a_query_is_read_again_by_positions_from_its_checkpoint_or_progress(
    spark: SparkSession, kinesis: LocalKinesis, options: KinesisOptions, tmp_path: Path
) -> None:
    put(kinesis, 0, 250)
    seen: dict[int, Counter[str]] = {}
    query = run(read_stream(spark, options.replace(max_records_per_trigger=100)), tmp_path, seen)
    assert len(seen) >= 3
    progress = {p["batchId"]: p for p in query.recentProgress}
    for number, rows in seen.items():
        spans = [
            (
                positions.before_batch(spark, str(tmp_path), number),
                positions.after_batch(spark, str(tmp_path), number),
            ),
            (positions.before_progress(spark, progress[number]), positions.after_progress(progress[number])),
        ]
        for start, end in spans:
            again = read_batch(spark, options.replace(starting_position=start, ending_position=end))
            assert values(again) == rows
    assert positions.after_batch(spark, str(tmp_path)) == positions.after_batch(spark, str(tmp_path), max(seen))


def erase_commits(checkpoint: Path, first: int) -> None:
    """As after a crash between that batch and its commit; a commit's checksum stands beside it, as `.<batch>.crc`."""
    for file in (checkpoint / "commits").iterdir():
        number = file.name.strip(".").split(".")[0]
        if number.isdigit() and int(number) >= first:
            file.unlink()


def test_positions_after_an_uncommitted_batch_are_returned_only_if_it_is_named(
    spark: SparkSession, kinesis: LocalKinesis, options: KinesisOptions, tmp_path: Path
) -> None:
    put(kinesis, 0, 250)
    seen: dict[int, Counter[str]] = {}
    run(read_stream(spark, options.replace(max_records_per_trigger=100)), tmp_path, seen)
    last = max(seen)
    ends = {number: positions.after_batch(spark, str(tmp_path), number) for number in (last - 1, last)}
    assert positions.after_batch(spark, str(tmp_path)) == ends[last] != ends[last - 1]
    erase_commits(tmp_path, last)
    assert positions.after_batch(spark, str(tmp_path)) == ends[last - 1]
    assert positions.after_batch(spark, str(tmp_path), last) == ends[last]
    erase_commits(tmp_path, 0)
    with pytest.raises(KinesisCallError, match=f"no committed batch yet; planned are 0 to {last}") as refused:
        positions.after_batch(spark, str(tmp_path))
    assert refused.value.error_class == "KINESIS_OFFSET_REFUSED"


def test_positions_at_a_time_divide_a_stream_without_gap_or_overlap(
    spark: SparkSession, kinesis: LocalKinesis, options: KinesisOptions
) -> None:
    put(kinesis, 0, 100)
    times = [row[0] for row in read_batch(spark, options).select("approximateArrivalTimestamp").collect()]
    middle = sorted(times)[50].astimezone(timezone.utc)
    point = positions.at(spark, middle, options)
    before = values(read_batch(spark, options.replace(ending_position=point)))
    after = values(read_batch(spark, options.replace(starting_position=point)))
    assert sum((before + after).values()) == 100
    assert set((before + after).values()) == {1}
    assert values(read_batch(spark, options.replace(ending_position=Position.at(middle)))) == before


def test_saved_positions_are_loaded_and_written_over_as_a_whole(
    spark: SparkSession, kinesis: LocalKinesis, options: KinesisOptions, tmp_path: Path
) -> None:
    file = tmp_path / "state" / "handover.json"
    assert positions.load(spark, file) is None
    put(kinesis, 0, 20)
    point = positions.save(spark, positions.latest(spark, options), file)
    assert positions.load(spark, file.as_uri()) == point
    put(kinesis, 20, 30)
    assert read_batch(spark, options, starting_position=positions.load(spark, file)).count() == 10
    later = positions.save(spark, positions.latest(spark, options), file)
    assert positions.load(spark, file) == later != point
    file.write_text("not positions")
    Path(file.parent / f".{file.name}.crc").unlink()
    with pytest.raises(InvalidOptionError, match="JSON object"):
        positions.load(spark, file)


def test_positions_are_read_from_a_file_system_that_the_session_alone_has_settings_of(
    spark: SparkSession, tmp_path: Path
) -> None:
    point = Positions('{"version":1,"streams":{}}')
    positions.save(spark, point, tmp_path / "point")
    session = spark.newSession()
    # Hadoop's own file system of links, in place of s3a and its keys.
    session.conf.set("fs.viewfs.mounttable.session.link./data", tmp_path.as_uri())
    assert positions.load(session, "viewfs://session/data/point") == point
    with pytest.raises(KinesisCallError):
        positions.load(spark, "viewfs://session/data/point")
    # As for Spark's own queries, what Hadoop's settings were given later counts, and not what Spark was started with.
    link = "fs.viewfs.mounttable.context.link./data"
    spark.sparkContext._jsc.hadoopConfiguration().set(link, tmp_path.as_uri())
    session.conf.set(f"spark.hadoop.{link}", "file:///absent")
    assert positions.load(session, "viewfs://context/data/point") == point


def test_records_sort_by_their_sequence_key_as_by_their_numbers(
    spark: SparkSession, kinesis: LocalKinesis, options: KinesisOptions
) -> None:
    kinesis.put_records("events", [Record("one key", str(i).encode()) for i in range(30)])
    read = read_batch(spark, options).orderBy(sequence_key().desc())
    assert [int(bytes(row["data"])) for row in read.collect()] == list(range(29, -1, -1))
    numbers = ["9", "10", "99", "100", "4" * 56, "5" * 56, "1" * 129]
    shuffled = spark.createDataFrame([(number,) for number in sorted(numbers)], "sequenceNumber string")
    assert [row[0] for row in shuffled.orderBy(sequence_key("sequenceNumber")).collect()] == numbers


def test_positions_by_sequence_number_start_at_or_after_that_record(
    spark: SparkSession, kinesis: LocalKinesis, options: KinesisOptions
) -> None:
    put(kinesis, 0, 40)
    rows = read_batch(spark, options).select("shardId", "sequenceNumber").collect()
    shards = sorted({row["shardId"] for row in rows})
    numbers = sorted(int(row["sequenceNumber"]) for row in rows if row["shardId"] == shards[0])
    others = sum(row["shardId"] != shards[0] for row in rows)
    for at, left in [(positions.after_number, len(numbers) - 4), (positions.at_number, len(numbers) - 3)]:
        start = positions.of({"events": {shards[0]: at(str(numbers[3])), shards[1]: Position.trim_horizon()}})
        assert read_batch(spark, options.replace(starting_position=start)).count() == left + others
    alike = positions.of({"events": Position.trim_horizon()})
    assert read_batch(spark, options.replace(starting_position=alike)).count() == 40


def test_missing_streams_and_checkpoints_and_invalid_positions_are_refused(
    spark: SparkSession, options: KinesisOptions, tmp_path: Path
) -> None:
    with pytest.raises(KinesisCallError, match="absent") as refused:
        positions.latest(spark, options.replace(stream_name="absent"))
    assert refused.value.error_class == "KINESIS_NOT_FOUND"
    with pytest.raises(KinesisCallError, match="is not a checkpoint") as empty:
        positions.after_batch(spark, str(tmp_path))
    assert empty.value.error_class == "KINESIS_OFFSET_REFUSED"
    with pytest.raises(InvalidOptionError, match="time zone"):
        positions.at(spark, datetime(2026, 1, 31), options)  # noqa: DTZ001
    with pytest.raises(InvalidOptionError, match="JSON object"):
        Positions("LATEST")
    with pytest.raises(InvalidOptionError, match="text of digits"):
        positions.after_number("shardId-000000000000")
    with pytest.raises(InvalidOptionError, match="0 sources"):
        positions.after_progress({"sources": []})
    with pytest.raises(InvalidOptionError, match="no offset of a Kinesis source"):
        positions.after_progress({"sources": [{"startOffset": None, "endOffset": '{"topic":{"0":1}}'}]})
    with pytest.raises(InvalidOptionError, match="ending_position"):
        options.replace(ending_position=Position.trim_horizon())


@pytest.fixture
def orders(spark: SparkSession, options: KinesisOptions) -> Iterator[None]:
    """A table of that name."""
    clause = ", ".join(f"{name} '{value}'" for name, value in options.to_dict().items())
    spark.sql(f"CREATE TABLE orders USING kinesis OPTIONS ({clause})")
    yield
    spark.sql("DROP TABLE orders")


@pytest.mark.every_spark("SQL tables")
@pytest.mark.skipif(pyspark.__version__ < "4", reason="Spark's own catalog has tables of such sources from 4.0 on")
@pytest.mark.usefixtures("orders")
def test_a_view_over_a_kinesis_table_returns_current_records(spark: SparkSession, kinesis: LocalKinesis) -> None:
    put(kinesis, 0, 50)
    assert spark.sql("SELECT count(*) FROM orders").first() == (50,)
    spark.sql(
        "CREATE VIEW numbers AS SELECT int(string(data)) AS n FROM orders "
        "WHERE approximateArrivalTimestamp > current_timestamp() - INTERVAL 1 HOUR"
    )
    try:
        assert spark.sql("SELECT sum(n) FROM numbers").first() == (sum(range(50)),)
        put(kinesis, 50, 60)
        assert spark.sql("SELECT sum(n) FROM numbers").first() == (sum(range(60)),)
    finally:
        spark.sql("DROP VIEW numbers")


def test_names_of_the_batch_page_exist() -> None:
    text = PAGE.read_text()
    (found,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    assert Positions(found).json == found
    assert set(json.loads(found)) == {"orders", "refunds"}
    for name in re.findall(r"`positions\.(\w+)", text):
        assert hasattr(positions, name), name
    for example in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        for name in re.findall(r"^from kinesis_spark import (.*)$", example, re.MULTILINE):
            assert all(hasattr(kinesis_spark, part.strip()) for part in name.split(",")), name
