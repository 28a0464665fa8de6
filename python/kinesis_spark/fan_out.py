"""How records come out of shards: by polling, or by enhanced fan-out through a stream consumer.

https://docs.aws.amazon.com/streams/latest/dev/enhanced-consumers.html
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Union, cast, get_args

from kinesis_spark._declare import Given, option, read_fields, specs, values
from kinesis_spark._kinds import MOST_TAGS, TAGS, Kind, count, matching, meant_by, require, tuple_of, words
from kinesis_spark.errors import InvalidOptionError

Registration = Literal["lazy", "eager", "none"]
Deregistration = Union[bool, Literal["registered"]]

# The key of the tag that says for which query a consumer was registered.
_OWNER_TAG = "kinesis-spark:query"

# GetRecords of a shard in a second, from all who poll it.
_MOST_CALLS = 5

_CONSUMER_NAME = matching(
    re.compile(r"[\w.-]{1,128}", re.ASCII), "a consumer's name: 1 to 128 letters, digits, '_', '.' or '-'"
)
_CONSUMER_ARN = matching(
    re.compile(r"arn:[\w-]+:kinesis:[a-z0-9-]+:\d{12}:stream/[\w.-]{1,128}/consumer/[\w.-]{1,128}:\d+", re.ASCII),
    "a consumer's ARN, like arn:aws:kinesis:eu-west-1:123456789012:stream/orders/consumer/app:1525898737",
)


def _read_deregistration(field: str, value: object) -> object:
    words = {"true": True, "false": False, "registered": "registered"}
    meant = words.get(value.lower()) if isinstance(value, str) else value
    require(isinstance(meant, bool) or meant == "registered", field, value, '"registered", True or False')
    return meant


def _write_deregistration(value: Deregistration) -> str:
    return str(value).lower()


def _of_streams(arns: Mapping[str, str]) -> tuple[str, ...]:
    for stream, arn in arns.items():
        of = stream_of(arn)
        expected = f"a consumer of {stream}"
        require(bool(meant_by(stream, [of])), f"efo.consumerArn.{stream}", arn, expected)
    return tuple(arns.values())


@values
class Polling:
    """GetRecords, which shares 2 MB/s and 5 calls/s of each shard with every other poller of it.

    https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html

    Attributes:
        calls_per_second: how many calls a shard with records gets at most, from 1 to 5. Less leaves room for others who
            poll the same stream: the same share of a shard's bytes as of its calls.

    Raises:
        InvalidOptionError: for a number that can't be right.
    """

    _option_value: ClassVar[str] = "polling"

    calls_per_second: int = option("polling.callsPerSecond", count(most=_MOST_CALLS), default=5)

    def __post_init__(self) -> None:
        read_fields(self)


@values
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
            "registered" those that its runs from this checkpoint have registered, known by their tag
            `kinesis-spark:query`; True also those that it found; False none.
        tags: tags of the consumers that the query registers: at most 49, or 50 with `deregister_on_stop=False`.
            Those that it finds keep theirs. Needs the permission `kinesis:TagResource`.
        calls_per_second: as for `Polling`, which reads what no subscription brings, such as the records of a buffer
            that was lost.

    Raises:
        InvalidOptionError: for a value that can't be right, or for values that contradict each other.
    """

    _option_value: ClassVar[str] = "efo"

    consumer_name: str | None = option("efo.consumerName", _CONSUMER_NAME, default=None)
    registration: Registration = option("efo.registration", words(*get_args(Registration)), default="lazy")
    consumer_arns: Sequence[str] = option(
        "efo.consumerArn.<stream>",
        tuple_of(_CONSUMER_ARN, "a list of ARNs"),
        default=(),
        write=lambda _, arns: {f"efo.consumerArn.{stream_of(arn)}": arn for arn in arns},
        gather=_of_streams,
    )
    deregister_on_stop: Deregistration = option(
        "efo.deregisterOnStop", Kind(_read_deregistration, _write_deregistration), default="registered"
    )
    tags: Mapping[str, str] | str | None = option("efo.tags", TAGS, default=None)
    calls_per_second: int = option("polling.callsPerSecond", count(most=_MOST_CALLS), default=5)

    def __post_init__(self) -> None:
        read_fields(self)
        streams = [stream_of(arn) for arn in self.consumer_arns]
        require(
            len({*streams}) == len(streams),
            "consumer_arns",
            ", ".join(self.consumer_arns),
            "one consumer for each stream",
        )
        if self.registration == "none":
            if not self.consumer_arns:
                raise InvalidOptionError(
                    "registration='none' is not valid without consumer_arns: give the ARN of a registered consumer for "
                    "each stream, or a consumer_name and another registration."
                )
            if self.deregister_on_stop is True:
                raise InvalidOptionError(
                    "deregister_on_stop=True: with registration='none' the query registers no consumer, and "
                    "deregisters none. Leave it out."
                )
            if self.tags is not None:
                raise InvalidOptionError("tags: with registration='none' the query registers no consumer to tag.")
        tags = cast("Mapping[str, str]", self.tags or {})
        if _OWNER_TAG in tags:
            raise InvalidOptionError(f"tags: the connector sets {_OWNER_TAG} itself. Leave it out.")
        if len(tags) >= MOST_TAGS and self.deregister_on_stop is not False:
            raise InvalidOptionError(
                f"tags: a consumer has at most {MOST_TAGS}, and the connector sets {_OWNER_TAG}. Leave one out, or set "
                "deregister_on_stop=False."
            )
        if self.consumer_name is None and not self.consumer_arns:
            raise InvalidOptionError(
                "EnhancedFanOut needs a consumer_name, or consumer_arns for all streams. No name is made up, because "
                "consumers of such names would stay behind."
            )


