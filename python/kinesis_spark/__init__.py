"""Amazon Kinesis Data Streams for Apache Spark Structured Streaming, from Python.

The connector itself is a JAR (in the wheel); this package gives it typed options, a session helper, ways to look
after stream consumers, at shards and at positions, and a local Kinesis server for tests.
"""

from kinesis_spark import positions, session
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
    PositionError,
    ShardListError,
    StreamConsumerError,
)
from kinesis_spark.fan_out import Deregistration, EnhancedFanOut, Polling, RecordPublisher, Registration, Retries
from kinesis_spark.jars import require_jar
from kinesis_spark.local import LocalKinesis
from kinesis_spark.options import KinesisOptions, SparkOptions, StreamOptions
from kinesis_spark.position import StartingPosition
from kinesis_spark.positions import Positions
from kinesis_spark.read import read_batch, read_stream
from kinesis_spark.shard_tree import plot_shards, shards
from kinesis_spark.write import BadRecords, KinesisSinkOptions, write_batch, write_stream

__all__ = [
    "AssumedRole",
    "BadRecords",
    "Credentials",
    "DefaultCredentials",
    "Deregistration",
    "EnhancedFanOut",
    "InvalidOptionError",
    "JarMissingError",
    "KinesisOptions",
    "KinesisSinkOptions",
    "KinesisSparkError",
    "LocalKinesis",
    "LocalKinesisError",
    "Polling",
    "PositionError",
    "Positions",
    "ProfileCredentials",
    "ProviderClass",
    "RecordPublisher",
    "Registration",
    "Retries",
    "ShardListError",
    "SparkOptions",
    "StartingPosition",
    "StaticCredentials",
    "StreamConsumer",
    "StreamConsumerError",
    "StreamConsumers",
    "StreamOptions",
    "plot_shards",
    "positions",
    "read_batch",
    "read_stream",
    "require_jar",
    "session",
    "shards",
    "write_batch",
    "write_stream",
]
