"""Writes records and logs what the service acknowledged: a program of its own, which no fault of the query reaches.

    python -m chaos.producer <endpoint> <streams, by comma> <keys> <records a second> <log> <most>

A key's next record is sent when the one before is acknowledged, so the order of its numbers is the order in the stream.
Each line of the log is JSON: `{"acked": [stream, shard, sequence number, key, number], "at": ...}`, or
`{"unconfirmed": [key, number]}` for what was in a call without an answer, which is sent again. A line
`burst <records>` of its standard input makes it write so many at once. After the most that it may write it only waits.
It ends when its standard input closes and all is acknowledged.
"""

from __future__ import annotations

import base64
import json
import os
import random
import select
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from kinesis_spark.errors import LocalKinesisError
from kinesis_spark.local import KinesisClient

from .entry import Entry, encode
from .history import Acked, Place

_TICK_S = 0.2
_PAUSE_S = 0.1


class Producer:
    """The keys of all streams, and how far each has come."""

    def __init__(self, endpoint: str, keys: int, log: TextIO) -> None:
        self._client = KinesisClient(endpoint)
        self._numbers: dict[tuple[str, int], int] = {}
        self._keys = keys
        self._random = random.Random(keys)
        self._log = log
        self.written = 0

    def put(self, stream: str, count: int) -> None:
        """Put the next record of so many keys, until each is acknowledged."""
        waiting: list[Entry] = []
        for key in self._random.sample(range(self._keys), min(count, self._keys)):
            number = self._numbers.get((stream, key), 0) + 1
            self._numbers[stream, key] = number
            waiting.append(Entry(f"k{key}", number))
        self.written += len(waiting)
        while waiting:
            waiting = self._send(stream, waiting)
        self._log.flush()

    def _send(self, stream: str, entries: list[Entry]) -> list[Entry]:
        """Those that the service didn't take."""
        records = [{"PartitionKey": e.key, "Data": base64.b64encode(encode(e)).decode()} for e in entries]
        try:
            results = self._client.call("PutRecords", StreamName=stream, Records=records)["Records"]
        except (LocalKinesisError, ValueError):
            for entry in entries:
                self._log_line({"unconfirmed": [entry.key, entry.number]})
            time.sleep(_PAUSE_S)
            return entries
        now = time.time()
        refused = [e for e, r in zip(entries, results, strict=True) if r.get("ErrorCode")]
        for entry, result in zip(entries, results, strict=True):
            if not result.get("ErrorCode"):
                self._log_line({"acked": [stream, result["ShardId"], result["SequenceNumber"], *entry], "at": now})
        if refused:
            time.sleep(_PAUSE_S)
        return refused

    def _log_line(self, line: dict[str, Any]) -> None:
        self._log.write(json.dumps(line) + "\n")


class AckedCount:
    """How many records a log has as acknowledged, while it grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0
        self._count = 0

    def count(self) -> int:
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self._read)
                fresh = file.read()
            whole = fresh[: fresh.rfind(b"\n") + 1]
            self._read += len(whole)
            self._count += sum(line.startswith(b'{"acked"') for line in whole.splitlines())
        return self._count


def read(log: Path) -> tuple[list[Acked], list[Entry]]:
    """What a log has: acknowledged records, and unconfirmed ones."""
    acked, unconfirmed = [], []
    for line in log.read_text().splitlines():
        match json.loads(line):
            case {"acked": [stream, shard, sequence, key, number], "at": at}:
                acked.append(Acked(Place(stream, shard, int(sequence)), Entry(key, number), at))
            case {"unconfirmed": [key, number]}:
                unconfirmed.append(Entry(key, number))
    return acked, unconfirmed


def main(endpoint: str, streams: list[str], keys: int, rate: int, path: Path, *, most: int) -> None:
    """Write at a steady rate over all streams, and bursts on command, until standard input closes."""
    with path.open("w") as log:
        producer = Producer(endpoint, keys, log)
        each, ended = max(1, round(rate * _TICK_S / len(streams))), False
        while not ended:
            due = time.monotonic() + _TICK_S
            for stream in streams:
                if producer.written < most:
                    producer.put(stream, each)
            if select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))[0]:
                commands = os.read(sys.stdin.fileno(), 4096).decode().split()
                ended = not commands
                for records in (int(word) for word in commands if word != "burst"):
                    for _ in range(0, records, keys):
                        producer.put(streams[0], keys)


if __name__ == "__main__":
    main(
        sys.argv[1],
        sys.argv[2].split(","),
        int(sys.argv[3]),
        int(sys.argv[4]),
        Path(sys.argv[5]),
        most=int(sys.argv[6]),
    )
