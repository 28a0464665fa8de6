"""The Kinesis that the demo runs on: the embedded server, or a third-party emulator. Both end with this process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kinesis_spark import LocalKinesis
from kinesis_spark.local import KinesisClient


@dataclass(frozen=True, slots=True)
class Load:
    """What a server can take: shards of the stream, events in all, and a second."""

    shards: int
    events: int
    rate: int


# kinesis-local, which LocalStack runs too, takes longer for a record the more its shard holds: 1.1 ms with 10,000, on
# one core that serves the readers as well. So there are more shards and fewer events, over the same time.
LOADS = {
    "testkit": Load(shards=4, events=80_000, rate=2_000),
    "kinesis-local": Load(shards=8, events=12_000, rate=300),
    "localstack": Load(shards=8, events=12_000, rate=300),
}
_THIRD_PARTY = Path(__file__).resolve().parents[2] / "integration-tests" / "servers" / "servers.py"
_STOP_S = 20


@contextmanager
def running(name: str, stream: str, shards: int, log: Path) -> Iterator[str]:
    """The endpoint of a server that has the stream, for as long as the block runs.

    Raises:
        RuntimeError: if the server didn't start; says where its log is.
    """
    if name == "testkit":
        with LocalKinesis({stream: shards}, log=log) as server:
            yield server.endpoint
        return
    command = [sys.executable, str(_THIRD_PARTY), "run", name]
    with log.open("w") as output:
        server_process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            start_new_session=True,
        )
    try:
        endpoint = server_process.stdout.readline().strip() if server_process.stdout else ""
        if not endpoint:
            raise RuntimeError(f"Starting {name}: it ended with status {server_process.wait()}; its log is {log}")
        KinesisClient(endpoint).create_stream(stream, shards)
        yield endpoint
    finally:
        if server_process.stdin is not None:
            server_process.stdin.close()  # its sign to end, and to take the server along
        try:
            server_process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            server_process.terminate()
            server_process.wait()
