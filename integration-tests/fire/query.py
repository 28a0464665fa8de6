"""The query under fire, a program of its own: `python -m fire.query '<JSON of Settings>'`.

It reads the streams into the sink until its standard input closes, or the query fails. What becomes of it, it tells in
lines of JSON: `{"jvm": pid}` with the session, `{"started": ...}` with the query, `{"failed": why}`.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as PySpark's own documentation has it)
from pyspark.sql.streaming.query import StreamingQuery

from kinesis_spark import EnhancedFanOut, KinesisOptions, Polling, StartingPosition, StaticCredentials, read_stream
from kinesis_spark.fan_out import Retries
from kinesis_spark.jars import connector_jar

from .processes import SHORT_LIVED
from .sinks import SinkKind, SqliteTable, Written, open_sink

FAILED = 3
DIED = 9

Trigger = Literal["processing", "availableNow"]
Publisher = Literal["polling", "efo"]

_LOOK_S = 0.2


@dataclass(frozen=True, slots=True)
class Settings:
    """All that the program is told.

    Attributes:
        peril: what befalls it: three words, see `plan.Peril`; None for nothing.
        jar: what has the classes that bring it about.
        jvm_options: further ones.
    """

    directory: str
    endpoint: str
    streams: tuple[str, ...]
    sink: SinkKind
    trigger: Trigger
    publisher: Publisher
    max_records: int
    master: str
    peril: str | None
    jar: str
    deregister: bool
    jvm_options: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Settings:
        values: dict[str, Any] = json.loads(text)
        return Settings(**{**values, "streams": tuple(values["streams"])})


def session(settings: Settings) -> SparkSession:
    """A session that is soon there, and gives up on executors that don't answer within seconds."""
    name = "io.github.kinesisspark.it.fire."
    # On the class path itself, because executors start by the hundred and needn't fetch them each.
    jars = f"{connector_jar()}:{settings.jar}"
    options = f"{SHORT_LIVED} {settings.jvm_options}"
    builder = SparkSession.Builder().appName("fire")
    configuration = {
        "spark.driver.extraClassPath": jars,
        "spark.executor.extraClassPath": jars,
        "spark.master": settings.master,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": options,
        "spark.executor.extraJavaOptions": options,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        # A few rows at a time aren't worth a compiler.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.executor.heartbeatInterval": "1s",
        # Local mode has no executors to lose, but would count itself as one.
        "spark.network.timeout": "8s" if settings.master.startswith("local-cluster") else "120s",
        "spark.network.timeoutInterval": "2s",
        "spark.deploy.maxExecutorRetries": "-1",
        # Executors are killed by the dozen, and each takes the tasks that it runs along.
        "spark.task.maxFailures": "100",
        "spark.stage.maxConsecutiveAttempts": "100",
        "spark.sql.streaming.checkpointFileManagerClass": f"{name}PerilousFiles",
        "spark.extraListeners": f"{name}PerilousTasks",
        "spark.hadoop.fire.peril": settings.peril or "none",
        # Spark takes a first offset that was never finished for another query's checkpoint, and would not start again.
        "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
        # What the file sink's log says of each batch is read at the end.
        "spark.sql.streaming.fileSink.log.cleanupDelay": "10d",
        "spark.sql.streaming.fileSink.log.compactInterval": "50",
    }
    for key, value in configuration.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    return spark


def reading(settings: Settings) -> KinesisOptions:
    """How it reads."""
    patient = Retries(max_retries=20, backoff_base=timedelta(milliseconds=300), backoff_max=timedelta(seconds=1))
    fan_out = EnhancedFanOut("fire", deregister_on_stop=settings.deregister, subscribe_to_shard=patient)
    return KinesisOptions(
        stream_name=settings.streams,
        region="us-east-1",
        endpoint=settings.endpoint,
        credentials=StaticCredentials("local", "local"),
        starting_position=StartingPosition.trim_horizon(),
        record_publisher=fan_out if settings.publisher == "efo" else Polling(),
        max_records_per_trigger=settings.max_records,
        shard_discovery_interval=timedelta(seconds=1),
        reader_buffer_size=16 * 1024 * 1024,
    )


def die(jvm: int) -> None:
    """SIGKILL to the driver, which is a JVM and this process."""
    os.kill(jvm, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def upsert(table: SqliteTable, peril: str | None, jvm: int) -> Callable[[DataFrame, int], None]:
    """What `foreachBatch` calls; dies where the peril says, if it is about the sink."""
    what, where, number = peril.split() if peril else ("none", "", "0")
    batches = 0

    def at(moment: str) -> None:
        if where == "sink" and what == moment and batches == int(number):
            die(jvm)

    def write(rows: DataFrame, batch: int) -> None:
        nonlocal batches
        batches += 1
        at("before")
        table.write(batch, [Written(*row) for row in rows.collect()], lambda: at("within"))
        at("after")

    return write


def start(spark: SparkSession, settings: Settings, write: Callable[[DataFrame, int], None] | None) -> StreamingQuery:
    """Start the query on the trial's checkpoint; into files if there is nothing to call."""
    directory = Path(settings.directory)
    rows = read_stream(spark, reading(settings)).select(
        F.col("streamName").alias("stream"),
        F.col("shardId").alias("shard"),
        F.col("sequenceNumber").alias("sequence"),
        F.col("partitionKey").alias("key"),
        F.col("data").cast("string").alias("data"),
    )
    writer = rows.writeStream.option("checkpointLocation", str(directory / "checkpoint"))
    writer = (
        writer.trigger(availableNow=True)
        if settings.trigger == "availableNow"
        else writer.trigger(processingTime="0 seconds")
    )
    if write is not None:
        return writer.foreachBatch(write).start()
    return writer.format("parquet").option("path", str(directory / "out")).start()


def run(spark: SparkSession, settings: Settings, jvm: int) -> None:
    """Until standard input closes: one query, or one after the other if each ends with what there is."""
    sink = open_sink(settings.sink, Path(settings.directory))
    write = upsert(sink, settings.peril, jvm) if isinstance(sink, SqliteTable) else None
    told_to_end = False
    while not told_to_end:
        query = start(spark, settings, write)
        say({"started": time.time()})
        while query.isActive and not told_to_end:
            told_to_end = bool(select.select([sys.stdin], [], [], _LOOK_S)[0])
        failure = query.exception()
        if failure is not None:
            raise failure
        query.stop()


def say(line: dict[str, object]) -> None:
    """To the harness."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main(text: str) -> int:
    """Run it; the exit status tells a query that failed from a driver that died."""
    settings = Settings.from_json(text)
    spark = session(settings)
    process = spark.sparkContext._jvm.java.lang.ProcessHandle.current()  # type: ignore[union-attr]  # noqa: SLF001
    jvm = int(process.pid())
    say({"jvm": jvm, "at": time.time()})
    try:
        run(spark, settings, jvm)
    except Exception as failure:  # noqa: BLE001  (whatever it is, it is for the harness to judge)
        try:
            os.kill(jvm, 0)
            spark.sparkContext.version  # noqa: B018  (asks the JVM)
        except Exception:  # noqa: BLE001
            return DIED
        say({"failed": str(failure)})
        return FAILED
    spark.stop()
    return 0


if __name__ == "__main__":
    # A dead JVM leaves threads behind that wait for it.
    os._exit(main(sys.argv[1]))
