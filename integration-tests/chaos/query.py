"""The query under test, a program of its own: `python -m chaos.query '<JSON of Settings>'`.

It reads the streams into the sink until its standard input closes, or the query fails. Lines of its standard input are
commands: `restart polling|efo` stops the query and starts it again in the same JVM, `footprint` stops it and reports
what it left in the JVM, after which `restart` is expected, `slow <ms>` makes each batch take longer. It prints lines of
JSON: `{"jvm": pid}` with the session, `{"started": ..., "number": n}` with each query, `{"footprint": ...}`,
`{"query failed": why}` if it starts another one after a failure, `{"failed": why}` if it ends.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as PySpark's own documentation has it)
from pyspark.sql.streaming.query import StreamingQuery

from kinesis_spark import CustomCredentials, EnhancedFanOut, KinesisOptions, Polling, Position, read_stream
from kinesis_spark.jars import connector_jar

from . import footprint
from .processes import SHORT_LIVED
from .sinks import SinkKind, SqliteTable, Written, open_sink

CLASSES = "io.github.kinesisspark.it.chaos"
FAILED = 3
DIED = 9

Trigger = Literal["processing", "availableNow"]
Publisher = Literal["polling", "efo"]

_LOOK_S = 0.2
# The connector keeps an unused client for a minute.
_SETTLE_S = 90.0


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of the program.

    Attributes:
        crash_point: where the driver dies or its disk fails: three words, see `plan.CrashPoint`; None for nowhere.
        jar: the classes that bring it about.
        deregister: whether a query that stops deregisters its consumer.
        starts_again: whether a query that failed is started again in the same JVM, where the program ends otherwise.
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
    crash_point: str | None
    jar: str
    deregister: bool
    starts_again: bool = False
    jvm_options: str = ""

    @property
    def temporary(self) -> tuple[Path, Path]:
        """Spark's directory for temporary files, and the JVM's."""
        return Path(self.directory) / "spark-local", Path(self.directory) / "tmp"

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Settings:
        values: dict[str, Any] = json.loads(text)
        return Settings(**{**values, "streams": tuple(values["streams"])})


def credentials_delay(directory: Path) -> Path:
    """The file with the milliseconds for which the credentials provider of a trial's queries waits, if it is there."""
    return directory / "credentials-delay"


