"""Where a query is, from the offset log of its checkpoint, without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kinesis_spark.errors import InvalidOptionError


def last_committed(checkpoint: Path) -> dict[str, dict[str, str]]:
    """The end of a query's last committed batch: by stream ARN and shard, a position as offsets have it.

    Raises:
        InvalidOptionError: if the folder is no checkpoint, has no committed batch or no Kinesis source.
    """
    if not (checkpoint / "offsets").is_dir():
        raise InvalidOptionError(
            f"{checkpoint} is no checkpoint on this machine: it has no folder 'offsets'. Name the query's "
            "checkpointLocation; for one on another file system, use kinesis_spark.shards(spark, checkpoint=...)."
        )
    committed = sorted(int(file.name) for file in (checkpoint / "commits").glob("*") if file.name.isdigit())
    if not committed:
        raise InvalidOptionError(f"The checkpoint {checkpoint} has no committed batch yet.")
    lines = (checkpoint / "offsets" / str(committed[-1])).read_text(encoding="utf-8").splitlines()
    # The lines are `{json}`, or `source:{json}` where sources have names.
    texts = [line[line.index("{") :] for line in lines if '"streams":' in line and '"version":' in line]
    streams: dict[str, dict[str, str]] = {}
    for text in texts:
        for arn, stream in json.loads(text)["streams"].items():
            streams[arn] = {shard: _position(at) for shard, at in stream["shards"].items()}
    if not streams:
        raise InvalidOptionError(f"The checkpoint {checkpoint} has no source of this connector.")
    return streams


def _position(written: Any) -> str:  # noqa: ANN401  (a text, a list of one, or from and to)
    if isinstance(written, dict):
        return str(written["to"])
    return str(written[0] if isinstance(written, list) else written)
