"""Where a query is, from the offset log of its checkpoint: as files of this machine, or by Spark's file systems."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from kinesis_spark.errors import InvalidOptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Like s3a://bucket/folder, hdfs:/folder or dbfs:/folder; one letter is a drive of Windows.
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def last_committed(checkpoint: str, source: str | None = None) -> dict[str, dict[str, str]]:
    """The end of a query's last committed batch: by stream ARN and shard, a position as offsets have it.

    Args:
        checkpoint: a folder of this machine, or the URL of one that a Spark session reads, such as `s3a://...`. The
            session is the active one, or one that is started with Spark's own configuration and stopped again.
        source: one of the query's sources, by its name or else its number from 0; None for all.

    Raises:
        InvalidOptionError: if the folder is not a checkpoint, or has no committed batch or no such Kinesis source; if
            several sources read one stream and none is named; if it takes a session to read it and there is none.
    """
    is_elsewhere = _URL.match(checkpoint) and not checkpoint.startswith("file:")
    log = (_of_spark(checkpoint) if is_elsewhere else _of_files(checkpoint)).splitlines()
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


def _of_files(checkpoint: str) -> str:
    folder = Path(unquote(urlsplit(checkpoint).path) if checkpoint.startswith("file:") else checkpoint)
    if not (folder / "offsets").is_dir():
        raise InvalidOptionError(
            f"{checkpoint} is not a checkpoint on this machine: it has no folder 'offsets'. Name the query's "
            "checkpointLocation, with its scheme (such as s3a://) if it is on another file system."
        )
    last = _last(checkpoint, (file.name for file in (folder / "commits").glob("*")))
    return (folder / "offsets" / last).read_text(encoding="utf-8")


def _of_spark(checkpoint: str) -> str:
    place = checkpoint.rstrip("/")
    with _session(checkpoint) as spark:
        try:
            # Without reading them: of their columns only the path is asked for.
            files = spark.read.format("binaryFile").load(f"{place}/commits").select("path").collect()
            last = _last(checkpoint, (row["path"].rpartition("/")[2] for row in files))
            return str(spark.read.text(f"{place}/offsets/{last}", wholetext=True).collect()[0]["value"])
        except InvalidOptionError:
            raise
        except Exception as failed:
            why = str(failed).strip().splitlines()[0]
            raise InvalidOptionError(f"{checkpoint} can't be read as a checkpoint by Spark: {why}") from failed


def _last(checkpoint: str, commits: Iterator[str]) -> str:
    committed = [int(name) for name in commits if name.isdigit()]
    if not committed:
        raise InvalidOptionError(f"The checkpoint {checkpoint} has no committed batch yet.")
    return str(max(committed))


@contextmanager
def _session(checkpoint: str) -> Iterator[SparkSession]:
    """The active session, or one for the time being."""
    needs = f"{checkpoint} is read by the file systems of a Spark session, and there is none"
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError:
        raise InvalidOptionError(
            f"{needs}: PySpark isn't installed here. Install it (pip install pyspark), or copy the "
            "checkpoint's folders 'commits' and 'offsets' to this machine and name that folder."
        ) from None
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    try:
        builder = SparkSession.Builder().appName("kinesis-spark lag").config("spark.ui.enabled", "false")
        spark = builder.getOrCreate()
    except Exception as failed:
        why = str(failed).strip().splitlines()[0]
        raise InvalidOptionError(f"{needs}: starting one failed ({why}). Check Java and Spark's settings.") from failed
    try:
        yield spark
    finally:
        spark.stop()


def _sources(log: list[str]) -> Iterator[tuple[str, str]]:
    """The offsets by source: in version 1 of the log a line is an offset, in version 2 it is `name:offset`."""
    for number, line in enumerate(log[2:]):
        name, _, offset = line.partition(":") if log[0] == "v2" else (str(number), "", line)
        yield name, offset


def _position(written: Any) -> str:  # noqa: ANN401  (a text, a list of one, or from and to)
    if isinstance(written, dict):
        return str(written["to"])
    return str(written[0] if isinstance(written, list) else written)