def session(settings: Settings) -> SparkSession:
    """A session that starts quickly and gives up within seconds on executors that don't answer."""
    # On the class path itself, because executors start by the hundred and needn't fetch the JARs each.
    jars = f"{connector_jar()}:{settings.jar}"
    local, temporary = settings.temporary
    temporary.mkdir(exist_ok=True)
    options = f"{SHORT_LIVED} -Djava.io.tmpdir={temporary} {settings.jvm_options}"
    builder = SparkSession.Builder().appName("chaos")
    configuration = {
        "spark.driver.extraClassPath": jars,
        "spark.executor.extraClassPath": jars,
        "spark.master": settings.master,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": options,
        "spark.executor.extraJavaOptions": options,
        "spark.local.dir": str(local),
        "spark.ui.enabled": "false",
        # Spark keeps what its UI would show, up to these numbers.
        "spark.ui.retainedJobs": "20",
        "spark.ui.retainedStages": "20",
        "spark.ui.retainedTasks": "100",
        "spark.sql.ui.retainedExecutions": "20",
        "spark.sql.streaming.numRecentProgressUpdates": "5",
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
        "spark.conductor.maxConsecutiveAttempts": "100",
        "spark.sql.streaming.checkpointFileManagerClass": f"{CLASSES}.CrashingCheckpointFiles",
        "spark.extraListeners": f"{CLASSES}.CrashingTasks",
        "spark.hadoop.chaos.crashPoint": settings.crash_point or "none",
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


def reading(settings: Settings, publisher: Publisher) -> KinesisOptions:
    """The default options, but for those that every query must set, and a limit, so that a trial has many batches."""
    fan_out = EnhancedFanOut("chaos", deregister_on_stop=settings.deregister)
    return KinesisOptions(
        stream_name=settings.streams,
        region="us-east-1",
        endpoint=settings.endpoint,
        credentials=CustomCredentials(
            f"{CLASSES}.SlowCredentials", {"file": str(credentials_delay(Path(settings.directory)))}
        ),
        starting_position=Position.trim_horizon(),
        record_publisher=fan_out if publisher == "efo" else Polling(),
        max_records_per_trigger=settings.max_records,
    )


def die(jvm: int) -> None:
    """SIGKILL to the driver, which is a JVM and this process."""
    os.kill(jvm, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


class Pace:
    """How long each batch waits before it is written."""

    def __init__(self) -> None:
        self.millis = 0
        self._changed = threading.Event()

    def set(self, millis: int) -> None:
        self.millis = millis
        self._changed.set()

    def wait(self) -> None:
        """Until the time is over, or the pace is changed."""
        self._changed.clear()
        self._changed.wait(self.millis / 1000)


def upsert(table: SqliteTable, crash_point: str | None, jvm: int, pace: Pace) -> Callable[[DataFrame, int], None]:
    """The function for `foreachBatch`; it kills the driver at a crash point of the sink."""
    what, where, number = crash_point.split() if crash_point else ("none", "", "0")
    batches = 0

    def at(moment: str) -> None:
        if where == "sink" and what == moment and batches == int(number):
            die(jvm)

    def write(rows: DataFrame, batch: int) -> None:
        nonlocal batches
        batches += 1
        pace.wait()
        at("before")
        table.write(batch, [Written(*row) for row in rows.collect()], lambda: at("within"))
        at("after")

    return write


class Commands:
    """The lines of standard input, which a thread of its own reads; its end is the last command."""

    END = "end"

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> str | None:
        """The next one, or None if there is none within a moment."""
        try:
            return self._lines.get(timeout=_LOOK_S)
        except queue.Empty:
            return None

    def _read(self) -> None:
        for line in sys.stdin:
            self._lines.put(line.strip())
        self._lines.put(Commands.END)


class Session:
    """One query after the other on the trial's checkpoint, in one JVM."""

    def __init__(self, spark: SparkSession, settings: Settings, jvm: int) -> None:
        self._spark, self._settings, self._jvm = spark, settings, jvm
        self._publisher = settings.publisher
        self._pace = Pace()
        sink = open_sink(settings.sink, Path(settings.directory))
        self._write = upsert(sink, settings.crash_point, jvm, self._pace) if isinstance(sink, SqliteTable) else None
        self._first: tuple[int, footprint.Footprint] | None = None

    def run(self) -> None:
        """Until standard input closes; a query that ends with what there is, or by command, is followed by another."""
        commands, number, command = Commands(), 0, None
        while command != Commands.END:
            query, command = self._start(), None
            number += 1
            say({"started": time.time(), "number": number})
            while query.isActive and command is None:
                command = self._paced(commands.next())
            failure = query.exception()
            if failure is not None and not self._settings.starts_again:
                raise failure
            if failure is not None:
                say({"query failed": str(failure), "number": number})
            query.stop()
            if command == "footprint":
                say({"footprint": self._settled(number).to_json()})
                command = None
                while command is None:
                    command = commands.next()
            self._obey(command)

    def _paced(self, command: str | None) -> str | None:
        """The command, unless it is about the pace, which is changed then."""
        match (command or "").split():
            case ["slow", millis]:
                self._pace.set(int(millis))
                return None
        return command

    def _obey(self, command: str | None) -> None:
        match (command or "").split():
            case ["restart", ("polling" | "efo") as publisher]:
                self._pace.set(0)
                self._publisher = publisher

    def _settled(self, starts: int) -> footprint.Footprint:
        """The JVM's footprint after so many starts, once it has not grown since the first one, or after some time."""
        until = time.monotonic() + _SETTLE_S
        now = self._footprint()
        if self._first is None:
            self._first = starts, now
        before, first = self._first
        while footprint.growth(first, now, starts - before) and time.monotonic() < until:
            time.sleep(1)
            now = self._footprint()
        return now

    def _footprint(self) -> footprint.Footprint:
        port = urlsplit(self._settings.endpoint).port
        if port is None:
            raise ValueError(f"{self._settings.endpoint} has no port")
        return footprint.take(self._spark, self._jvm, port, self._settings.temporary)

    def _start(self) -> StreamingQuery:
        """Starts the query; it writes files if the sink is Spark's."""
        settings, directory = self._settings, Path(self._settings.directory)
        rows = read_stream(self._spark, reading(settings, self._publisher)).select(
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
        if self._write is not None:
            return writer.foreachBatch(self._write).start()
        return writer.format("parquet").option("path", str(directory / "out")).start()


def say(line: dict[str, object]) -> None:
    """To the harness."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main(text: str) -> int:
    """Run it; the exit status distinguishes a query that failed from a driver that died."""
    settings = Settings.from_json(text)
    spark = session(settings)
    process = spark.sparkContext._jvm.java.lang.ProcessHandle.current()  # type: ignore[union-attr]  # noqa: SLF001
    jvm = int(process.pid())
    say({"jvm": jvm, "at": time.time()})
    try:
        Session(spark, settings, jvm).run()
    except Exception as failure:  # noqa: BLE001  (the harness judges all failures)
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
