"""Amazon Kinesis Data Streams for Apache Spark Structured Streaming, from Python.

The connector itself is a JAR (in the wheel); this package gives it typed options, a session helper, a way to look
after stream consumers, and a local Kinesis server for tests.
"""

from kinesis_spark import session
from kinesis_spark.consumers import StreamConsumer, StreamConsumers
from kinesis_spark.credentials import (
    AssumedRole,
    Credentials,
    DefaultCredentials,
    ProfileCredentials,
    ProviderClass,
    StaticCredentials,
)
from kinesis_spark.errors import (
    InvalidOptionError,
    JarMissingError,
    KinesisSparkError,
    LocalKinesisError,
    StreamConsumerError,
)
from kinesis_spark.fan_out import EnhancedFanOut, Polling, RecordPublisher, Registration, Retries
from kinesis_spark.jars import require_jar
from kinesis_spark.local import LocalKinesis
from kinesis_spark.options import KinesisOptions, SparkOptions, StreamOptions
from kinesis_spark.position import StartingPosition
from kinesis_spark.read import read_stream

__all__ = [
    "AssumedRole",
    "Credentials",
    "DefaultCredentials",
    "EnhancedFanOut",
    "InvalidOptionError",
    "JarMissingError",
    "KinesisOptions",
    "KinesisSparkError",
    "LocalKinesis",
    "LocalKinesisError",
    "Polling",
    "ProfileCredentials",
    "ProviderClass",
    "RecordPublisher",
    "Registration",
    "Retries",
    "SparkOptions",
    "StartingPosition",
    "StaticCredentials",
    "StreamConsumer",
    "StreamConsumerError",
    "StreamConsumers",
    "StreamOptions",
    "read_stream",
    "require_jar",
    "session",
]
