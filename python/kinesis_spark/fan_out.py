"""How records come out of shards: by polling, or by enhanced fan-out through a stream consumer.

https://docs.aws.amazon.com/streams/latest/dev/enhanced-consumers.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import ClassVar, Literal, TypeAlias, get_args

from kinesis_spark._declare import (
    boolean,
    duration,
    group,
    option,
    require,
    require_count,
    require_duration,
)
from kinesis_spark.errors import InvalidOptionError

Registration = Literal["lazy", "eager", "none"]
Deregistration: TypeAlias = bool | Literal["registered"]

# GetRecords of a shard in a second, from all who poll it.
_MOST_CALLS = 5

_CONSUMER_NAME = re.compile(r"[\w.-]{1,128}", re.ASCII)
_CONSUMER_ARN = re.compile(
    r"(?P<stream>arn:[\w-]+:kinesis:[a-z0-9-]+:\d{12}:stream/(?P<name>[\w.-]{1,128}))/consumer/[\w.-]{1,128}:\d+",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Polling:
    """GetRecords, which shares 2 MB/s and 5 calls/s of each shard with every other poller of it.

    https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html

    Attributes:
        calls_per_second: how many calls a shard with records gets at most, from 1 to 5. Less leaves room for others who
            poll the same stream.

    Raises:
        InvalidOptionError: for a number that can't be right.
    """

    word: ClassVar[str] = "polling"

    calls_per_second: int = option("polling.callsPerSecond", default=5)

    def __post_init__(self) -> None:
        require_count("calls_per_second", self.calls_per_second)
        fits = self.calls_per_second <= _MOST_CALLS
        require(fits, "calls_per_second", self.calls_per_second, f"at most {_MOST_CALLS}, as the service takes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often, and after which waits, one call is retried; None leaves the connector's default for that call.

    Attributes:
        max_retries: attempts after the first, 0 for none; None leaves `max_retry_duration` as the only limit.
        backoff_base: the longest wait before the second try; each wait is a random part of its longest.
        backoff_max: the longest wait before any try.
        backoff_exp_const: by which the longest wait grows from one try to the next, at least 1.

    Raises:
        InvalidOptionError: for a value that can't be right.
    """

    max_retries: int | None = option("maxRetries", default=None)
    backoff_base: timedelta | None = option("backoff.base", default=None, encode=duration)
    backoff_max: timedelta | None = option("backoff.max", default=None, encode=duration)
    backoff_exp_const: float | None = option("backoff.expConst", default=None)

    def __post_init__(self) -> None:
        require_count("max_retries", self.max_retries, least=0)
        for name in ("backoff_base", "backoff_max"):
            if (wait := getattr(self, name)) is not None:
                require_duration(name, wait)
        factor = self.backoff_exp_const
        if factor is not None:
            number = isinstance(factor, int | float) and not isinstance(factor, bool)
            require(number and 1 <= factor < float("inf"), "backoff_exp_const", factor, "a number of at least 1")
        if self.backoff_base is not None and self.backoff_max is not None:
            fits = self.backoff_base <= self.backoff_max
            require(fits, "backoff_base", self.backoff_base, f"at most backoff_max, which is {self.backoff_max}")


def _deregistration(value: Deregistration) -> str:
    return boolean(value) if isinstance(value, bool) else value


