"""Column functions for the rows of a Kinesis source."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

# https://docs.aws.amazon.com/kinesis/latest/APIReference/API_Record.html
_MOST_DIGITS = 129


def sequence_key(sequence_number: Column | str = "sequenceNumber") -> Column:
    """A text that sorts and compares as sequence numbers do, which no number type of Spark can hold.

    It is the number with zeros before it, in as many digits as the service may use. It can be stored and compared with
    another one, by `<`, `max`, `max_by`, in a sort or a window:

        latest = orders.groupBy("customer").agg(F.max_by("json", sequence_key()))

    Numbers grow within a shard; across shards they say nothing. The user records of one aggregated record share a
    number: sort by `subSequenceNumber` after it.

    Args:
        sequence_number: the column, or its name.
    """
    from pyspark.sql import functions as F  # noqa: N812

    column = F.col(sequence_number) if isinstance(sequence_number, str) else sequence_number
    return F.lpad(column, _MOST_DIGITS, "0")


__all__ = ["sequence_key"]
