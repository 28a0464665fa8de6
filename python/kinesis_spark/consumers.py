"""The stream consumers of enhanced fan-out, looked after by hand: before a query starts, or without one.

https://docs.aws.amazon.com/streams/latest/dev/enhanced-consumers.html
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from kinesis_spark._declare import values
from kinesis_spark._jvm import call, jvm_of
from kinesis_spark._kinds import EPOCH, MILLISECOND, require
from kinesis_spark._signature import takes_fields_of
from kinesis_spark.fan_out import require_consumer_name
from kinesis_spark.options import KinesisOptions, SourceArguments, source_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from typing_extensions import Unpack


@values
class StreamConsumer:
    """A consumer of a stream, as Kinesis described it.

    https://docs.aws.amazon.com/kinesis/latest/APIReference/API_Consumer.html

    Attributes:
        name: unique within its stream.
        arn: this registration's: registered again under the same name, a consumer has another.
        stream_arn: the stream's.
        status: `CREATING`, `ACTIVE` or `DELETING`; it can be read through while `ACTIVE`.
        created: when it was registered, in UTC.
    """

    name: str
    arn: str
    stream_arn: str
    status: str
    created: datetime


class StreamConsumers:
    """Registers, describes, lists and deregisters the consumers of the streams that some options name.

    Each method deals with all streams of the options, in their order, and blocks. Failed calls are retried as the
    options' `retries` and `max_retry_duration` say.

        consumers = StreamConsumers(spark, stream_name="orders", region="eu-west-1")
        consumers.register("app")
        (consumer,) = consumers.await_active("app")
    """

    @takes_fields_of(KinesisOptions)
    def __init__(
        self, spark: SparkSession, options: KinesisOptions | None = None, **arguments: Unpack[SourceArguments]
    ) -> None:
        """Take up the options; nothing is called yet.

        Args:
            spark: a session with the connector on its class path; not one of Spark Connect, whose JVM is out of reach.
            options: which streams, where, in whose name. The query's own consumer in them is ignored.
            arguments: the same by keyword; beside `options` they replace some of them.

        Raises:
            InvalidOptionError: if an option can't be right.
            JarMissingError: if the session's JVM doesn't have the connector.
            SparkConnectError: if the session has no JVM in this process.
        """
        chosen = source_options(options, arguments)
        self._jvm = jvm_of(
            spark,
            "Stream consumers",
            "Use a classic session or the AWS CLI (`aws kinesis register-stream-consumer`), or let the query register "
            "its own.",
        )
        self._options = chosen.to_dict()

    def register(self, name: str) -> tuple[StreamConsumer, ...]:
        """The consumer of that name of each stream, registered where it doesn't exist.

        It may still be `CREATING`: see `await_active`. Where one of that name is `DELETING`, this waits until it is
        gone.

        Raises:
            InvalidOptionError: if the name, or an option, can't be right.
            KinesisCallError: if Kinesis refuses it, as `KINESIS_CONSUMER_QUOTA` for a stream with as many consumers
                as it may have.
        """
        require_consumer_name("name", name)
        return self._call("register", name)

    def await_active(self, name: str) -> tuple[StreamConsumer, ...]:
        """The consumer of that name of each stream, once all of them are `ACTIVE`.

        It waits as long as `max_retry_duration` and the retries of `DescribeStreamConsumer` allow, by default 15
        minutes.

        Raises:
            InvalidOptionError: if the name, or an option, can't be right.
            KinesisCallError: `KINESIS_NOT_FOUND` where it isn't registered, `KINESIS_CONSUMER_NOT_READY` where it
                takes too long, and others.
        """
        require_consumer_name("name", name)
        return self._call("awaitActive", name)

    def describe(self, name: str) -> tuple[StreamConsumer, ...]:
        """The consumer of that name of each stream that has one.

        Raises:
            InvalidOptionError: if the name, or an option, can't be right.
            KinesisCallError: if Kinesis refuses to answer.
        """
        require_consumer_name("name", name)
        return self._call("describe", name)

    def list(self) -> tuple[StreamConsumer, ...]:
        """All consumers of all streams.

        Raises:
            InvalidOptionError: if an option can't be right.
            KinesisCallError: if there is no such stream, or Kinesis refuses to answer.
        """
        return self._call("list")

    def deregister(self, name: str) -> tuple[StreamConsumer, ...]:
        """Deregister the consumer of that name of each stream that has one.

        Each is `DELETING` for a while after that. A query that reads through it registers it again, unless it was given
        the consumer's ARN: then it fails.

        Returns:
            Those that were deregistered, as they were before.

        Raises:
            InvalidOptionError: if the name, or an option, can't be right.
            KinesisCallError: if Kinesis refuses it.
        """
        require_consumer_name("name", name)
        return self._call("deregister", name)

    def list_old(self, prefix: str, age: timedelta) -> tuple[StreamConsumer, ...]:
        """Consumers whose names begin with `prefix` and that were registered longer ago than `age`.

        Whether one is in use can't be asked of Kinesis. Those that are `DELETING`, and those that queries of this
        application read through, are left out.

        Raises:
            InvalidOptionError: if the prefix, or an option, can't be right.
            KinesisCallError: if Kinesis refuses to answer.
        """
        return self._call("listOld", *_old(prefix, age))

    def deregister_old(self, prefix: str, age: timedelta) -> tuple[StreamConsumer, ...]:
        """Deregister what `list_old` lists, and return it.

        Raises:
            InvalidOptionError: if the prefix, or an option, can't be right.
            KinesisCallError: if Kinesis refuses it.
        """
        return self._call("deregisterOld", *_old(prefix, age))

    def _call(self, method: str, *arguments: object) -> tuple[StreamConsumer, ...]:
        front = self._jvm.io.github.kinesisspark.StreamConsumersJson
        answer = call(getattr(front, method), self._options, *arguments)
        return tuple(_consumer(found) for found in json.loads(answer))


def _old(prefix: str, age: timedelta) -> tuple[str, int]:
    require_consumer_name("prefix", prefix)
    require(isinstance(age, timedelta) and age >= timedelta(0), "age", age, "a datetime.timedelta of 0 or more")
    return prefix, age // MILLISECOND


def _consumer(found: dict[str, Any]) -> StreamConsumer:
    created = EPOCH + timedelta(milliseconds=found["createdMillis"])
    return StreamConsumer(found["name"], found["arn"], found["streamArn"], found["status"], created)


__all__ = ["StreamConsumer", "StreamConsumers"]
