"""The options of `format("kinesis")` as typed values.

Each field is one option of the connector, which defines, parses and checks them all again; a test holds the two lists
together. Checked here is what can be known without AWS, so that a mistake shows where it was typed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import get_args

from kinesis_spark._checks import (
    as_tuple,
    is_stream_arn,
    require_credentials,
    require_place,
    require_stream_arn,
    require_stream_name,
)
from kinesis_spark._declare import (
    boolean,
    comma_list,
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
from kinesis_spark.fan_out import EnhancedFanOut, Polling, RecordPublisher, stream_of
from kinesis_spark.position import StartingPosition
from kinesis_spark.positions import Positions

# One answer of GetRecords is 10 MB at most; a smaller buffer would hold none while the next arrives.
_LEAST_BUFFER = 16 * 1024 * 1024
_LEAST_DISCOVERY = timedelta(milliseconds=100)


class SparkOptions(dict[str, str]):
    """Options ready for `.options(**...)`: a plain dict, except that its `repr` hides secrets."""

    __slots__ = ()

    _SECRET = frozenset({"accesskeyid", "secretaccesskey", "sessiontoken"})

    def __repr__(self) -> str:
        shown = {k: "*****" if k.lower().rpartition(".")[2] in self._SECRET else v for k, v in self.items()}
        return repr(shown)

    __str__ = __repr__


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """What differs for one stream of several: `stream.<name or ARN>.<option>` for Spark.

    What is left at its default here is as in `KinesisOptions`.

    Attributes:
        stream: one of the streams in `KinesisOptions`: its name if those have names; if they have ARNs, its ARN, or its
            name where no other has the same.
        region: the AWS region of this stream.
        endpoint: the service's URL for this stream.
        starting_position: where this stream starts.
        ending_position: where a batch read of this stream ends.
        role: the role to assume for this stream, of another account perhaps.

    Raises:
        InvalidOptionError: for a value that can't be right.
    """

    stream: str
    region: str | None = option("region", default=None)
    endpoint: str | None = option("endpoint", default=None)
    starting_position: StartingPosition | Positions | None = option("startingPosition", default=None)
    ending_position: StartingPosition | Positions | None = option("endingPosition", default=None)
    role: AssumedRole | None = None

    def __post_init__(self) -> None:
        if not is_stream_arn(self.stream):
            require_stream_name("stream", self.stream)
        require_place(self.region, self.endpoint)
        _require_position("starting_position", self.starting_position)
        _require_position("ending_position", self.ending_position)

    def to_dict(self) -> SparkOptions:
        """The options as Spark wants them, each prefixed with `stream.<name or ARN>.`."""
        own = encoded(self) | encoded(self.role)
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
        starting_position: where to start while the checkpoint holds nothing; None for LATEST, and for TRIM_HORIZON in a
            batch read. See `StartingPosition`, and `positions` for places in single shards.
        ending_position: where a batch read ends; None for LATEST, which is what is in the stream when it is first used.
        record_publisher: how records come out of shards: `Polling()`, or `EnhancedFanOut(...)`.
        fail_on_data_loss: whether the query fails when records it still wanted have left the stream's retention, also
            if that is only likely, or when a stream of its checkpoint is not among the streams any more; if False
            it goes on with the oldest that are left, or without that stream.
        deaggregate: whether records that the Kinesis Producer Library has aggregated are taken apart into their user
            records; if False they come as they are.
        max_records_per_trigger: at most so many Kinesis records a micro-batch, shared fairly by the shards; an
            aggregated record counts as one; None for no limit.
        max_bytes_per_trigger: at most so many bytes of data a micro-batch; None for no limit.
        min_records_per_trigger: wait until so many Kinesis records are there, for `max_trigger_delay` at most.
        max_trigger_delay: how long `min_records_per_trigger` may hold up a micro-batch.
        max_shard_skew: how far a micro-batch may go ahead in one shard of where it ends in the slowest, by the times at
            which records arrived; less than the watermark's delay, it keeps a catch-up from making the slower shards'
            records late. `timedelta(0)` for no such bound.
        shard_discovery_interval: how often the streams' shards are listed, to find new ones; 100 ms at least.
        min_partitions: the least number of tasks for a micro-batch, as far as it has records enough, or a batch read;
            with more than 1, what a shard brings is cut into parts for several tasks where there are fewer shards.
        reader_buffer_size: bytes that the shard readers of one executor may hold ahead of their queries, in all; 16 MiB
            at least; None for a quarter of the executor's heap.
        max_retry_duration: how long calls are retried, from the first failure in a row, before the query fails. What
            cannot pass, such as a missing permission, fails at once; throttled reads are retried without end.
        credentials: whose name to call AWS in; see `kinesis_spark.credentials`.
        role: a role to assume with those credentials; None to call AWS with them as they are.
        per_stream: what differs for single streams.

    Raises:
        InvalidOptionError: for a value that can't be right, or options that contradict each other.
    """

    stream_name: str | tuple[str, ...] | None = option("streamName", default=None, encode=comma_list)
    stream_arn: str | tuple[str, ...] | None = option("streamArn", default=None, encode=comma_list)
    region: str | None = option("region", default=None)
    endpoint: str | None = option("endpoint", default=None)
    starting_position: StartingPosition | Positions | None = option("startingPosition", default=None)
    ending_position: StartingPosition | Positions | None = option("endingPosition", default=None)
    record_publisher: RecordPublisher = option("recordPublisher", default=Polling(), encode=lambda kind: kind.word)
    fail_on_data_loss: bool = option("failOnDataLoss", default=True, encode=boolean)
    deaggregate: bool = option("deaggregate", default=True, encode=boolean)
    max_records_per_trigger: int | None = option("maxRecordsPerTrigger", default=None)
    max_bytes_per_trigger: int | None = option("maxBytesPerTrigger", default=None)
    min_records_per_trigger: int | None = option("minRecordsPerTrigger", default=None)
    max_trigger_delay: timedelta = option("maxTriggerDelay", default=timedelta(minutes=15), encode=duration)
    max_shard_skew: timedelta = option("maxShardSkew", default=timedelta(seconds=10), encode=duration)
    shard_discovery_interval: timedelta = option(
        "shardDiscoveryInterval", default=timedelta(seconds=10), encode=duration
    )
    min_partitions: int = option("minPartitions", default=1)
    reader_buffer_size: int | None = option("readerBufferSize", default=None)
    max_retry_duration: timedelta = option("maxRetryDuration", default=timedelta(minutes=15), encode=duration)
    credentials: Credentials = DefaultCredentials()
    role: AssumedRole | None = None
    per_stream: tuple[StreamOptions, ...] = ()

    def __post_init__(self) -> None:
        self._check_streams()
        require_place(self.region, self.endpoint)
        _require_position("starting_position", self.starting_position)
        _require_position("ending_position", self.ending_position)
        self._check_record_publisher()
        require_boolean("fail_on_data_loss", self.fail_on_data_loss)
        require_boolean("deaggregate", self.deaggregate)
        require_credentials(self.credentials, self.role)
        require_count("max_records_per_trigger", self.max_records_per_trigger)
        require_count("max_bytes_per_trigger", self.max_bytes_per_trigger)
        require_count("min_records_per_trigger", self.min_records_per_trigger)
        require_count("min_partitions", self.min_partitions)
        require_count("reader_buffer_size", self.reader_buffer_size, least=_LEAST_BUFFER)
        require_duration("max_trigger_delay", self.max_trigger_delay)
        require_duration("max_retry_duration", self.max_retry_duration)
        require_duration("max_shard_skew", self.max_shard_skew, least=timedelta(0))
        require_duration("shard_discovery_interval", self.shard_discovery_interval, least=_LEAST_DISCOVERY)

    def to_dict(self) -> SparkOptions:
        """The options for `spark.readStream.format("kinesis").options(**o.to_dict())`.

        It holds static keys in the clear, for the connector needs them, but its `repr` doesn't show them.
        """
        options = encoded(self) | encoded(self.record_publisher) | encoded(self.credentials) | encoded(self.role)
        for stream in self.per_stream:
            options |= stream.to_dict()
        return SparkOptions(options)

    def _check_streams(self) -> None:
        names = as_tuple(self.stream_name)
        arns = as_tuple(self.stream_arn)
        if bool(names) == bool(arns):
            found = "both were" if names else "neither was"
            raise InvalidOptionError(
                f"stream_name and stream_arn: {found} given, exactly one is needed. Give names with a region, "
                "or ARNs, which carry theirs."
            )
        for name in names:
            require_stream_name("stream_name", name)
        for arn in arns:
            require_stream_arn("stream_arn", arn)
        self._check_per_stream(names, arns)

    def _check_record_publisher(self) -> None:
        publisher = self.record_publisher
        expected = 'Polling() or EnhancedFanOut("the consumer\'s name")'
        require(isinstance(publisher, get_args(RecordPublisher)), "record_publisher", publisher, expected)
        if not isinstance(publisher, EnhancedFanOut):
            return
        names, arns = as_tuple(self.stream_name), as_tuple(self.stream_arn)
        consumed = {stream_of(arn) for arn in publisher.consumer_arns}
        strange = [arn for arn in consumed if arn not in arns and arn.rpartition("/")[2] not in names]
        require(
            not strange, "consumer_arns", strange, f"consumers of the streams that are read: {', '.join(names + arns)}"
        )
        with_consumer = consumed | {arn.rpartition("/")[2] for arn in consumed}
        without = [stream for stream in names + arns if stream not in with_consumer]
        if without and (publisher.consumer_name is None or publisher.registration == "none"):
            raise InvalidOptionError(
                f"record_publisher has no consumer for {', '.join(without)}: give one's ARN in consumer_arns, or a "
                "consumer_name and a registration other than none."
            )

    def _check_per_stream(self, names: tuple[str, ...], arns: tuple[str, ...]) -> None:
        meant: list[str] = []
        for stream in self.per_stream:
            found = stream.stream
            read = [given for given in names + arns if found in (given, given.rpartition("/")[2])]
            require(len(read) > 0, "per_stream", found, f"one of the streams that are read: {', '.join(names + arns)}")
            require(len(read) == 1, "per_stream", found, f"its ARN, as several have the name: {', '.join(read)}")
            meant += read
        twice = sorted({stream for stream in meant if meant.count(stream) > 1})
        require(not twice, "per_stream", ", ".join(twice), "the options of each stream once")


def _require_position(field: str, position: object) -> None:
    valid = position is None or isinstance(position, (StartingPosition, Positions))
    expected = "a StartingPosition, like StartingPosition.trim_horizon(), or Positions, or None"
    require(valid, field, position, expected)
    ends_nowhere = field == "ending_position" and position == StartingPosition.trim_horizon()
    require(not ends_nowhere, field, position, "a later position: nothing comes before the oldest record")


__all__ = ["KinesisOptions", "SparkOptions", "StreamOptions"]
