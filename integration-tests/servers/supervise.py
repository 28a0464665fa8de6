"""One server process from its start to its certain end.

The supervisor is the server's parent. It lives until its standard input closes, and takes the server and all of the
server's own children with it when it goes: then, on SIGTERM, on SIGINT. Should the supervisor itself be killed
outright, Linux sends the server a SIGTERM (parent-death signal).
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from launch import Launch

# A kinesis call that changes nothing; that it answers means the whole way through the server works.
LIST_STREAMS = {
    "X-Amz-Target": "Kinesis_20131202.ListStreams",
    "Content-Type": "application/x-amz-json-1.1",
    "Authorization": "AWS4-HMAC-SHA256 Credential=test/20240101/us-east-1/kinesis/aws4_request,"
    " SignedHeaders=host;x-amz-date, Signature=0",
    "X-Amz-Date": "20240101T000000Z",
}
GRACE_S = 5.0
STARTING_TICK_S = 0.1
SERVING_TICK_S = 0.5


def is_stdin_open(seconds: float) -> bool:
    """Waits at most so long for its end, and says whether that has not come."""
    readable, _, _ = select.select([0], [], [], seconds)
    return not readable or os.read(0, 4096) != b""


class StoppedError(Exception):
    """The server ended, or was stopped, before it was ready."""


class PortTakenError(StoppedError):
    """Somebody else listens on the server's port."""


def start_time(pid: int) -> str | None:
    """Distinguishes a process from a later one with the same id; None if there is none."""
    shown = subprocess.run(
        ["ps", "-o", "lstart=,stat=", "-p", str(pid)], check=False, capture_output=True, text=True
    ).stdout.strip()
    if not shown or shown.split()[-1].startswith("Z"):
        return None
    return " ".join(shown.split()[:-1])


def family(pid: int) -> list[int]:
    """The process and all its descendants, whatever groups and sessions they moved to."""
    children: dict[int, list[int]] = {}
    for line in subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="], check=False, capture_output=True, text=True
    ).stdout.splitlines():
        child, parent = (int(n) for n in line.split())
        children.setdefault(parent, []).append(child)
    found = [pid]
    for member in found:
        found.extend(children.get(member, []))
    return found


def end(server: subprocess.Popen[bytes]) -> None:
    """Asks the server to end, then makes sure of it and of everything it started."""
    members = [(pid, start_time(pid)) for pid in family(server.pid)]
    server.terminate()
    try:
        server.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
    for pid, started in members:
        if started is not None and start_time(pid) == started:
            with suppress(ProcessLookupError):  # it may end between the look and the kill
                os.kill(pid, signal.SIGKILL)


def answers(endpoint: str) -> bool:
    request = urllib.request.Request(endpoint, data=b"{}", headers=LIST_STREAMS)
    try:
        # No proxy: a proxy of the environment knows nothing of this machine's own ports.
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def die_with_parent() -> None:
    """Runs in the child before exec. PR_SET_PDEATHSIG is 1; other systems than Linux have no such call."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def supervise(launch: Launch, log: Path, ready: Callable[[], None]) -> None:
    """Starts the server, calls `ready` once it answers, and returns after the server is gone."""

    def interrupted(number: int, _frame: object) -> None:
        raise KeyboardInterrupt(number)

    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGINT, interrupted)
    with log.open("wb") as output:
        server = subprocess.Popen(
            launch.command,
            env=dict(launch.environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=log.parent,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        try:
            deadline = time.monotonic() + launch.ready_within_s
            while not answers(launch.endpoint):
                if server.poll() is not None:
                    taken = b"address already in use" in log.read_bytes().lower()
                    raise (PortTakenError if taken else StoppedError)(
                        f"the server exited with status {server.returncode} before it was ready; see {log}"
                    )
                if time.monotonic() > deadline:
                    raise StoppedError(f"the server did not answer within {launch.ready_within_s:.0f} s; see {log}")
                if not is_stdin_open(STARTING_TICK_S):
                    raise StoppedError("nobody waits for the server any more")
            ready()
            while server.poll() is None and is_stdin_open(SERVING_TICK_S):
                pass
            if server.poll() is not None:
                raise StoppedError(f"the server exited by itself with status {server.returncode}; see {log}")
        except KeyboardInterrupt:
            pass  # stopped by its user: that is no error
        finally:
            end(server)
