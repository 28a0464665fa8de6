"""Amazon Kinesis Data Streams for Apache Spark Structured Streaming, from Python.

The connector itself is a JAR (in the wheel); this package gives it typed options, a session helper, and a local Kinesis
server for tests.
"""

from kinesis_spark import session
from kinesis_spark.credentials import (
    AssumedRole,
    Credentials,
    DefaultCredentials,
    ProfileCredentials,
    ProviderClass,
    StaticCredentials,
)
from kinesis_spark.errors import InvalidOptionError, JarMissingError, KinesisSparkError, LocalKinesisError
from kinesis_spark.jars import require_jar
from kinesis_spark.local import LocalKinesis
from kinesis_spark.options import KinesisOptions, RecordPublisher, SparkOptions, StreamOptions
from kinesis_spark.position import StartingPosition
from kinesis_spark.read import read_stream

__all__ = [
    "AssumedRole",
    "Credentials",
    "DefaultCredentials",
    "InvalidOptionError",
    "JarMissingError",
    "KinesisOptions",
    "KinesisSparkError",
    "LocalKinesis",
    "LocalKinesisError",
    "ProfileCredentials",
    "ProviderClass",
    "RecordPublisher",
    "SparkOptions",
    "StartingPosition",
    "StaticCredentials",
    "StreamOptions",
    "read_stream",
    "require_jar",
    "session",
]
