"""What this package raises. Each message says what was being done, what was found, and what to do next."""

from __future__ import annotations


class KinesisSparkError(Exception):
    """The root of every error raised by this package itself (Spark's and the connector's come through as they are)."""


class InvalidOptionError(KinesisSparkError, ValueError):
    """An option has a value that can't be right; raised before Spark sees it."""


class JarMissingError(KinesisSparkError, RuntimeError):
    """A Spark session (or this installation) is without the connector's or the testkit's JAR."""


class StreamConsumerError(KinesisSparkError, RuntimeError):
    """Kinesis refused what was wanted of a stream consumer, or didn't do it in time.

    Attributes:
        error_class: a stable name for it, such as `KINESIS_CONSUMER_QUOTA` or `KINESIS_ACCESS_DENIED`.
    """

    def __init__(self, message: str, error_class: str) -> None:
        super().__init__(message)
        self.error_class = error_class


class ShardListError(KinesisSparkError, RuntimeError):
    """Kinesis refused to tell a stream's shards.

    Attributes:
        error_class: a stable name for it, such as `KINESIS_NOT_FOUND` or `KINESIS_ACCESS_DENIED`.
    """

    def __init__(self, message: str, error_class: str) -> None:
        super().__init__(message)
        self.error_class = error_class


class PositionError(KinesisSparkError, RuntimeError):
    """Positions could not be found: Kinesis refused to tell, or a checkpoint doesn't have them.

    Attributes:
        error_class: a stable name for it, such as `KINESIS_NOT_FOUND` or `KINESIS_OFFSET_REFUSED`.
    """

    def __init__(self, message: str, error_class: str) -> None:
        super().__init__(message)
        self.error_class = error_class


class LocalKinesisError(KinesisSparkError, RuntimeError):
    """The local Kinesis server didn't start, has ended, or answered with an error."""
