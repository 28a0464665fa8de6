"""Draws docs/pictures/shards.svg: shards of a local stream that was split and merged within hours, and a query in them.

python python/tools/shards_picture.py docs/pictures/shards.svg

The hours are the server's: its clock is set back before the stream is created, and on again from one reshard to the
next. What `plot_shards` draws gets the colours of the other pictures.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory

import picture
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from picture import GREEN, GREY, GROUND, INK

from kinesis_spark import LocalKinesis, plot_shards, read_stream, session, shards
from kinesis_spark.local import Record
from kinesis_spark.shards_view import _OPEN

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


def recolour(axes: Axes) -> None:
    """Frames in place of areas: green are open shards."""
    for patch in axes.patches:
        patch.set(edgecolor=GREEN if patch.get_facecolor() == to_rgba(_OPEN) else GREY, facecolor=GROUND, linewidth=1.5)
    for text in axes.texts:
        text.set_color(INK)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def main(target: Path) -> None:
    """Draw it for a query that was stopped a moment ago."""
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
        figure = Figure(figsize=(10, 5), layout="constrained")
        recolour(plot_shards(shards(spark, options, checkpoint=checkpoint), figure.add_subplot()))
        picture.save(figure, target, "Shards of a stream over eight hours, with four splits and three merges")
        spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
