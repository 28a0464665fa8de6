"""What a record of the trial says: its key, which of the key's records it is, and a checksum over all of it."""

from __future__ import annotations

import random
import zlib
from typing import NamedTuple

_FILLING = 120


class Entry(NamedTuple):
    """The `number`th record of a key, from 1 on."""

    key: str
    number: int


def encode(entry: Entry) -> bytes:
    """The record's data: text, of a length that varies with the entry alone."""
    filling = "x" * random.Random(f"{entry.key}/{entry.number}").randrange(_FILLING)
    body = f"{entry.key}|{entry.number}|{filling}"
    return f"{zlib.crc32(body.encode()):08x}|{body}".encode()


def decode(data: str) -> Entry | None:
    """The entry, or None if the data isn't what was written."""
    checksum, _, body = data.partition("|")
    parts = body.split("|")
    if len(parts) != len(("key", "number", "filling")) or checksum != f"{zlib.crc32(body.encode()):08x}":
        return None
    return Entry(parts[0], int(parts[1]))
