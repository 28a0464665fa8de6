"""Classes that every driver and executor would load and check anew, in a file that the JVM maps: it halves their start.

https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html. The JVM itself sees whether an archive fits its
class path, and goes without if it doesn't.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from kinesis_spark import LocalKinesis
from kinesis_spark.jars import connector_jar
from kinesis_spark.local import Record

from .processes import Program
from .query import Publisher, Settings
from .sinks import SinkKind, open_sink

_RECORDS = 100
_LOOK_S = 0.2
_WAIT_S = 600.0


def options(directory: Path, jar: Path) -> str:
    """JVM options that use the archive in the directory, which is made if it isn't newer than the JARs."""
    archive = directory / "classes.jsa"
    newest = max(jar.stat().st_mtime, Path(connector_jar()).stat().st_mtime)
    if not archive.exists() or archive.stat().st_mtime < newest:
        _make(archive, jar)
    return f"-XX:SharedArchiveFile={archive} -Xlog:cds=off -Xlog:cds+dynamic=off"


def _make(archive: Path, jar: Path) -> None:
    """Runs a query once, and lets its JVM write down what it has loaded."""
    archive.unlink(missing_ok=True)
    _read_once(jar, "sqlite", "efo", f"-XX:ArchiveClassesAtExit={archive} -Xlog:cds=off -Xlog:cds+dynamic=off")


def _read_once(jar: Path, sink: SinkKind, publisher: Publisher, jvm_options: str) -> None:
    with tempfile.TemporaryDirectory(prefix="chaos-") as name, LocalKinesis({"s0": 2}) as kinesis:
        directory = Path(name)
        kinesis.put_records("s0", [Record(f"k{i}", b"data") for i in range(_RECORDS)])
        settings = Settings(
            directory=name,
            endpoint=kinesis.endpoint,
            streams=("s0",),
            sink=sink,
            trigger="processing",
            publisher=publisher,
            max_records=_RECORDS,
            master="local[2]",
            crash_point=None,
            jar=str(jar),
            deregister=True,
            jvm_options=jvm_options,
        )
        query = Program("query", [settings.to_json()], directory / "log")
        try:
            until = time.monotonic() + _WAIT_S
            while open_sink(sink, directory).count() < _RECORDS and query.status is None and time.monotonic() < until:
                time.sleep(_LOOK_S)
            query.finish()
            # The JVM ends after the program, and writes the archive then.
            while query.drivers() and time.monotonic() < until:
                time.sleep(_LOOK_S)
        finally:
            query.kill_all()
