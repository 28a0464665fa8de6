"""Where a query starts in a stream that its checkpoint holds no position of, and where a batch read starts and ends."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal, get_args

from kinesis_spark._declare import require

Kind = Literal["LATEST", "TRIM_HORIZON", "AT_TIMESTAMP"]


@dataclass(frozen=True, slots=True)
class StartingPosition:
    """A starting position; made by `latest`, `trim_horizon` or `at`.

    It counts only where the checkpoint says nothing: a restarted query goes on from its checkpoint. The kinds are those
    of the Kinesis API: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_StartingPosition.html

    Attributes:
        kind: LATEST, TRIM_HORIZON or AT_TIMESTAMP.
        timestamp: for AT_TIMESTAMP the moment, aware of its time zone; None for the others.

    Raises:
        InvalidOptionError: for a naive datetime, or a timestamp that is missing or out of place.
    """

    kind: Kind
    timestamp: datetime | None = None

    def __post_init__(self) -> None:
        require(self.kind in get_args(Kind), "kind", self.kind, f"one of {', '.join(get_args(Kind))}")
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
        else:
            require(self.timestamp is None, "timestamp", self.timestamp, f"none, for a position {self.kind}")

    @classmethod
    def latest(cls) -> StartingPosition:
        """Only records that arrive after the query first started."""
        return cls("LATEST")

    @classmethod
    def trim_horizon(cls) -> StartingPosition:
        """From the oldest record that the stream still retains."""
        return cls("TRIM_HORIZON")

    @classmethod
    def at(cls, moment: datetime) -> StartingPosition:
        """From the first record that arrived at this moment or later, to the millisecond.

        Args:
            moment: a datetime with a time zone; a naive one is refused.
        """
        return cls("AT_TIMESTAMP", moment)

    def __str__(self) -> str:
        """The position as the option `startingPosition` has it."""
        if self.timestamp is None:
            return self.kind
        moment = self.timestamp.astimezone(timezone.utc).replace(tzinfo=None)
        return f"{self.kind}:{moment.isoformat(timespec='milliseconds')}Z"
