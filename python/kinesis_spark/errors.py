"""What this package raises. Each message names what failed, why, and what to do."""

from __future__ import annotations


class KinesisSparkError(Exception):
    """The root of every error raised by this package itself. Errors of Spark and of queries pass through unchanged."""


class InvalidOptionError(KinesisSparkError, ValueError):
    """An option has a value that can't be right; raised before Spark sees it."""


class JarMissingError(KinesisSparkError, RuntimeError):
    """A Spark session (or this installation) is without the connector's or the testkit's JAR in this version."""


class SparkConnectError(KinesisSparkError, RuntimeError):
    """Something needs Spark's JVM in this process, and the session is one of Spark Connect."""


class KinesisCallError(KinesisSparkError, RuntimeError):
    """Kinesis refused a call or didn't answer in time, or a checkpoint doesn't have what was asked of it.

    Attributes:
        error_class: a stable name for it, such as `KINESIS_NOT_FOUND` or `KINESIS_ACCESS_DENIED`.
    """

    def __init__(self, message: str, error_class: str) -> None:
        super().__init__(message)
        self.error_class = error_class

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (str(self), self.error_class)


class LocalKinesisError(KinesisSparkError, RuntimeError):
    """The local Kinesis server didn't start, has ended, or answered with an error."""
