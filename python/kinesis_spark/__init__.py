"""Amazon Kinesis Data Streams for Apache Spark Structured Streaming, from Python.

The connector itself is a JAR (in the wheel). This package gives it typed options, a session helper, stream consumers,
shards and positions, and a local Kinesis server for tests. Importing it starts no JVM and needs no PySpark.
"""

from __future__ import annotations

from kinesis_spark import functions, positions, session
from kinesis_spark.cloud_watch import CloudWatch
from kinesis_spark.connection import Connection
from kinesis_spark.consumers import StreamConsumer, StreamConsumers
from kinesis_spark.credentials import (
    AssumedRole,
    Credentials,
    CustomCredentials,
    DefaultCredentials,
    ProfileCredentials,
    StaticCredentials,
    WebIdentityCredentials,
)
from kinesis_spark.errors import (
    InvalidOptionError,
    JarMissingError,
    KinesisCallError,
    KinesisSparkError,
    LocalKinesisError,
    SparkConnectError,
)
from kinesis_spark.fan_out import Deregistration, EnhancedFanOut, Polling, RecordPublisher, Registration
from kinesis_spark.functions import sequence_key
from kinesis_spark.jars import require_jar
from kinesis_spark.local import LocalKinesis, Record
from kinesis_spark.monitor import KinesisMonitor
from kinesis_spark.options import AnyPosition, KinesisOptions, StreamOptions
from kinesis_spark.position import Position
from kinesis_spark.positions import Positions
from kinesis_spark.read import read_batch, read_stream
from kinesis_spark.retries import Retries, SinkCall, SourceCall
from kinesis_spark.shards_view import plot_shards, shards
from kinesis_spark.write import BadRecords, KinesisSinkOptions, write_batch, write_stream

__all__ = [
    "AnyPosition",
    "AssumedRole",
    "BadRecords",
    "CloudWatch",
    "Connection",
    "Credentials",
    "CustomCredentials",
    "DefaultCredentials",
    "Deregistration",
    "EnhancedFanOut",
    "InvalidOptionError",
    "JarMissingError",
    "KinesisCallError",
    "KinesisMonitor",
    "KinesisOptions",
    "KinesisSinkOptions",
    "KinesisSparkError",
    "LocalKinesis",
    "LocalKinesisError",
    "Polling",
    "Position",
    "Positions",
    "ProfileCredentials",
    "Record",
    "RecordPublisher",
    "Registration",
    "Retries",
    "SinkCall",
    "SourceCall",
    "SparkConnectError",
    "StaticCredentials",
    "StreamConsumer",
    "StreamConsumers",
    "StreamOptions",
    "WebIdentityCredentials",
    "functions",
    "plot_shards",
    "positions",
    "read_batch",
    "read_stream",
    "require_jar",
    "sequence_key",
    "session",
    "shards",
    "write_batch",
    "write_stream",
]
