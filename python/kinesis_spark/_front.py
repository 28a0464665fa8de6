"""How this package calls the connector's Scala objects that answer in JSON: what every such call has in common."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kinesis_spark.errors import InvalidOptionError, JarMissingError
from kinesis_spark.jars import require_jar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def jvm_of(spark: SparkSession, what: str, instead: str) -> Any:  # noqa: ANN401  (py4j's view of a JVM)
    """The session's JVM, where the connector is.

    Args:
        spark: the session.
        what: what is dealt with there, as the beginning of a sentence.
        instead: what to do where the JVM is out of reach.

    Raises:
        JarMissingError: if the session's JVM doesn't have the connector, or can't be reached.
    """
    require_jar(spark)
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        raise JarMissingError(f"{what} are dealt with in Spark's JVM, out of Spark Connect's reach. {instead}")
    return jvm


def call(method: Any, *arguments: object) -> Any:  # noqa: ANN401  (whatever the JSON holds)
    """What a Scala method that answers in JSON has to say.

    Raises:
        InvalidOptionError: if an option can't be right.
        py4j.protocol.Py4JJavaError: for all else; see `error_of`.
    """
    from pyspark.errors import IllegalArgumentException

    try:
        return json.loads(method(*arguments))
    except IllegalArgumentException as refused:
        raise InvalidOptionError(str(refused)) from None


def error_of(failure: Any) -> tuple[str, str]:  # noqa: ANN401  (py4j's view of a Java exception)
    """The message of a Java exception, and the stable name of its class of errors."""
    message = failure.getMessage() or failure.toString()
    kind = "KINESIS_CALL_FAILED"
    if message.startswith("[") and "]" in message:
        kind = message[1 : message.index("]")]
    return message, kind
