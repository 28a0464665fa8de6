"""Where a query is, from the offset log of its checkpoint, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kinesis_spark.errors import InvalidOptionError


def last_committed(checkpoint: Path, source: str | None = None) -> dict[str, dict[str, str]]:
    """The end of a query's last committed batch: by stream ARN and shard, a position as offsets have it.

    Args:
        checkpoint: the query's checkpointLocation.
        source: one of the query's sources, by its name or else its number from 0; None for all.

    Raises:
        InvalidOptionError: if the folder is no checkpoint, has no committed batch or no such Kinesis source, or if
            several sources read one stream and none is named.
    """
    if not (checkpoint / "offsets").is_dir():
        raise InvalidOptionError(
            f"{checkpoint} is no checkpoint on this machine: it has no folder 'offsets'. Name the query's "
            "checkpointLocation; for one on another file system, use kinesis_spark.shards(spark, checkpoint=...)."
        )
    committed = sorted(int(file.name) for file in (checkpoint / "commits").glob("*") if file.name.isdigit())
    if not committed:
        raise InvalidOptionError(f"The checkpoint {checkpoint} has no committed batch yet.")
    log = (checkpoint / "offsets" / str(committed[-1])).read_text(encoding="utf-8").splitlines()
    sources = {name: json.loads(text) for name, text in _sources(log) if '"streams":' in text and '"version":' in text}
    if source is not None:
        if source not in sources:
            raise InvalidOptionError(
                f"source={source} is not valid: the checkpoint's Kinesis sources are {list(sources)}"
            )
        sources = {source: sources[source]}
    streams: dict[str, dict[str, str]] = {}
    for offset in sources.values():
        for arn, stream in offset["streams"].items():
            if arn in streams:
                raise InvalidOptionError(f"Several sources of the query read {arn}: name one of {list(sources)}.")
            streams[arn] = {shard: _position(at) for shard, at in stream["shards"].items()}
    if not streams:
        raise InvalidOptionError(f"The checkpoint {checkpoint} has no source of this connector.")
    return streams


def _sources(log: list[str]) -> Iterator[tuple[str, str]]:
    """The offsets by source: in version 1 of the log a line is an offset, in version 2 it is `name:offset`."""
    for number, line in enumerate(log[2:]):
        name, _, offset = line.partition(":") if log[0] == "v2" else (str(number), "", line)
        yield name, offset


def _position(written: Any) -> str:  # noqa: ANN401  (a text, a list of one, or from and to)
    if isinstance(written, dict):
        return str(written["to"])
    return str(written[0] if isinstance(written, list) else written)
