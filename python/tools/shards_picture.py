"""Draw docs/how-to/shards.png: shards of a local stream that was split and merged within hours, and a query in them.

`.venv/bin/python python/tools/shards_picture.py docs/how-to/shards.png`. The hours are the server's: its clock is set
back before the stream is created, and on again from one reshard to the next.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib as mpl
from matplotlib import pyplot as plt

from kinesis_spark import LocalKinesis, plot_shards, read_stream, session, shards
from kinesis_spark.local import Record

STREAM = "orders"
HOUR_MS = 3_600_000


def shard(number: int) -> str:
    """Its id."""
    return f"shardId-{number:012}"


def reshard(server: LocalKinesis) -> None:
    """Two shards become six one after the other, and then three."""
    splits = [(0, 1 / 4), (1, 3 / 4), (2, 1 / 8), (5, 7 / 8)]
    merges = [(6, 7), (4, 8), (10, 3)]
    move_clock(server, setMillis=int(time.time() * 1000) - 8 * HOUR_MS)
    server.client.call("CreateStream", StreamName=STREAM, ShardCount=2)
    for parent, share in splits:
        move_clock(server, advanceMillis=HOUR_MS)
        middle = str(int(share * 2**128))
        server.client.call("SplitShard", StreamName=STREAM, ShardToSplit=shard(parent), NewStartingHashKey=middle)
    for one, next_to_it in merges:
        move_clock(server, advanceMillis=HOUR_MS)
        server.client.call(
            "MergeShards", StreamName=STREAM, ShardToMerge=shard(one), AdjacentShardToMerge=shard(next_to_it)
        )
    move_clock(server, setMillis=int(time.time() * 1000))


def move_clock(server: LocalKinesis, **to: int) -> None:
    """Set the server's clock (`setMillis`), or put it on (`advanceMillis`)."""
    request = urllib.request.Request(f"{server.endpoint}/_testkit/clock", json.dumps(to).encode(), method="POST")  # noqa: S310
    urllib.request.urlopen(request).close()  # noqa: S310


def put(server: LocalKinesis, count: int) -> None:
    """Put records over all shards."""
    server.put_records(STREAM, [Record(f"customer-{i}", b"an order") for i in range(count)])


def main(target: Path) -> None:
    """Draw it for a query that was stopped a moment ago."""
    mpl.use("Agg")
    with LocalKinesis({}) as server, TemporaryDirectory() as checkpoint:
        reshard(server)
        put(server, 100)
        spark = session.builder("picture of shards", "local[2]").config("spark.ui.enabled", "false").getOrCreate()
        options = server.options(STREAM)
        query = (
            read_stream(spark, options)
            .writeStream.format("noop")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        put(server, 100)
        time.sleep(5)
        figure, axes = plt.subplots(figsize=(10, 5), layout="constrained")
        plot_shards(shards(spark, options, checkpoint=checkpoint), axes)
        figure.savefig(target, dpi=80)
        spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
