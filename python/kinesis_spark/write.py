"""Writing to Kinesis streams in one line, and its options as typed values.

Each field is one option of the connector, which defines, parses and checks them all again; a test holds the two lists
together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast, get_args

from kinesis_spark._declare import Given, encoded, keyword_values, option, plain, read_fields, refuse_unknown
from kinesis_spark._kinds import (
    BOOLEAN,
    ENDPOINT,
    MILLISECOND,
    REGION,
    STREAM_ARN,
    STREAM_NAME,
    count,
    duration,
    is_stream_arn,
    meant_by,
    require,
    size,
    tuple_of,
    words,
)
from kinesis_spark._signature import takes_fields_of
from kinesis_spark.connection import CONNECTION, Connection
from kinesis_spark.credentials import (
    CREDENTIALS,
    ROLE,
    AssumedRole,
    Credentials,
    DefaultCredentials,
    check_token_has_role,
    check_web_identity,
    with_own,
)
from kinesis_spark.errors import InvalidOptionError
from kinesis_spark.jars import FORMAT, require_jar
from kinesis_spark.options import (
    ACCESS,
    StreamOptions,
    check_caller,
    check_endpoints,
    check_once,
    check_region,
    check_roles,
    check_sts,
    take_access,
)
from kinesis_spark.retries import Retries, SinkCall, encoded_retries, retries_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from typing_extensions import Unpack

BadRecords = Literal["fail", "skip"]

# Spark 4.3 stores the progress of a stateless real-time query while the next batch runs, but only with sinks on a list
# of its own. This sink allows it: a task ends when all its records are in their streams, whenever Spark stores that.
_ANY_SINK_TRACKED = "_asyncProgressTrackingOverrideSinkSupportCheck"

_LEAST_BUFFER = 1024 * 1024
_LEAST_AGGREGATE = 1024
_LARGEST_AGGREGATE = 1024 * 1024
_DEFAULT_AGGREGATE = 50 * 1024


@keyword_values
class KinesisSinkOptions:
    """The options of a Kinesis sink, checked when made.

    One stream is named by `stream_name` or by `stream_arn`, or none, and then each row names its own in a column
    `targetStream`. A field left at its default is not handed to Spark.

    Attributes:
        stream_name: the stream for rows that don't name theirs; region and account are those of `region` and the
            credentials.
        stream_arn: the same by ARN, which names its own region and account.
        region: the AWS region, like `eu-west-1`; None takes it from the ARN, or from the SDK's region chain.
        endpoint: the URL of a service other than AWS's own, like a local server's; None for AWS.
        ordered: whether the records of a partition key come into the stream in the order in which a task has their
            rows; one record of each key is then under way at a time.
        aggregate: whether rows for the same shard share Kinesis records, in the KPL's format; needs the permission
            `kinesis:ListShards`.
        aggregate_size: bytes that an aggregated record may have, from 1 KiB to 1 MiB; only with `aggregate`.
        bad_records: what becomes of rows that can never be written: `fail` their task, or `skip` and count them.
        max_retry_duration: how long one record may be refused before its task fails.
        retries: how often and after which waits single calls are retried within that time, by the calls' names; those
            that aren't named keep their defaults.
        writer_buffer_size: bytes of records that a task holds, waiting or on their way; 1 MiB at least.
        max_in_flight_calls: how many calls of a task may be under way at once.
        linger: how long a row of a streaming query waits for others to go with it, 1 ms at least; None for
            1 ms while no call is under way and 10 ms while one is, or 100 ms with `aggregate`.
        credentials: whose name to call AWS in; see `kinesis_spark.credentials`.
        role: a role to assume with those credentials; None to call AWS with them as they are.
        connection: how AWS is reached: proxy, certificates, time limits and so on.
        per_stream: region, endpoint, credentials and role of single streams that rows name.

    Raises:
        InvalidOptionError: for a value that can't be right, or options that contradict each other.
    """

    stream_name: str | None = option("streamName", STREAM_NAME, default=None)
    stream_arn: str | None = option("streamArn", STREAM_ARN, default=None)
    region: str | None = option("region", REGION, default=None)
    endpoint: str | None = option("endpoint", ENDPOINT, default=None)
    ordered: bool | str = option("ordered", BOOLEAN, default=False)
    aggregate: bool | str = option("aggregate", BOOLEAN, default=False)
    aggregate_size: int | str = option(
        "aggregateSize", size(least=_LEAST_AGGREGATE, most=_LARGEST_AGGREGATE), default=_DEFAULT_AGGREGATE
    )
    bad_records: BadRecords = option("badRecords", words(*get_args(BadRecords)), default="fail")
    max_retry_duration: timedelta | str = option("maxRetryDuration", duration(), default=timedelta(minutes=15))
    retries: Mapping[SinkCall, Retries] | None = plain(retries_of(SinkCall), default=None)
    writer_buffer_size: int | str = option("writerBufferSize", size(least=_LEAST_BUFFER), default=32 * 1024 * 1024)
    max_in_flight_calls: int = option("maxInFlightCalls", count(), default=8)
    linger: timedelta | str | None = option("linger", duration(least=MILLISECOND), default=None)
    credentials: Credentials = plain(CREDENTIALS, default=DefaultCredentials())
    role: AssumedRole | str | None = plain(ROLE, default=None)
    connection: Connection = plain(CONNECTION, default=Connection())
    per_stream: Sequence[StreamOptions] = plain(tuple_of(StreamOptions, "a list of StreamOptions"), default=())

    def __post_init__(self) -> None:
        read_fields(self)
        if self.stream_name is not None and self.stream_arn is not None:
            raise InvalidOptionError("stream_name and stream_arn: both were given, one at most is needed.")
        if self.aggregate_size != _DEFAULT_AGGREGATE and not self.aggregate:
            raise InvalidOptionError("aggregate_size: it was given without aggregate=True, which it is for.")
        check_once(own.stream for own in self.per_stream)
        for own in self.per_stream:
            if own.starting_position is not None or own.ending_position is not None:
                raise InvalidOptionError(f"per_stream: a sink has no positions, and those of {own.stream} have one.")
        check_region("region", self.region, self.stream_arn)
        for own in self.per_stream:
            check_region(f"region of {own.stream}", own.region, own.stream)
        self._check_callers()
        check_endpoints(self.connection, self.endpoint, self.per_stream)

    def replace(self, **changes: Unpack[SinkArguments]) -> KinesisSinkOptions:
        """The same options except for some, checked again.

        Raises:
            InvalidOptionError: as the options themselves.
        """
        return replace(cast("Any", self), **changes)  # type: ignore[no-any-return]

    def to_dict(self) -> dict[str, str]:
        """The options for `rows.writeStream.format("kinesis").options(**o.to_dict())`.

        It holds static keys, for the connector needs them, but no `repr` of it or of a copy shows them.
        """
        options = encoded(self) | encoded(self.credentials) | encoded(self.role) | encoded(self.connection)
        options |= encoded_retries(self.retries)
        for stream in self.per_stream:
            options.update(stream.to_dict())
        return options

    @classmethod
    def from_dict(cls, options: Mapping[str, str]) -> KinesisSinkOptions:
        """The options that `to_dict` wrote, or that a configuration has, with the names of `df.writeStream.option`.

        Args:
            options: texts by name; names in any case.

        Raises:
            InvalidOptionError: for an unknown name, a value that can't be right, or options that contradict each other.
        """
        given = Given(options)
        fields = given.take_fields(cls) | take_access(given, SinkCall)
        given.refuse_rest((cls, *ACCESS))
        return cls(**fields)

    def _check_callers(self) -> None:
        role = cast("AssumedRole | None", self.role)
        named = [self._with_name(own) for own in self.per_stream]
        check_roles(role, named)
        per_stream = [own for own in named if own.to_dict()]
        check_sts(self.connection, self.credentials, role, per_stream)
        check_web_identity("role", self.credentials, role)
        for own in per_stream:
            check_caller(self.credentials, role, own)
        # Rows may name other streams, which is not known here.
        to = self.stream_name or self.stream_arn
        has_own = any(meant_by(own.stream, [to]) for own in per_stream) if to else per_stream
        if not has_own:
            check_token_has_role("credentials", self.credentials, role)

    def _with_name(self, own: StreamOptions) -> StreamOptions:
        """The options of one stream; one by ARN is called as its name says where it says nothing itself."""
        names = [each.stream for each in self.per_stream if not is_stream_arn(each.stream)]
        meant = meant_by(own.stream.rpartition("/")[2], names) if is_stream_arn(own.stream) else []
        by_name = next((each for each in self.per_stream if each.stream in meant[:1]), None)
        if by_name is None:
            return own
        role = with_own(cast("AssumedRole | None", by_name.role), cast("AssumedRole | None", own.role))
        return replace(cast("Any", own), credentials=own.credentials or by_name.credentials, role=role)  # type: ignore[no-any-return]


takes_fields_of(KinesisSinkOptions)(KinesisSinkOptions.replace)


class SinkArguments(TypedDict, total=False):
    """The fields of `KinesisSinkOptions`, for functions that take them by keyword; what each means is said there."""

    stream_name: str | None
    stream_arn: str | None
    region: str | None
    endpoint: str | None
    ordered: bool | str
    aggregate: bool | str
    aggregate_size: int | str
    bad_records: BadRecords
    max_retry_duration: timedelta | str
    retries: Mapping[SinkCall, Retries] | None
    writer_buffer_size: int | str
    max_in_flight_calls: int
    linger: timedelta | str | None
    credentials: Credentials
    role: AssumedRole | str | None
    connection: Connection
    per_stream: Sequence[StreamOptions]


@takes_fields_of(KinesisSinkOptions)
def write_stream(
    rows: DataFrame, options: KinesisSinkOptions | None = None, **arguments: Unpack[SinkArguments]
) -> DataStreamWriter:
    """A writer of a streaming DataFrame to Kinesis; give it a checkpoint and `start` it.

        write_stream(orders, stream_name="orders-checked").option("checkpointLocation", "/data/checkpoint").start()

    Args:
        rows: with the columns `data` (binary or string) and, if need be, `partitionKey`, `explicitHashKey` and
            `targetStream` (string), and no others.
        options: where to, how, in whose name.
        arguments: the same by keyword; beside `options` they replace some of them.

    Raises:
        InvalidOptionError: for a value that can't be right.
        JarMissingError: if a classic session doesn't have the connector. With Spark Connect, `start` fails with an
            error of Spark.
    """
    chosen = _sink_options(options, arguments)
    require_jar(rows.sparkSession)
    return rows.writeStream.format(FORMAT).options(**chosen.to_dict()).option(_ANY_SINK_TRACKED, "true")


@takes_fields_of(KinesisSinkOptions)
def write_batch(rows: DataFrame, options: KinesisSinkOptions | None = None, **arguments: Unpack[SinkArguments]) -> None:
    """Append the rows of a DataFrame to Kinesis; they are in their streams when this returns.

    Args:
        rows: as for `write_stream`.
        options: as for `write_stream`.
        arguments: as for `write_stream`.

    Raises:
        InvalidOptionError: for a value that can't be right.
        JarMissingError: if a classic session doesn't have the connector.
        pyspark.errors.PySparkException: if rows can't be written, by then perhaps not the first; with Spark Connect
            also if the server doesn't have the connector.
    """
    chosen = _sink_options(options, arguments)
    require_jar(rows.sparkSession)
    rows.write.format(FORMAT).options(**chosen.to_dict()).mode("append").save()


def _sink_options(options: KinesisSinkOptions | None, arguments: SinkArguments) -> KinesisSinkOptions:
    refuse_unknown(KinesisSinkOptions, arguments)
    if options is None:
        return KinesisSinkOptions(**arguments)
    # Without the value, which may hold secrets.
    found = type(options).__name__
    require(isinstance(options, KinesisSinkOptions), "options", found, "KinesisSinkOptions, or options by keyword")
    return options.replace(**arguments)


__all__ = ["BadRecords", "KinesisSinkOptions", "SinkArguments", "write_batch", "write_stream"]
