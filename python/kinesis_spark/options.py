"""The options of `format("kinesis")` as typed values.

Each field is one option of the connector, which defines, parses and checks them all again; a test holds the two lists
together. Checked here is what can be known without AWS, so that a mistake shows where it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict, Union, cast

from kinesis_spark._declare import (
    Given,
    encoded,
    group,
    keyword_values,
    option,
    option_names,
    pattern_of,
    plain,
    read_fields,
    refuse_unknown,
)
from kinesis_spark._kinds import (
    BOOLEAN,
    ENDPOINT,
    EPOCH,
    MILLISECOND,
    MOST_LONG,
    REGION,
    STREAM_ARN,
    STREAM_NAME,
    Kind,
    count,
    duration,
    is_stream_arn,
    meant_by,
    require,
    several,
    size,
    tuple_of,
)
from kinesis_spark._signature import takes_fields_of
from kinesis_spark.cloud_watch import CloudWatch
from kinesis_spark.connection import CONNECTION, Connection, check_address
from kinesis_spark.credentials import (
    CREDENTIALS,
    ROLE,
    AssumedRole,
    Credentials,
    CustomCredentials,
    DefaultCredentials,
    ProfileCredentials,
    StaticCredentials,
    WebIdentityCredentials,
    check_token_has_role,
    check_web_identity,
    take_credentials,
    take_role,
    with_own,
)
from kinesis_spark.errors import InvalidOptionError
from kinesis_spark.fan_out import (
    RECORD_PUBLISHER,
    EnhancedFanOut,
    Polling,
    RecordPublisher,
    by_stream_name,
    stream_of,
    take_publisher,
)
from kinesis_spark.position import Position, Positions
from kinesis_spark.retries import Retries, SourceCall, encoded_retries, retries_of, take_retries

if TYPE_CHECKING:
    from typing_extensions import Unpack

# One answer of GetRecords is 10 MB at most; a smaller buffer would hold none while the next arrives.
_LEAST_BUFFER = 16 * 1024 * 1024
_LEAST_DISCOVERY = timedelta(milliseconds=100)

AnyPosition = Union[Position, Positions, datetime, str]


def _read_position(field: str, value: object) -> object:
    if isinstance(value, str):
        position: object = Positions(value) if value.lstrip().startswith("{") else Position.parse(value, field)
    else:
        position = Position.at(value) if isinstance(value, datetime) else value
    expected = 'a Position, such as "TRIM_HORIZON", Positions, or a datetime with a time zone'
    require(isinstance(position, (Position, Positions)), field, value, expected)
    ends_nowhere = field == "ending_position" and position == Position.trim_horizon()
    require(not ends_nowhere, field, value, "a later position: nothing comes before the oldest record")
    return position


_POSITION = Kind(_read_position)


@keyword_values
class StreamOptions:
    """What differs for one stream of several: `stream.<name or ARN>.<option>` for Spark.

    What is left at its default here is as in `KinesisOptions`.

    Attributes:
        stream: one of the streams in `KinesisOptions`: its name if those have names; if they have ARNs, its ARN,
            or its name where no other has the same.
        region: the AWS region of this stream.
        endpoint: the service's URL for this stream.
        starting_position: where this stream starts.
        ending_position: where a batch read of this stream ends.
        credentials: whose name to call AWS in for this stream, in place of the general ones; not `DefaultCredentials`.
        role: the role to assume for this stream, of another account perhaps. What it leaves out, such as an external
            ID, is taken from the general role.

    Raises:
        InvalidOptionError: for a value that can't be right.
    """

    stream: str
    region: str | None = option("region", REGION, default=None)
    endpoint: str | None = option("endpoint", ENDPOINT, default=None)
    starting_position: AnyPosition | None = option(
        "startingPosition", _POSITION, default=None, aliases=("initialPosition",)
    )
    ending_position: AnyPosition | None = option("endingPosition", _POSITION, default=None)
    credentials: Credentials | None = plain(CREDENTIALS, default=None)
    role: AssumedRole | str | None = plain(ROLE, default=None)

    def __post_init__(self) -> None:
        if not is_stream_arn(self.stream):
            STREAM_NAME.read("stream", self.stream)
        read_fields(self)
        if isinstance(self.credentials, DefaultCredentials):
            raise InvalidOptionError(
                f"credentials of {self.stream}: no option asks for the default chain of one stream alone. Leave them "
                "out here, and give the other streams credentials of their own."
            )

    def to_dict(self) -> dict[str, str]:
        """The options as Spark wants them, each prefixed with `stream.<name or ARN>.`."""
        own = encoded(self) | encoded(self.credentials) | encoded(self.role)
        return {f"stream.{self.stream}.{name}": value for name, value in own.items()}

    @classmethod
    def _take(cls, stream: str, given: Given) -> StreamOptions:
        own = take_credentials(given)
        credentials = None if isinstance(own, DefaultCredentials) else own
        return cls(stream=stream, credentials=credentials, role=take_role(given), **given.take_fields(cls))


@keyword_values
class KinesisOptions:
    """The options of a Kinesis source, checked when made.

    Streams are named either by `stream_name` or by `stream_arn`. A field left at its default is not handed to Spark.

    Attributes:
        stream_name: the stream's name, or several; region and account are then those of `region` and the credentials.
        stream_arn: the stream's ARN, or several; each names its own region and account.
        region: the AWS region, like `eu-west-1`; None takes it from the ARN, or from the SDK's region chain.
        endpoint: the URL of a service other than AWS's own, like a local server's; None for AWS.
        starting_position: where to start while the checkpoint holds nothing; None for LATEST, and for TRIM_HORIZON in a
            batch read. See `Position`, and `positions` for places in single shards.
        ending_position: where a batch read ends; None for LATEST, which is what is in the stream when it is first used.
        record_publisher: how records come out of shards: `Polling()`, or `EnhancedFanOut(...)`.
        fail_on_data_loss: whether the query fails when records it still wanted have left the stream's retention, also
            if that is only likely, or when a stream of its checkpoint is not among the streams any more; if False
            it continues with the oldest that are left, or without that stream.
        deaggregate: whether records that the Kinesis Producer Library has aggregated are taken apart into their user
            records; if False they come as they are.
        max_records_per_trigger: at most so many Kinesis records a micro-batch, shared fairly by the shards; an
            aggregated record counts as one; None for no limit.
        max_bytes_per_trigger: at most so many bytes of data a micro-batch; None for no limit.
        min_records_per_trigger: wait until so many Kinesis records are there, for `max_trigger_delay` at most.
        max_trigger_delay: how long `min_records_per_trigger` may hold up a micro-batch.
        max_shard_skew: how far a micro-batch may go ahead in one shard of where it ends in the slowest, by the times at
            which records arrived; less than the watermark's delay, it keeps a catch-up from making the slower shards'
            records late, unless a shard that is behind brings nothing for 30 s. `timedelta(0)` for no such bound.
        shard_discovery_interval: how often the streams' shards are listed, to find new ones; 100 ms at least.
        min_partitions: the least number of tasks for a micro-batch, as far as it has records enough, or a batch read;
            with more than 1, what a shard brings is cut into parts for several tasks where there are fewer shards.
        real_time_reserved_cores: cores that the tasks of a real-time batch leave to others, as all stages of such a
            batch run at once; None for `spark.sql.shuffle.partitions` for each operator that shuffles the
            stream's rows, and as many as a repartition says.
        reader_buffer_size: bytes that the shard readers of one executor may hold ahead of their queries, in all; 16 MiB
            at least; None for a fifth of the executor's heap without Spark's 300 MiB.
        max_retry_duration: how long calls are retried, from the first failure in a row, before the query fails. What
            cannot pass, such as a missing permission, fails at once; throttled reads are retried without end.
        retries: how often and after which waits single calls are retried within that time, by the calls' names; those
            that aren't named keep their defaults.
        credentials: whose name to call AWS in; see `kinesis_spark.credentials`.
        role: a role to assume with those credentials; None to call AWS with them as they are. Without a `role_arn` it
            is what the roles of single streams leave out.
        connection: how AWS is reached: proxy, certificates, time limits and so on.
        cloud_watch: where the source's metrics are published; by default nowhere.
        per_stream: what differs for single streams.

    Raises:
        InvalidOptionError: for a value that can't be right, or options that contradict each other.
    """

    stream_name: str | Sequence[str] | None = option("streamName", several(STREAM_NAME), default=None)
    stream_arn: str | Sequence[str] | None = option("streamArn", several(STREAM_ARN), default=None)
    region: str | None = option("region", REGION, default=None)
    endpoint: str | None = option("endpoint", ENDPOINT, default=None)
    starting_position: AnyPosition | None = option(
        "startingPosition", _POSITION, default=None, aliases=("initialPosition",)
    )
    ending_position: AnyPosition | None = option("endingPosition", _POSITION, default=None)
    record_publisher: RecordPublisher | str = option("recordPublisher", RECORD_PUBLISHER, default=Polling())
    fail_on_data_loss: bool | str = option("failOnDataLoss", BOOLEAN, default=True)
    deaggregate: bool | str = option("deaggregate", BOOLEAN, default=True)
    max_records_per_trigger: int | None = option("maxRecordsPerTrigger", count(most=MOST_LONG), default=None)
    max_bytes_per_trigger: int | str | None = option("maxBytesPerTrigger", size(), default=None)
    min_records_per_trigger: int | None = option("minRecordsPerTrigger", count(most=MOST_LONG), default=None)
    max_trigger_delay: timedelta | str = option("maxTriggerDelay", duration(), default=timedelta(minutes=15))
    max_shard_skew: timedelta | str = option("maxShardSkew", duration(off=True), default=timedelta(seconds=10))
    shard_discovery_interval: timedelta | str = option(
        "shardDiscoveryInterval", duration(least=_LEAST_DISCOVERY), default=timedelta(seconds=10)
    )
    min_partitions: int = option("minPartitions", count(), default=1)
    real_time_reserved_cores: int | None = option("realTime.reservedCores", count(least=0), default=None)
    reader_buffer_size: int | str | None = option("readerBufferSize", size(least=_LEAST_BUFFER), default=None)
    max_retry_duration: timedelta | str = option("maxRetryDuration", duration(), default=timedelta(minutes=15))
    retries: Mapping[SourceCall, Retries] | None = plain(retries_of(SourceCall), default=None)
    credentials: Credentials = plain(CREDENTIALS, default=DefaultCredentials())
    role: AssumedRole | str | None = plain(ROLE, default=None)
    connection: Connection = plain(CONNECTION, default=Connection())
    cloud_watch: CloudWatch = group("cloudWatch", default=CloudWatch())
    per_stream: Sequence[StreamOptions] = plain(tuple_of(StreamOptions, "a list of StreamOptions"), default=())

    def __post_init__(self) -> None:
        read_fields(self)
        names, arns = _all(self.stream_name), _all(self.stream_arn)
        if bool(names) == bool(arns):
            found = "both were" if names else "neither was"
            raise InvalidOptionError(
                f"stream_name and stream_arn: {found} given, exactly one is needed. Give names with a region, "
                "or ARNs, which carry theirs."
            )
        found = type(self.cloud_watch).__name__
        require(isinstance(self.cloud_watch, CloudWatch), "cloud_watch", found, "a CloudWatch")
        check_once(stream.stream for stream in self.per_stream)
        own = self._own_options(names, arns)
        check_roles(self.role, self.per_stream)
        check_sts(self.connection, self.credentials, self.role, self.per_stream)
        check_endpoints(self.connection, self.endpoint, self.per_stream)
        check_web_identity("role", self.credentials, cast("AssumedRole | None", self.role))
        for stream in names + arns:
            self._check_stream(stream, own.get(stream) or StreamOptions(stream=stream))
        self._check_limits()
        self._check_record_publisher(names, arns)

    def replace(self, **changes: Unpack[SourceArguments]) -> KinesisOptions:
        """The same options except for some, checked again.

        Raises:
            InvalidOptionError: as the options themselves.
        """
        return replace(cast("Any", self), **changes)  # type: ignore[no-any-return]

    def to_dict(self) -> dict[str, str]:
        """The options for `spark.readStream.format("kinesis").options(**o.to_dict())`.

        It holds static keys, for the connector needs them, but no `repr` of it or of a copy shows them.
        """
        publisher = encoded(self.record_publisher)
        options = encoded(self) | (by_stream_name(publisher) if self.stream_arn is None else publisher)
        options |= encoded(self.credentials) | encoded(self.role)
        options |= encoded(self.connection) | encoded_retries(self.retries)
        for stream in self.per_stream:
            options.update(stream.to_dict())
        return options

    @classmethod
    def from_dict(cls, options: Mapping[str, str]) -> KinesisOptions:
        """The options that `to_dict` wrote, or that a configuration has, with the names of `spark.readStream.option`.

        Args:
            options: texts by name; names in any case. Those of fan-out are checked and left out, with a warning, where
                `recordPublisher` is polling.

        Raises:
            InvalidOptionError: for an unknown name, a value that can't be right, or options that contradict each other.
        """
        given = Given(options)
        fields = given.take_fields(cls)
        fields["record_publisher"] = take_publisher(given, fields.get("record_publisher", "polling"))
        fields |= take_access(given, SourceCall)
        given.refuse_rest((cls, Polling, EnhancedFanOut, *ACCESS))
        return cls(**fields)

    def _check_record_publisher(self, names: tuple[str, ...], arns: tuple[str, ...]) -> None:
        publisher = self.record_publisher
        if not isinstance(publisher, EnhancedFanOut):
            return
        of = [stream_of(arn) for arn in publisher.consumer_arns]
        consumed = of if arns else [arn.rpartition("/")[2] for arn in of]
        strange = [stream for stream in consumed if stream not in names + arns]
        require(
            not strange,
            "consumer_arns",
            ", ".join(strange),
            f"consumers of the streams that are read: {', '.join(names + arns)}",
        )
        once = len({*consumed}) == len(consumed)
        require(once, "consumer_arns", ", ".join(publisher.consumer_arns), "one consumer for each stream")
        without = [stream for stream in names + arns if stream not in consumed]
        if without and (publisher.consumer_name is None or publisher.registration == "none"):
            raise InvalidOptionError(
                f"record_publisher has no consumer for {', '.join(without)}: give one's ARN in consumer_arns, or a "
                "consumer_name and a registration other than none."
            )

    def _check_limits(self) -> None:
        least, most = self.min_records_per_trigger, self.max_records_per_trigger
        if least is not None and most is not None and least > most:
            raise InvalidOptionError(
                f"min_records_per_trigger ({least}) is more than max_records_per_trigger ({most}). Lower one, or leave "
                "it out."
            )

    def _check_stream(self, stream: str, own: StreamOptions) -> None:
        """Check what holds for one stream: its own options, and the general ones where it has none."""
        check_caller(self.credentials, self.role, own)
        check_region(_called("region", own), own.region or self.region, stream)
        start, end = own.starting_position or self.starting_position, own.ending_position or self.ending_position
        from_ms, to_ms = _millis(start), _millis(end)
        later = from_ms is None or to_ms is None or from_ms < to_ms
        expected = f"a moment after {_called('starting_position', own)}, {start}"
        require(later, _called("ending_position", own), str(end), expected)

    def _own_options(self, names: tuple[str, ...], arns: tuple[str, ...]) -> dict[str, StreamOptions]:
        """The options of single streams by the stream as it is named in general."""
        meant: list[str] = []
        for stream in self.per_stream:
            found = stream.stream
            read = meant_by(found, names + arns)
            require(len(read) > 0, "per_stream", found, f"one of the streams that are read: {', '.join(names + arns)}")
            require(len(read) == 1, "per_stream", found, f"its ARN or exact name, as it may be {' or '.join(read)}")
            meant += read
        check_once(meant)
        return dict(zip(meant, self.per_stream))


takes_fields_of(KinesisOptions)(KinesisOptions.replace)


class SourceArguments(TypedDict, total=False):
    """The fields of `KinesisOptions`, for functions that take them by keyword; what each means is said there."""

    stream_name: str | Sequence[str] | None
    stream_arn: str | Sequence[str] | None
    region: str | None
    endpoint: str | None
    starting_position: AnyPosition | None
    ending_position: AnyPosition | None
    record_publisher: RecordPublisher | str
    fail_on_data_loss: bool | str
    deaggregate: bool | str
    max_records_per_trigger: int | None
    max_bytes_per_trigger: int | str | None
    min_records_per_trigger: int | None
    max_trigger_delay: timedelta | str
    max_shard_skew: timedelta | str
    shard_discovery_interval: timedelta | str
    min_partitions: int
    real_time_reserved_cores: int | None
    reader_buffer_size: int | str | None
    max_retry_duration: timedelta | str
    retries: Mapping[SourceCall, Retries] | None
    credentials: Credentials
    role: AssumedRole | str | None
    connection: Connection
    cloud_watch: CloudWatch
    per_stream: Sequence[StreamOptions]


# What source and sink share: who calls AWS, how, and what differs for single streams.
_CALLERS = (ProfileCredentials, StaticCredentials, CustomCredentials, WebIdentityCredentials, AssumedRole)
ACCESS = (*_CALLERS, Connection)
_OF_STREAM = pattern_of(name for cls in (StreamOptions, *_CALLERS) for name in option_names(cls))
# The stream as written, and the option.
OF_ONE_STREAM = re.compile(rf"stream\.(.+?)\.({_OF_STREAM})", re.IGNORECASE)


def take_access(given: Given, calls: object) -> dict[str, Any]:
    """The fields of source and sink that hold other options.

    Args:
        given: the options.
        calls: whose retries they may have, as a Literal.

    Raises:
        InvalidOptionError: for options that can't be right.
    """
    return {
        "retries": take_retries(given, calls),
        "credentials": take_credentials(given),
        "role": take_role(given),
        "connection": given.take(Connection),
        "per_stream": take_per_stream(given),
    }


def check_once(streams: Iterable[str]) -> None:
    """Refuse several options of one stream. Case makes no difference, because Spark's maps of options ignore it.

    Args:
        streams: names or ARNs of those that have options of their own.

    Raises:
        InvalidOptionError: for a stream that is there twice.
    """
    found = list(streams)
    lower = [stream.lower() for stream in found]
    twice = sorted({stream for stream in found if lower.count(stream.lower()) > 1})
    require(not twice, "per_stream", ", ".join(twice), "the options of each stream once")


def check_roles(general: AssumedRole | str | None, per_stream: Sequence[StreamOptions]) -> None:
    """Refuse what belongs to a role where no role is assumed.

    Raises:
        InvalidOptionError: if an ARN is missing, of the stream's own role or the general one.
    """
    if general is not None and cast("AssumedRole", general).role_arn is not None:
        return
    own = {stream.stream: cast("AssumedRole", stream.role) for stream in per_stream if stream.role is not None}
    without = [f"role of {stream}" for stream, role in own.items() if role.role_arn is None]
    if general is not None and not own:
        without = ["role"]
    if without:
        raise InvalidOptionError(f"{without[0]}: role_arn is missing. Give the role to assume, too.")


def check_sts(
    connection: Connection,
    credentials: Credentials,
    general: AssumedRole | str | None,
    per_stream: Sequence[StreamOptions],
) -> None:
    """Refuse the STS to ask for roles where none is assumed. A profile or the default chain may name a role itself.

    Raises:
        InvalidOptionError: if neither an ARN of a role nor a profile is given, and credentials are.
    """
    given = [name for name in ("sts_region", "sts_endpoint") if getattr(connection, name) is not None]
    roles = [cast("AssumedRole", role) for role in (general, *(own.role for own in per_stream)) if role is not None]
    own_profile = any(isinstance(own.credentials, ProfileCredentials) for own in per_stream)
    may_name_role = own_profile or isinstance(credentials, (DefaultCredentials, ProfileCredentials))
    if given and not may_name_role and all(role.role_arn is None for role in roles):
        raise InvalidOptionError(f"{given[0]}: it was given without a role. Give the role to assume, too.")


def check_caller(credentials: Credentials, role: AssumedRole | str | None, own: StreamOptions) -> None:
    """Refuse the token of a web identity without a role, or with what has no use beside it.

    Args:
        credentials: the general ones.
        role: the general one.
        own: the options of one stream, which come before the general ones.

    Raises:
        InvalidOptionError: for such a token.
    """
    used = own.credentials or credentials
    assumed = with_own(cast("AssumedRole | None", role), cast("AssumedRole | None", own.role))
    check_token_has_role(_called("credentials", own), used, assumed)
    check_web_identity(_called("role", own), used, assumed)


def check_region(field: str, region: str | None, stream: str | None) -> None:
    """Refuse another region than the one in a stream's ARN.

    Args:
        field: what an error calls the region.
        region: the region that is given, if one is.
        stream: the stream's name or ARN.

    Raises:
        InvalidOptionError: for another region.
    """
    if stream is not None and is_stream_arn(stream):
        named = stream.split(":")[3]
        require(region in (None, named), field, region, f"{named}, the region of {stream}, or none")


def _called(field: str, own: StreamOptions) -> str:
    """What an error calls an option of a stream, its own or the general one."""
    return field if getattr(own, field) is None else f"{field} of {own.stream}"


def _millis(position: AnyPosition | None) -> int | None:
    """The moment of a position, to the millisecond as Spark is handed it; None for another position."""
    moment = position.timestamp if isinstance(position, Position) else None
    return None if moment is None else (moment - EPOCH) // MILLISECOND


def check_endpoints(connection: Connection, general: str | None, per_stream: Sequence[StreamOptions]) -> None:
    """Refuses endpoints beside options that choose one.

    Raises:
        InvalidOptionError: where both are given.
    """
    check_address(connection, "endpoint", general)
    for stream in per_stream:
        check_address(connection, f"endpoint of {stream.stream}", stream.endpoint)


def take_per_stream(given: Given) -> tuple[StreamOptions, ...]:
    """The options of single streams: `stream.<name or ARN>.<option>`, in which a name may have dots."""
    found = given.take_by_prefix(OF_ONE_STREAM)
    return tuple(StreamOptions._take(stream, own) for stream, own in found.items())  # noqa: SLF001


def source_options(options: KinesisOptions | None, arguments: SourceArguments) -> KinesisOptions:
    """What a function was given: options, or options by keyword, or options with some replaced by keyword."""
    refuse_unknown(KinesisOptions, arguments)
    if options is None:
        return KinesisOptions(**arguments)
    # Without the value, which may hold secrets.
    found = type(options).__name__
    require(isinstance(options, KinesisOptions), "options", found, "KinesisOptions, or options by keyword")
    return options.replace(**arguments)


def _all(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


__all__ = ["AnyPosition", "KinesisOptions", "SourceArguments", "StreamOptions"]
