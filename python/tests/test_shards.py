"""shards() and plot_shards(): the tree of a local stream that was split and merged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import PATIENCE_S
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kinesis_spark import (
    InvalidOptionError,
    KinesisCallError,
    KinesisOptions,
    LocalKinesis,
    Position,
    plot_shards,
    positions,
    read_stream,
    shards,
)
from kinesis_spark.local.client import Record

HALF = 2**127


def shard_id(number: int) -> str:
    return f"shardId-{number:012}"


@pytest.fixture(scope="module")
def server() -> Iterator[LocalKinesis]:
    """`orders` has one shard, which is split, and one half of it is split again; the first half is merged back."""
    with LocalKinesis({"orders": 1, "quiet": 2, "busy": 2}) as server:

        def call(action: str, **arguments: str) -> None:
            server.client.call(action, StreamName="orders", **arguments)

        call("SplitShard", ShardToSplit=shard_id(0), NewStartingHashKey=str(HALF))
        call("SplitShard", ShardToSplit=shard_id(1), NewStartingHashKey=str(HALF // 2))
        call("MergeShards", ShardToMerge=shard_id(4), AdjacentShardToMerge=shard_id(2))
        yield server


@pytest.fixture
def options(server: LocalKinesis) -> KinesisOptions:
    return server.options("orders")


def by_id(rows: list[Row]) -> dict[str, Row]:
    return {row.shardId: row for row in rows}


def test_shards_have_parents_hash_keys_and_open_state(spark: SparkSession, options: KinesisOptions) -> None:
    found = by_id(shards(spark, options).collect())
    assert {i: [p[-1] for p in row.parents] for i, row in found.items()} == {
        shard_id(0): [],
        shard_id(1): ["0"],
        shard_id(2): ["0"],
        shard_id(3): ["1"],
        shard_id(4): ["1"],
        shard_id(5): ["4", "2"],
    }
    assert sorted(i for i, row in found.items() if row.open) == [shard_id(3), shard_id(5)]
    assert (int(found[shard_id(2)].startingHashKey), int(found[shard_id(2)].endingHashKey)) == (HALF, 2 * HALF - 1)
    assert {row.streamName for row in found.values()} == {"orders"}
    assert all(row.position is None and row.millisBehindLatest is None for row in found.values())
    for row in found.values():
        assert (row.closedAt is None) == row.open, row


def test_shards_of_several_streams_keep_the_streams_order(spark: SparkSession, options: KinesisOptions) -> None:
    both = shards(spark, options, stream_name=["quiet", "orders"]).collect()
    assert [row.streamName for row in both] == ["quiet"] * 2 + ["orders"] * 6


def run(spark: SparkSession, options: KinesisOptions, checkpoint: Path) -> StreamingQuery:
    return finished(read_stream(spark, options), checkpoint)


def finished(rows: DataFrame, checkpoint: Path) -> StreamingQuery:
    writer = rows.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S)
    return query


@pytest.mark.every_spark("shards of a query")
def test_shards_have_the_position_and_lag_of_a_query_offset_or_checkpoint(
    spark: SparkSession, server: LocalKinesis, tmp_path: Path
) -> None:
    options = server.options("quiet").replace(starting_position=Position.trim_horizon())
    server.put_records("quiet", [Record("key", b"first")])
    query = run(spark, options, tmp_path)
    caught_up = shards(spark, options, query=query).collect()
    assert sorted(row.millisBehindLatest for row in caught_up) == [0, 0]
    assert sorted(row.position.isdigit() for row in caught_up) == [False, True]
    assert query.lastProgress is not None
    end = positions.after_progress(query.lastProgress)
    assert shards(spark, options, offset=end.json).collect() == caught_up
    assert shards(spark, options, checkpoint=tmp_path).collect() == caught_up
    assert shards(spark, options, checkpoint=tmp_path.as_uri()).collect() == caught_up


def test_shards_of_a_query_with_several_sources_have_the_position_of_their_own_stream(
    spark: SparkSession, server: LocalKinesis, tmp_path: Path
) -> None:
    quiet, busy = server.options("quiet"), server.options("busy")
    server.put_records("busy", [Record("key", b"record")])
    both = read_stream(spark, quiet).unionByName(read_stream(spark, busy))
    query = (
        both.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    )
    assert query.awaitTermination(PATIENCE_S)
    for options in (quiet, busy, quiet.replace(stream_name=["busy", "quiet"])):
        assert all(row.position is not None for row in shards(spark, options, query=query).collect()), options
    wanted = {row.shardId: row.position for row in shards(spark, busy, query=query, source=1).collect()}
    assert {row.shardId: row.position for row in shards(spark, busy, query=query).collect()} == wanted
    assert {row.position for row in shards(spark, busy, query=query, source=0).collect()} == {None}
    with pytest.raises(InvalidOptionError, match="source=2"):
        shards(spark, busy, query=query, source=2)


def test_shards_of_a_self_join_ask_which_source_is_meant(
    spark: SparkSession, server: LocalKinesis, tmp_path: Path
) -> None:
    quiet = server.options("quiet")
    both = read_stream(spark, quiet).unionByName(read_stream(spark, quiet.replace(max_records_per_trigger=1)))
    query = (
        both.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    )
    assert query.awaitTermination(PATIENCE_S)
    with pytest.raises(InvalidOptionError, match=r"Several sources of the query read .*quiet.* of \[0, 1\]"):
        shards(spark, quiet, query=query)
    assert shards(spark, quiet, query=query, source=1).count() == 2


def test_shards_take_one_of_query_checkpoint_and_offset(spark: SparkSession, options: KinesisOptions) -> None:
    with pytest.raises(InvalidOptionError, match="one of them at most"):
        shards(spark, options, checkpoint="/some/where", offset="{}")


def test_a_shard_with_new_records_has_a_lag_and_a_caught_up_shard_has_none(
    spark: SparkSession, server: LocalKinesis, tmp_path: Path
) -> None:
    options = server.options("busy").replace(starting_position=Position.trim_horizon())
    read = server.put_records("busy", [Record(f"key-{n}", b"read") for n in range(20)])
    assert {receipt.shard_id for receipt in read} == {shard_id(0), shard_id(1)}
    query = run(spark, options, tmp_path)
    assert [row.millisBehindLatest for row in shards(spark, options, query=query).collect()] == [0, 0]
    # The look at a shard takes one record along, and shows how far what follows it is behind.
    new = server.put_records("busy", [Record("key-0", b"new")] * 3)
    behind = {row.shardId: row.millisBehindLatest > 0 for row in shards(spark, options, query=query).collect()}
    assert behind == {shard: shard == new[0].shard_id for shard in (shard_id(0), shard_id(1))}


def test_shards_of_a_missing_stream_foreign_offset_or_empty_checkpoint_are_refused(
    spark: SparkSession, options: KinesisOptions, tmp_path: Path
) -> None:
    with pytest.raises(KinesisCallError, match="absent") as refused:
        shards(spark, options.replace(stream_name="absent"))
    assert refused.value.error_class == "KINESIS_NOT_FOUND"
    with pytest.raises(KinesisCallError, match="not of this connector") as foreign:
        shards(spark, options, offset="{}")
    assert foreign.value.error_class == "KINESIS_OFFSET_REFUSED"
    with pytest.raises(KinesisCallError, match="is not a checkpoint"):
        shards(spark, options, checkpoint=tmp_path)


def test_the_plot_has_a_rectangle_per_shard_and_refuses_two_streams(
    spark: SparkSession, options: KinesisOptions
) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    axes = plot_shards(shards(spark, options))
    assert len(axes.patches) == 6
    assert sorted(text.get_text() for text in axes.texts) == ["0", "1", "2", "3", "4", "5"]
    with pytest.raises(ValueError, match="2"):
        plot_shards(shards(spark, options.replace(stream_name=("quiet", "orders"))))
