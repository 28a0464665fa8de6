"""How this package calls the connector's Scala objects: what every such call has in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinesis_spark.errors import InvalidOptionError, KinesisCallError, SparkConnectError
from kinesis_spark.jars import require_jar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def jvm_of(spark: SparkSession, what: str, instead: str) -> Any:  # noqa: ANN401  (py4j's view of a JVM)
    """The session's JVM, where the connector is.

    Args:
        spark: the session.
        what: what needs the JVM, as the beginning of a sentence.
        instead: what to do where the JVM is out of reach.

    Raises:
        JarMissingError: if the session's JVM doesn't have the connector.
        SparkConnectError: if the session has no JVM in this process.
    """
    require_jar(spark)
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        raise SparkConnectError(f"{what} need Spark's JVM, which a Spark Connect session doesn't reach. {instead}")
    return jvm


def scala_session(spark: SparkSession) -> Any:  # noqa: ANN401
    """The session as Scala has it."""
    return getattr(spark, "_jsparkSession", None)


def call(method: Any, *arguments: object) -> str:  # noqa: ANN401  (py4j's view of a method)
    """The text that a Scala method returns.

    Raises:
        InvalidOptionError: if an option can't be right.
        KinesisCallError: for all other failures.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import IllegalArgumentException

    try:
        return str(method(*arguments))
    except IllegalArgumentException as refused:
        raise InvalidOptionError(str(refused)) from None
    except Py4JJavaError as failed:
        raise KinesisCallError(*_error_of(failed.java_exception)) from failed


def _error_of(failure: Any) -> tuple[str, str]:  # noqa: ANN401  (py4j's view of a Java exception)
    """The message of a Java exception, and the stable name of its class of errors."""
    message = failure.getMessage() or failure.toString()
    kind = "KINESIS_CALL_FAILED"
    if message.startswith("[") and "]" in message:
        kind = message[1 : message.index("]")]
    return message, kind
