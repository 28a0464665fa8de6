"""Spark sessions for pip users: the bundled connector JAR is put on the class path before the JVM starts.

Where the JAR comes by `--packages`, or spark-submit has it already, none of this is needed, and nothing is added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinesis_spark._submitted import (
    SPARK_JARS,
    SPARK_PACKAGES,
    add_to_arguments,
    defaults,
    gateway_of_submit,
    joined,
    packages_have_connector,
)
from kinesis_spark.errors import JarMissingError
from kinesis_spark.jars import connector_jar, how_to_add, on_class_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def builder(app_name: str, master: str | None = None) -> SparkSession.Builder:
    """A session builder that has the connector.

    Args:
        app_name: the application's name in Spark's UI.
        master: the master's URL, like `local[2]`; None leaves it to the environment, as spark-submit does.

    Raises:
        JarMissingError: if the JAR isn't in this installation, or Spark's JVM already runs without it.
    """
    from pyspark.sql import SparkSession

    fresh = SparkSession.Builder().appName(app_name)
    return with_kinesis(fresh if master is None else fresh.master(master))


def with_kinesis(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Add the connector JAR to those that a session of this builder would have without it.

    These are the ones of the builder's `spark.jars`, of `PYSPARK_SUBMIT_ARGS` and of spark-defaults.conf. Where
    spark-submit has started the program with the connector (`--jars`, `--packages`, or among Spark's own JARs), or
    `spark.jars.packages` of one of the three names it, the builder is left as it is.

    Args:
        builder: any session builder, before `getOrCreate`.

    Raises:
        JarMissingError: if the JAR isn't in this installation, or Spark's JVM already runs without it.
    """
    jvm = gateway_of_submit()
    if jvm is not None:
        if on_class_path(jvm):
            return builder
        raise JarMissingError(
            "Adding the kinesis-spark JAR to a session builder: Spark's JVM already runs in this process, and it was "
            f"started without the JAR; its class path is fixed. Call spark-submit with {how_to_add()}. Elsewhere "
            "restart the process (in a notebook: the kernel) and use "
            "kinesis_spark.session before any other session is created."
        )
    options = builder._options  # noqa: SLF001  (no public way to read a builder)
    if packages_have_connector(str(options.get(SPARK_PACKAGES, ""))):
        return builder
    jar = str(connector_jar())
    own = [jar for jar in str(options.get(SPARK_JARS, "")).split(",") if jar]
    # Arguments first, as spark-submit has it.
    given = add_to_arguments(jar) or own or defaults(SPARK_JARS)
    return builder.config(SPARK_JARS, joined(given, [jar]))
