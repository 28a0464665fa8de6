"""The embedded Kinesis server as a child process that can't outlive its parent.

The child ends when its standard input closes, and the other end of that pipe is held here alone: if this process ends
in whatever way, the kernel closes it.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from kinesis_spark._signature import takes_fields_of
from kinesis_spark.credentials import StaticCredentials
from kinesis_spark.errors import LocalKinesisError
from kinesis_spark.jars import testkit_jar
from kinesis_spark.local.client import KinesisClient, Receipt, Record, StoredRecord, until_allowed
from kinesis_spark.options import KinesisOptions, SourceArguments
from kinesis_spark.position import Position
from kinesis_spark.write import KinesisSinkOptions, SinkArguments

if TYPE_CHECKING:
    from typing_extensions import Unpack

_STOP_S = 10.0
_POLL_S = 0.1
# Longer than the service takes to delete a stream.
_RESET_S = 60.0
_QUOTED_LOG_CHARACTERS = 4000


def server_command(arguments: Sequence[str]) -> list[str]:
    """The command that starts the embedded server.

    Raises:
        LocalKinesisError: if there is no Java.
        JarMissingError: if the server's JAR isn't in this installation.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else None  # noqa: PTH118  (a search path)
    java = java or shutil.which("java")
    if java is None:
        raise LocalKinesisError(
            "Starting the local Kinesis server: no `java` in JAVA_HOME or on PATH. Install Java 17."
        )
    return [java, "-jar", str(testkit_jar()), *arguments]


