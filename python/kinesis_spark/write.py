"""Writing to Kinesis streams in one line, and its options as typed values.

Each field is one option of the connector, which defines, parses and checks them all again; a test holds the two lists
together.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from kinesis_spark._checks import (
    require_credentials,
    require_place,
    require_stream_arn,
    require_stream_name,
)
from kinesis_spark._declare import (
    boolean,
    duration,
    encoded,
    option,
    require,
    require_boolean,
    require_count,
    require_duration,
)
from kinesis_spark.credentials import AssumedRole, Credentials, DefaultCredentials
from kinesis_spark.errors import InvalidOptionError
from kinesis_spark.jars import require_jar
from kinesis_spark.options import SparkOptions
from kinesis_spark.read import FORMAT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

BadRecords: TypeAlias = Literal["fail", "skip"]

_LEAST_BUFFER = 1024 * 1024
_LEAST_AGGREGATE = 1024
_LARGEST_AGGREGATE = 1024 * 1024
_DEFAULT_AGGREGATE = 50 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class KinesisSinkOptions:
    """The options of a Kinesis sink, checked when made.

    One stream is named by `stream_name` or by `stream_arn`, or none, and then each row names its own in a column
    `streamName`. A field left at its default is not handed to Spark.

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
        writer_buffer_size: bytes of records that a task holds, waiting or on their way; 1 MiB at least.
        max_in_flight_calls: how many calls of a task may be under way at once.
        linger: how long a row of a streaming query waits for others to go with it, 1 ms at least; None for 10 ms, or
            100 ms with `aggregate`.
        credentials: whose name to call AWS in; see `kinesis_spark.credentials`.
        role: a role to assume with those credentials; None to call AWS with them as they are.

    Raises:
        InvalidOptionError: for a value that can't be right, or options that contradict each other.
    """

    stream_name: str | None = option("streamName", default=None)
    stream_arn: str | None = option("streamArn", default=None)
    region: str | None = option("region", default=None)
    endpoint: str | None = option("endpoint", default=None)
    ordered: bool = option("ordered", default=False, encode=boolean)
    aggregate: bool = option("aggregate", default=False, encode=boolean)
    aggregate_size: int = option("aggregateSize", default=_DEFAULT_AGGREGATE)
    bad_records: BadRecords = option("badRecords", default="fail")
    max_retry_duration: timedelta = option("maxRetryDuration", default=timedelta(minutes=15), encode=duration)
    writer_buffer_size: int = option("writerBufferSize", default=32 * 1024 * 1024)
    max_in_flight_calls: int = option("maxInFlightCalls", default=8)
    linger: timedelta | None = option("linger", default=None, encode=duration)
    credentials: Credentials = DefaultCredentials()
    role: AssumedRole | None = None

    def __post_init__(self) -> None:
        if self.stream_name is not None and self.stream_arn is not None:
            raise InvalidOptionError("stream_name and stream_arn: both were given, one at most is needed.")
        if self.stream_name is not None:
            require_stream_name("stream_name", self.stream_name)
        if self.stream_arn is not None:
            require_stream_arn("stream_arn", self.stream_arn)
        require_place(self.region, self.endpoint)
        require_boolean("ordered", self.ordered)
        require_boolean("aggregate", self.aggregate)
        require_count("aggregate_size", self.aggregate_size, least=_LEAST_AGGREGATE)
        require(
            self.aggregate_size <= _LARGEST_AGGREGATE, "aggregate_size", self.aggregate_size, "1 MiB (1048576) at most"
        )
        if self.aggregate_size != _DEFAULT_AGGREGATE and not self.aggregate:
            raise InvalidOptionError("aggregate_size: it was given without aggregate=True, which it is for.")
        require(self.bad_records in get_args(BadRecords), "bad_records", self.bad_records, "fail or skip")
        require_duration("max_retry_duration", self.max_retry_duration)
        require_count("writer_buffer_size", self.writer_buffer_size, least=_LEAST_BUFFER)
        require_count("max_in_flight_calls", self.max_in_flight_calls)
        if self.linger is not None:
            require_duration("linger", self.linger)
        require_credentials(self.credentials, self.role)

    def to_dict(self) -> SparkOptions:
        """The options for `rows.writeStream.format("kinesis").options(**o.to_dict())`.

        It holds static keys in the clear, for the connector needs them, but its `repr` doesn't show them.
        """
        return SparkOptions(encoded(self) | encoded(self.credentials) | encoded(self.role))


def write_stream(rows: DataFrame, options: KinesisSinkOptions) -> DataStreamWriter:
    """A writer of a streaming DataFrame to Kinesis; give it a checkpoint and `start` it.

    Args:
        rows: with the columns `data` (binary or string) and, if need be, `partitionKey`, `explicitHashKey` and
            `streamName` (string), and no others.
        options: where to, how, in whose name.

    Raises:
        JarMissingError: if the session doesn't have the connector.
    """
    require_jar(rows.sparkSession)
    return rows.writeStream.format(FORMAT).options(**options.to_dict())


def write_batch(rows: DataFrame, options: KinesisSinkOptions) -> None:
    """Append the rows of a DataFrame to Kinesis; they are in their streams when this returns.

    Args:
        rows: as for `write_stream`.
        options: where to, how, in whose name.

    Raises:
        JarMissingError: if the session doesn't have the connector.
        pyspark.errors.PySparkException: if rows can't be written, by then perhaps not the first.
    """
    require_jar(rows.sparkSession)
    rows.write.format(FORMAT).options(**options.to_dict()).mode("append").save()
