"""Where a query starts in a stream that its checkpoint holds no position of, and where a batch read starts and ends."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from typing import Literal, cast, get_args

from kinesis_spark._declare import values
from kinesis_spark._kinds import EPOCH, require

PositionKind = Literal["LATEST", "TRIM_HORIZON", "AT_TIMESTAMP"]

_FRACTION = re.compile(r"\.(\d{1,9})(?!\d)", re.ASCII)
_EXPECTED = (
    "LATEST, TRIM_HORIZON or AT_TIMESTAMP:<time>, the time being ISO-8601 with an offset (2026-01-31T08:00:00Z) or "
    "milliseconds since 1970 (UTC)"
)


@values
class Position:
    """A position in time, the same in all shards; made by `latest`, `trim_horizon`, `at` or `parse`.

    A starting position counts only where the checkpoint has none: a restarted query continues from its checkpoint. The
    kinds are those of the Kinesis API: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_StartingPosition.html

    Attributes:
        kind: LATEST, TRIM_HORIZON or AT_TIMESTAMP.
        timestamp: for AT_TIMESTAMP the moment, aware of its time zone; None for the others.

    Raises:
        InvalidOptionError: for a naive datetime, one before 1970, or a timestamp that is missing or out of place.
    """

    kind: PositionKind
    timestamp: datetime | None = None

    def __post_init__(self) -> None:
        known = get_args(PositionKind)
        require(self.kind in known, "kind", self.kind, f"one of {', '.join(known)}")
        if self.kind == "AT_TIMESTAMP":
            moment = self.timestamp
            require(isinstance(moment, datetime), "timestamp", moment, "a datetime, for a position AT_TIMESTAMP")
            require(
                moment is not None and moment.utcoffset() is not None,
                "timestamp",
                moment,
                "a datetime with a time zone (for example datetime.now(timezone.utc)): a naive one means another "
                "moment on each machine",
            )
            require(moment is not None and moment >= EPOCH, "timestamp", moment, "a moment of 1970 or later")
        else:
            require(self.timestamp is None, "timestamp", self.timestamp, f"none, for a position {self.kind}")

    @classmethod
    def latest(cls) -> Position:
        """Records that arrive from when the query first plans, or the batch read is first used.

        That is the whole second of the service's clock, so records of up to a second before come, too.
        """
        return cls("LATEST")

    @classmethod
    def trim_horizon(cls) -> Position:
        """From the oldest record that the stream still retains."""
        return cls("TRIM_HORIZON")

    @classmethod
    def at(cls, moment: datetime) -> Position:
        """From the first record that arrived at this moment or later, to the millisecond.

        Args:
            moment: a datetime with a time zone; a naive one is refused.
        """
        return cls("AT_TIMESTAMP", moment)

    @classmethod
    def parse(cls, text: str, field: str = "position") -> Position:
        """The position that a text stands for, as the option `startingPosition` has it.

        Args:
            text: `LATEST`, `TRIM_HORIZON` or `AT_TIMESTAMP:<time>`, in upper or lower case.
            field: what the text is called in an error.

        Raises:
            InvalidOptionError: for another text.
        """
        word, colon, time = text.partition(":")
        kind = word.strip().upper()
        moment = _moment(time.strip()) if colon else None
        right = kind in ("LATEST", "TRIM_HORIZON") if not colon else kind == "AT_TIMESTAMP" and moment is not None
        require(right, field, text, _EXPECTED)
        return cls(cast("PositionKind", kind), moment)

    def __str__(self) -> str:
        """The position as the option `startingPosition` has it."""
        if self.timestamp is None:
            return self.kind
        moment = self.timestamp.astimezone(timezone.utc).replace(tzinfo=None)
        return f"{self.kind}:{moment.isoformat(timespec='milliseconds')}Z"


def _moment(text: str) -> datetime | None:
    try:
        if text.isascii() and text.isdigit():
            return EPOCH + timedelta(milliseconds=int(text))
        # Before Python 3.11, fromisoformat knows neither the letter Z nor fractions other than of 3 or 6 digits.
        zoned = f"{text[:-1]}+00:00" if text[-1:] in ("Z", "z") else text
        moment = datetime.fromisoformat(_FRACTION.sub(lambda found: f".{found[1]:<06.6}", zoned))
    except (ValueError, OverflowError):
        return None
    return moment if moment.utcoffset() is not None else None


@values
class Positions:
    """Positions by stream and shard, as the options `startingPosition` and `endingPosition` take them.

    Attributes:
        json: an offset of a query, or `{"<stream>": {"<shard>": "<position>"}}`; `str` gives it, too. It may be stored.

    Raises:
        InvalidOptionError: for a text that is no JSON object.
    """

    json: str

    def __post_init__(self) -> None:
        require(is_json_object(self.json), "json", self.json, "a JSON object of positions by stream")

    def __str__(self) -> str:
        """The positions as the options have them."""
        return self.json


def is_json_object(text: object) -> bool:
    """Whether a value is the text of a JSON object."""
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False


__all__ = ["Position", "PositionKind"]
