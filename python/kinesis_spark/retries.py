"""How each call of AWS is retried."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal, cast, get_args

from kinesis_spark._declare import Given, did_you_mean, encoded, keyword_values, option, read_fields
from kinesis_spark._kinds import MILLISECOND, ByName, Kind, count, duration, number, require

CredentialsCall = Literal[
    "AssumeRole", "AssumeRoleWithWebIdentity", "GetRoleCredentials", "CreateToken", "CreateOAuth2Token"
]
SourceCall = Literal[
    "DescribeStreamSummary",
    "ListShards",
    "GetShardIterator",
    "GetRecords",
    "SubscribeToShard",
    "RegisterStreamConsumer",
    "DescribeStreamConsumer",
    "ListStreamConsumers",
    "DeregisterStreamConsumer",
    "ListTagsForResource",
    "TagResource",
    "PutMetricData",
    CredentialsCall,
]
SinkCall = Literal["ListShards", "PutRecords", CredentialsCall]


@keyword_values
class Retries:
    """How often, and after which waits, one call is retried; None leaves the connector's default for that call.

    Attributes:
        max_retries: attempts after the first, 0 for none; None leaves `max_retry_duration` as the only limit, where the
            call's default is none.
        backoff_base: the longest wait before the second try; each wait is a random part of its longest.
        backoff_max: the longest wait before any try.
        backoff_exp_const: by which the longest wait grows from one try to the next, at least 1.

    Raises:
        InvalidOptionError: for a value that can't be right.
    """

    max_retries: int | None = option("maxRetries", count(least=0), default=None)
    backoff_base: timedelta | str | None = option("backoff.base", duration(least=MILLISECOND), default=None)
    backoff_max: timedelta | str | None = option("backoff.max", duration(least=MILLISECOND), default=None)
    backoff_exp_const: float | None = option("backoff.expConst", number(least=1), default=None)

    def __post_init__(self) -> None:
        read_fields(self)
        if self.backoff_base is not None and self.backoff_max is not None:
            base, longest = cast("timedelta", self.backoff_base), cast("timedelta", self.backoff_max)
            require(base <= longest, "backoff_base", base, f"at most backoff_max, which is {longest}")


def retries_of(calls: object) -> Kind:
    """`Retries` by calls, each of which is one of a Literal's."""
    known: tuple[str, ...] = get_args(calls)

    def read(field: str, value: object) -> object:
        expected = 'Retries by calls, such as {"GetRecords": Retries(max_retries=5)}'
        given: Any = value
        require(isinstance(value, Mapping), field, value, expected)
        for call, retries in given.items():
            expected_call = f"a call, which is one of {', '.join(known)}.{did_you_mean(str(call), known)}"
            require(call in known, field, call, expected_call)
            require(isinstance(retries, Retries), field, retries, expected)
        return ByName(given)

    return Kind(read)


def encoded_retries(retries: Mapping[Any, Retries] | None) -> dict[str, str]:
    """The options as Spark wants them."""
    return {
        f"{prefix_of(call)}.{name}": text
        for call, own in (retries or {}).items()
        for name, text in encoded(own).items()
    }


def take_retries(given: Given, calls: object) -> dict[str, Retries] | None:
    """The retries that options describe, if they do.

    Raises:
        InvalidOptionError: for a value that can't be right.
    """
    found = {call: given.take(Retries, f"{prefix_of(call)}.") for call in get_args(calls)}
    return {call: retries for call, retries in found.items() if retries != Retries()} or None


def prefix_of(call: str) -> str:
    """What the names of a call's options begin with: `getRecords` of GetRecords."""
    return call[0].lower() + call[1:]


__all__ = ["CredentialsCall", "Retries", "SinkCall", "SourceCall"]