RecordPublisher = Union[Polling, EnhancedFanOut]


def _read_publisher(field: str, value: object) -> object:
    publisher = Polling() if isinstance(value, str) and value.lower() == "polling" else value
    expected = 'Polling(), "polling" or EnhancedFanOut("the consumer\'s name")'
    require(isinstance(publisher, (Polling, EnhancedFanOut)), field, value, expected)
    return publisher


RECORD_PUBLISHER = Kind(_read_publisher, lambda publisher: str(publisher._option_value))  # noqa: SLF001


def take_publisher(given: Given, kind: str) -> RecordPublisher:
    """The record publisher that options describe.

    Args:
        given: the options.
        kind: the value of `recordPublisher`.

    Raises:
        InvalidOptionError: if there is no such kind, or for a value that can't be right.
    """
    kinds: dict[str, type[Polling] | type[EnhancedFanOut]] = {"polling": Polling, "efo": EnhancedFanOut}
    require(kind.lower() in kinds, "recordPublisher", kind, "polling or efo")
    publisher = given.take(kinds[kind.lower()])
    if isinstance(publisher, Polling):
        _leave_out(given.take_fields(EnhancedFanOut))
    return publisher


def _leave_out(fan_out: Mapping[str, object]) -> None:
    """Read the options of fan-out, as the connector does, so that `recordPublisher` alone switches; they do nothing."""
    for field, value in fan_out.items():
        specs(EnhancedFanOut)[field].kind.read(field, value)
    if fan_out:
        names = ", ".join(specs(EnhancedFanOut)[field].name for field in fan_out)
        warnings.warn(f"{names}: left out, because recordPublisher is polling.", stacklevel=4)


def require_consumer_name(field: str, name: object) -> None:
    """Refuse anything but 1 to 128 letters, digits, '_', '.' or '-'."""
    _CONSUMER_NAME.read(field, name)


def stream_of(consumer_arn: str) -> str:
    """The ARN of a consumer's stream."""
    return consumer_arn.partition("/consumer/")[0]


def by_stream_name(options: Mapping[str, str]) -> dict[str, str]:
    """The options with consumers by stream name: of a stream given by name, the connector has no ARN."""
    return {re.sub(r"^(efo\.consumerArn\.).*/", r"\1", name): text for name, text in options.items()}


__all__ = ["Deregistration", "EnhancedFanOut", "Polling", "RecordPublisher", "Registration"]