class LocalKinesis:
    """A local Kinesis server as a context manager.

    ```python
    with LocalKinesis({"orders": 4}) as kinesis:
        kinesis.put_records("orders", [Record("key", b"data")])
        orders = read_stream(spark, kinesis.options("orders"))
    ```

    It starts with the `with` block and ends with it, or with this process if that dies first.
    """

    region = "us-east-1"

    def __init__(
        self,
        streams: Mapping[str, int] | None = None,
        *,
        port: int = 0,
        arguments: Sequence[str] = (),
        log: Path | None = None,
        start_timeout_s: float = 120.0,
    ) -> None:
        """Prepare a server; nothing runs before `start` or the `with` block.

        Args:
            streams: the streams to start with, each with its number of shards.
            port: the port for HTTP; 0 takes a free one.
            arguments: further arguments of the server, see `python -m kinesis_spark.local --help`.
            log: where the server's own output goes; None for a temporary file that is gone after `stop`.
            start_timeout_s: seconds that the start may take.
        """
        self._arguments = [
            "--port",
            str(port),
            "--exit-with-stdin",
            *(part for name, shards in (streams or {}).items() for part in ("--stream", f"{name}:{shards}")),
            *arguments,
        ]
        self._log_path = log
        self._start_timeout_s = start_timeout_s
        self._process: subprocess.Popen[str] | None = None
        self._log: IO[str] | None = None
        self._announced: dict[str, Any] = {}
        self._client: KinesisClient | None = None

    @property
    def endpoint(self) -> str:
        """The server's URL, like `http://127.0.0.1:<port>`.

        Raises:
            LocalKinesisError: if the server doesn't run.
        """
        self._require_running()
        return str(self._announced["endpoint"])

    @property
    def pid(self) -> int:
        """The server's process id.

        Raises:
            LocalKinesisError: if the server doesn't run.
        """
        return self._require_running().pid

    @property
    def client(self) -> KinesisClient:
        """A client for other calls than `put_records`, like resharding.

        Raises:
            LocalKinesisError: if the server doesn't run.
        """
        endpoint = self.endpoint
        if self._client is None:
            self._client = KinesisClient(endpoint, self.region)
        return self._client

    @takes_fields_of(KinesisOptions)
    def options(self, stream: str | Sequence[str], **arguments: Unpack[SourceArguments]) -> KinesisOptions:
        """Options to read from this server, from the oldest record on unless `starting_position` is given.

        Args:
            stream: the stream's name, or several.
            arguments: further options by keyword.
        """
        return KinesisOptions(
            stream_name=stream,
            region=self.region,
            endpoint=self.endpoint,
            credentials=StaticCredentials("local", "local"),
            starting_position=Position.trim_horizon(),
        ).replace(**arguments)

    @takes_fields_of(KinesisSinkOptions)
    def sink_options(self, stream: str | None = None, **arguments: Unpack[SinkArguments]) -> KinesisSinkOptions:
        """Options to write to a stream of this server, or to those that the rows name.

        Args:
            stream: the stream's name, or None.
            arguments: further options by keyword.
        """
        return KinesisSinkOptions(
            stream_name=stream,
            region=self.region,
            endpoint=self.endpoint,
            credentials=StaticCredentials("local", "local"),
        ).replace(**arguments)

    def create_stream(self, stream: str, shards: int = 1) -> None:
        """Create a stream; it is active when this returns."""
        self.client.create_stream(stream, shards)

    def put_records(self, stream: str, records: Sequence[Record]) -> list[Receipt]:
        """Put records into a stream of this server; see `KinesisClient.put_records`."""
        return self.client.put_records(stream, records)

    def read_records(self, stream: str, count: int | None = None, *, timeout_s: float = 30.0) -> list[StoredRecord]:
        """All records of a stream, without Spark; see `KinesisClient.read_records`."""
        return self.client.read_records(stream, count, timeout_s=timeout_s)

    def split(self, stream: str, shard: str) -> None:
        """Split a shard in the middle; see `KinesisClient.split`."""
        self.client.split(stream, shard)

    def merge(self, stream: str, shard: str, adjacent: str) -> None:
        """Merge two shards that are side by side; see `KinesisClient.merge`."""
        self.client.merge(stream, shard, adjacent)

    def advance_clock(self, time: timedelta) -> None:
        """Move the server's clock ahead: iterators expire, subscriptions end, records go past retention.

        Start another server for what needs the present time.

        Raises:
            LocalKinesisError: if the time is negative.
        """
        self.client.control("POST", "clock", {"advanceMillis": time // timedelta(milliseconds=1)})

    def add_fault(  # noqa: PLR0913  (all but the effect are left out mostly)
        self,
        effect: str | Mapping[str, object],
        *,
        action: str | None = None,
        stream: str | None = None,
        shard: str | None = None,
        first: int | None = None,
        probability: float | None = None,
    ) -> None:
        """Have the server fail calls, from now on or a few times.

            kinesis.add_fault("ProvisionedThroughputExceededException", action="PutRecords", first=3)
            kinesis.add_fault({"type": "reset", "at": "afterCall"}, action="PutRecords", first=1)

        Args:
            effect: the code of an error of the service, or an effect as the testkit's page describes it.
            action: which call; None for each.
            stream: of which stream; None for each.
            shard: of which shard; None for each.
            first: how many of these calls; None for all.
            probability: which share of these calls, at random; None for all.

        Raises:
            LocalKinesisError: if the server refuses the rule; the error names the wrong member.
        """
        error = {"type": "serviceCode", "code": effect, "message": "planned by the test", "status": 400}
        rule = {"action": action, "stream": stream, "shard": shard, "first": first, "probability": probability}
        given = {name: value for name, value in rule.items() if value is not None}
        self.client.control("POST", "faults", {**given, "effect": error if isinstance(effect, str) else dict(effect)})

    def clear_faults(self) -> None:
        """Remove all faults."""
        self.client.control("DELETE", "faults")

    def reset(self) -> None:
        """Delete all streams, remove all faults and forget past calls, for the next test. The clock stays as it is.

        Raises:
            LocalKinesisError: if streams are still there after a minute, as on a clock that stands still.
        """
        self.clear_faults()
        deleted: set[str] = set()
        deadline = time.monotonic() + _RESET_S
        while streams := until_allowed(lambda: self.client.call("ListStreams")["StreamNames"], deadline):
            others = set(streams) - deleted
            for stream in others:
                until_allowed(partial(self.client.delete_stream, stream), deadline)
            deleted |= others
            if others:
                continue
            # Streams that are being deleted are still listed.
            if time.monotonic() > deadline:
                raise LocalKinesisError(
                    f"{', '.join(sorted(streams))} at {self.endpoint} are still being deleted after {_RESET_S:g} s. "
                    "On a clock that stands still, advance it first."
                )
            time.sleep(_POLL_S)
        self.client.control("DELETE", "calls")

    def start(self) -> LocalKinesis:
        """Start the server and return once it answers.

        Raises:
            LocalKinesisError: if it runs already, ends at once, or isn't ready in time; its output is quoted.
        """
        if self._process is not None:
            raise LocalKinesisError(f"The local Kinesis server was started already (process {self._process.pid})")
        command = server_command(self._arguments)
        self._log = self._open_log()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            # A Ctrl-C at the terminal is the parent's to handle; the server goes when the parent says so, or goes.
            start_new_session=True,
        )
        try:
            self._announced = self._await_announcement(self._process)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End the server, and wait until it's gone; nothing happens if there is none."""
        if self._client is not None:
            self._client.close()
            self._client = None
        process, self._process = self._process, None
        if process is not None:
            _end(process)
        if self._log is not None:
            self._log.close()
            self._log = None

    def __enter__(self) -> LocalKinesis:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _open_log(self) -> IO[str]:
        if self._log_path is None:
            return tempfile.TemporaryFile("w+", prefix="local-kinesis-", suffix=".log")
        self._log_path.parent.mkdir(parents=True, exist_ok=True)
        return self._log_path.open("w+")

    def _require_running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise LocalKinesisError("The local Kinesis server isn't running: use it inside its `with` block.")
        status = self._process.poll()
        if status is not None:
            raise LocalKinesisError(f"The local Kinesis server has ended with status {status}.{self._quote_log()}")
        return self._process

    def _await_announcement(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        """The one JSON line that the server prints when it is ready."""
        first_line: queue.SimpleQueue[str] = queue.SimpleQueue()
        # Read in a thread, because a pipe can't be waited for with a time limit on every platform. It reads on to the
        # end, so that the server never blocks on a full pipe.
        threading.Thread(target=_drain, args=(process.stdout, first_line), daemon=True).start()
        try:
            line = first_line.get(timeout=self._start_timeout_s)
        except queue.Empty:
            raise LocalKinesisError(
                f"The local Kinesis server wasn't ready after {self._start_timeout_s:g} s.{self._quote_log()}"
            ) from None
        if not line:
            status = process.wait(_STOP_S)
            raise LocalKinesisError(
                f"The local Kinesis server ended with status {status} before it was ready.{self._quote_log()}"
            )
        try:
            announced = json.loads(line)
        except json.JSONDecodeError:
            announced = None
        if not isinstance(announced, dict) or "endpoint" not in announced:
            raise LocalKinesisError(f"The local Kinesis server said {line.strip()!r}, expected JSON with its endpoint")
        return announced

    def _quote_log(self) -> str:
        if self._log is None:
            return ""
        self._log.seek(0)
        text = self._log.read()[-_QUOTED_LOG_CHARACTERS:].strip()
        return f" Its log ends with:\n{text}" if text else " Its log is empty."


def _drain(output: IO[str], first_line: queue.SimpleQueue[str]) -> None:
    with output:
        first_line.put(output.readline())
        for _ in output:
            pass


def _end(process: subprocess.Popen[str]) -> None:
    """Close its standard input, which is its sign to end; use force only on one that doesn't follow."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
