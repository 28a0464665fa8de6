"""The options of `format("kinesis")` as typed values.

Each field is one option of the connector, which defines, parses and checks them all again; a test holds the two lists
together. Checked here is what can be known without AWS, so that a mistake shows where it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, get_args
from urllib.parse import urlsplit

from kinesis_spark._declare import (
    boolean,
    comma_list,
    duration,
    encoded,
    option,
    require,
    require_count,
    require_duration,
    require_text,
)
from kinesis_spark.credentials import Credentials, DefaultCredentials, credential_options
from kinesis_spark.errors import InvalidOptionError
from kinesis_spark.position import StartingPosition

RecordPublisher = Literal["polling"]

_STREAM_NAME = re.compile(r"[\w.-]{1,128}", re.ASCII)
_STREAM_ARN = re.compile(r"arn:[\w-]+:kinesis:[a-z0-9-]+:\d{12}:stream/[\w.-]{1,128}", re.ASCII)


class SparkOptions(dict[str, str]):
    """Options ready for `.options(**...)`: a plain dict, except that its `repr` hides secrets."""

    __slots__ = ()

    _SECRET = frozenset({"accesskeyid", "secretaccesskey", "sessiontoken"})

    def __repr__(self) -> str:
        shown = {k: "*****" if k.lower().rpartition(".")[2] in self._SECRET else v for k, v in self.items()}
        return repr(shown)

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """What differs for one stream of several: `stream.<name>.<option>` for Spark.

    Attributes:
        stream: the stream's name, one of those in `KinesisOptions.stream_name` (or named by an ARN there).
        region: the AWS region of this stream.
        starting_position: where this stream starts.
        credentials: whose name this stream is read in.

    Raises:
        InvalidOptionError: for a value that can't be right.
    """

    stream: str
    region: str | None = option("region", default=None)
    starting_position: StartingPosition | None = option("startingPosition", default=None)
    credentials: Credentials = DefaultCredentials()

    def __post_init__(self) -> None:
        _require_stream_name("stream", self.stream)
        require_text("region", self.region)
        _require_position(self.starting_position)

    def to_dict(self) -> SparkOptions:
        """The options as Spark wants them, each prefixed with `stream.<name>.`; secrets in the clear."""
        own = encoded(self) | credential_options(self.credentials)
        return SparkOptions({f"stream.{self.stream}.{name}": value for name, value in own.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class KinesisOptions:
    """The options of a Kinesis source, checked when made.

    Streams are named either by `stream_name` or by `stream_arn`. A field left at its default is not handed to Spark.

    Attributes:
        stream_name: the stream's name, or several; region and account are then those of `region` and the credentials.
        stream_arn: the stream's ARN, or several; each names its own region and account.
        region: the AWS region, like `eu-west-1`; None takes it from the ARN, or from the SDK's region chain.
        endpoint: the URL of a service other than AWS's own, like a local server's; None for AWS.
        starting_position: where to start while the checkpoint holds nothing; see `StartingPosition`.
        record_publisher: how records are fetched: `polling` calls GetRecords, which shares 2 MB/s and 5 calls/s a shard
            with every other poller (https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html).
        fail_on_data_loss: whether the query fails when records it still wanted have left the stream's retention; if
            False it goes on with the oldest that are left.
        max_records_per_trigger: at most so many records a micro-batch, shared fairly by the shards; None for no limit.
        max_bytes_per_trigger: at most so many bytes of data a micro-batch; None for no limit.
        min_records_per_trigger: wait until so many records are there, for `max_trigger_delay` at most.
        max_trigger_delay: how long `min_records_per_trigger` may hold up a micro-batch.
        shard_discovery_interval: how often the streams' shards are listed, to find new ones.
        reader_buffer_size: bytes that the shard readers of one executor may hold ahead of the query, in all.
        credentials: whose name to call AWS in; see `kinesis_spark.credentials`.
        per_stream: what differs for single streams.

    Raises:
        InvalidOptionError: for a value that can't be right, or options that contradict each other.
    """

    stream_name: str | tuple[str, ...] | None = option("streamName", default=None, encode=comma_list)
    stream_arn: str | tuple[str, ...] | None = option("streamArn", default=None, encode=comma_list)
    region: str | None = option("region", default=None)
    endpoint: str | None = option("endpoint", default=None)
    starting_position: StartingPosition = option("startingPosition", default=StartingPosition.latest())
    record_publisher: RecordPublisher = option("recordPublisher", default="polling")
    fail_on_data_loss: bool = option("failOnDataLoss", default=True, encode=boolean)
    max_records_per_trigger: int | None = option("maxRecordsPerTrigger", default=None)
    max_bytes_per_trigger: int | None = option("maxBytesPerTrigger", default=None)
    min_records_per_trigger: int | None = option("minRecordsPerTrigger", default=None)
    max_trigger_delay: timedelta = option("maxTriggerDelay", default=timedelta(minutes=15), encode=duration)
    shard_discovery_interval: timedelta = option(
        "shardDiscoveryInterval", default=timedelta(seconds=10), encode=duration
    )
    reader_buffer_size: int = option("readerBufferSize", default=256 * 1024 * 1024)
    credentials: Credentials = DefaultCredentials()
    per_stream: tuple[StreamOptions, ...] = ()

    def __post_init__(self) -> None:
        self._check_streams()
        require_text("region", self.region)
        if self.endpoint is not None:
            _require_url("endpoint", self.endpoint)
        _require_position(self.starting_position)
        known = get_args(RecordPublisher)
        require(self.record_publisher in known, "record_publisher", self.record_publisher, f"one of {', '.join(known)}")
        boolean_given = isinstance(self.fail_on_data_loss, bool)
        require(boolean_given, "fail_on_data_loss", self.fail_on_data_loss, "True or False")
        require_count("max_records_per_trigger", self.max_records_per_trigger)
        require_count("max_bytes_per_trigger", self.max_bytes_per_trigger)
        require_count("min_records_per_trigger", self.min_records_per_trigger)
        require_count("reader_buffer_size", self.reader_buffer_size)
        require_duration("max_trigger_delay", self.max_trigger_delay)
        require_duration("shard_discovery_interval", self.shard_discovery_interval)

    def to_dict(self) -> SparkOptions:
        """The options for `spark.readStream.format("kinesis").options(**o.to_dict())`.

        It holds static keys in the clear, for the connector needs them, but its `repr` doesn't show them.
        """
        options = encoded(self) | credential_options(self.credentials)
        for stream in self.per_stream:
            options |= stream.to_dict()
        return SparkOptions(options)

    def _check_streams(self) -> None:
        names = _as_tuple(self.stream_name)
        arns = _as_tuple(self.stream_arn)
        if bool(names) == bool(arns):
            found = "both were" if names else "neither was"
            raise InvalidOptionError(
                f"stream_name and stream_arn: {found} given, exactly one is needed. Give names with a region, "
                "or ARNs, which carry theirs."
            )
        for name in names:
            _require_stream_name("stream_name", name)
        for arn in arns:
            valid = isinstance(arn, str) and _STREAM_ARN.fullmatch(arn) is not None
            require(
                valid, "stream_arn", arn, "a stream's ARN, like arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
            )
        self._check_per_stream({*names, *(arn.rpartition("/")[2] for arn in arns)})

    def _check_per_stream(self, names: set[str]) -> None:
        for stream in self.per_stream:
            found = stream.stream
            require(
                found in names, "per_stream", found, f"one of the streams that are read: {', '.join(sorted(names))}"
            )


def _as_tuple(value: str | Sequence[str] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else tuple(value)


def _require_stream_name(field: str, name: object) -> None:
    valid = isinstance(name, str) and _STREAM_NAME.fullmatch(name) is not None
    require(valid, field, name, "a stream's name: 1 to 128 letters, digits, '_', '.' or '-'")


def _require_position(position: object) -> None:
    valid = position is None or isinstance(position, StartingPosition)
    expected = "a StartingPosition, like StartingPosition.trim_horizon()"
    require(valid, "starting_position", position, expected)


def _require_url(field: str, value: object) -> None:
    expected = "a URL like http://127.0.0.1:4567, without user or password"
    require(isinstance(value, str), field, value, expected)
    try:
        url = urlsplit(str(value))
        valid = url.scheme in ("http", "https") and bool(url.hostname) and url.username is None
    except ValueError:
        valid = False
    require(valid, field, value, expected)


__all__ = ["KinesisOptions", "RecordPublisher", "SparkOptions", "StreamOptions"]