@dataclass(frozen=True, slots=True)
class EnhancedFanOut:
    """SubscribeToShard: 2 MB/s of each shard for this query alone, through a stream consumer that AWS charges for.

    Attributes:
        consumer_name: the consumer to read through, found or registered by this name in each stream. At any time one
            query reads through it. Needed unless every stream has one of `consumer_arns`.
        registration: when the consumer is registered, if it doesn't exist: `lazy` when the query starts, `eager`
            already when the stream is loaded, `none` never (then each stream needs one of `consumer_arns`).
        consumer_arns: consumers that are registered already, one for each stream that is to be read through such a
            one. The query never deregisters them.
        deregister_on_stop: which consumers given by name a query deregisters when it stops, ends or fails:
            "registered" those that it has registered itself, True also those that it found, False none.
        register_stream_consumer: how RegisterStreamConsumer is retried.
        deregister_stream_consumer: how DeregisterStreamConsumer is retried.
        list_stream_consumers: how ListStreamConsumers is retried.
        describe_stream_consumer: how DescribeStreamConsumer is retried, and how a consumer that is CREATING or DELETING
            is waited for.
        subscribe_to_shard: how SubscribeToShard is retried for a shard without an event between.

    Raises:
        InvalidOptionError: for a value that can't be right, or for values that contradict each other.
    """

    word: ClassVar[str] = "efo"

    consumer_name: str | None = option("efo.consumerName", default=None)
    registration: Registration = option("efo.registration", default="lazy")
    consumer_arns: tuple[str, ...] = option(
        "efo.consumerArn.<stream>", default=(), write=lambda _, arns: _by_stream(arns)
    )
    deregister_on_stop: Deregistration = option("efo.deregisterOnStop", default="registered", encode=_deregistration)
    register_stream_consumer: Retries = group("efo.registerStreamConsumer", default=Retries())
    deregister_stream_consumer: Retries = group("efo.deregisterStreamConsumer", default=Retries())
    list_stream_consumers: Retries = group("efo.listStreamConsumers", default=Retries())
    describe_stream_consumer: Retries = group("efo.describeStreamConsumer", default=Retries())
    subscribe_to_shard: Retries = group("efo.subscribeToShard", default=Retries())

    def __post_init__(self) -> None:
        if self.consumer_name is not None:
            require_consumer_name("consumer_name", self.consumer_name)
        known = get_args(Registration)
        require(self.registration in known, "registration", self.registration, f"one of {', '.join(known)}")
        choice = self.deregister_on_stop
        valid = isinstance(choice, bool) or choice == "registered"
        require(valid, "deregister_on_stop", choice, '"registered", True or False')
        require(isinstance(self.consumer_arns, tuple), "consumer_arns", self.consumer_arns, "a tuple of ARNs")
        for arn in self.consumer_arns:
            valid = isinstance(arn, str) and _CONSUMER_ARN.fullmatch(arn) is not None
            expected = (
                "a consumer's ARN, like arn:aws:kinesis:eu-west-1:123456789012:stream/orders/consumer/app:1525898737"
            )
            require(valid, "consumer_arns", arn, expected)
        streams = [stream_of(arn) for arn in self.consumer_arns]
        require(len({*streams}) == len(streams), "consumer_arns", self.consumer_arns, "one consumer for each stream")
        for field in fields(self):
            if isinstance(field.default, Retries):
                retries = getattr(self, field.name)
                require(isinstance(retries, Retries), field.name, retries, "Retries")
        if self.registration == "none" and not self.consumer_arns:
            raise InvalidOptionError(
                "registration='none' is not valid without consumer_arns: give the ARN of a registered consumer for "
                "each stream, or a consumer_name and another registration."
            )
        if self.consumer_name is None and not self.consumer_arns:
            raise InvalidOptionError(
                "EnhancedFanOut needs a consumer_name, or consumer_arns for all streams. No name is made up, because "
                "consumers of such names would stay behind."
            )


RecordPublisher: TypeAlias = Polling | EnhancedFanOut


def require_consumer_name(field: str, name: object) -> None:
    """Refuse anything but 1 to 128 letters, digits, '_', '.' or '-'."""
    valid = isinstance(name, str) and _CONSUMER_NAME.fullmatch(name) is not None
    require(valid, field, name, "a consumer's name: 1 to 128 letters, digits, '_', '.' or '-'")


def stream_of(consumer_arn: str) -> str:
    """The ARN of a consumer's stream."""
    return consumer_arn.partition("/consumer/")[0]


def _by_stream(arns: tuple[str, ...]) -> dict[str, str]:
    """Each by its stream's name; where two streams have one name, by the stream's ARN."""
    names = [stream_of(arn).rpartition("/")[2] for arn in arns]
    return {
        f"efo.consumerArn.{name if names.count(name) == 1 else stream_of(arn)}": arn
        for name, arn in zip(names, arns, strict=True)
    }


__all__ = ["Deregistration", "EnhancedFanOut", "Polling", "RecordPublisher", "Registration", "Retries"]
