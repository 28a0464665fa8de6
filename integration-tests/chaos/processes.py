"""The processes of a run: the query's Python, its JVM and the JVMs of its executors, all in one process group."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import pyspark

_EXECUTOR = "CoarseGrainedExecutorBackend"
_STOP_S = 300
_LOOK_S = 0.05
# For a JVM that runs some seconds: no second compiler, no threads for collecting.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
ROOT = Path(__file__).resolve().parents[1]


class Program:
    """A module of this package, running; its standard input carries commands, and its end is the request to end.

    It isn't waited for before `kill_all`: as long as it isn't, its process id, which is its group's too, can't become
    that of others, who must not be killed.
    """

    def __init__(self, module: str, arguments: Sequence[str], log: Path, output: IO[str] | None = None) -> None:
        with log.open("a") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"chaos.{module}", *arguments],
                stdin=subprocess.PIPE,
                stdout=output or errors,
                stderr=errors,
                cwd=ROOT,
                start_new_session=True,
                env={
                    **os.environ,
                    "SPARK_HOME": str(Path(pyspark.__file__).parent),
                    "PYSPARK_PYTHON": sys.executable,
                    "SPARK_LAUNCHER_OPTS": SHORT_LIVED,
                },
            )
        self.pid = self._process.pid

    @property
    def status(self) -> int | None:
        """How it ended, as `Popen` has it; None while it runs."""
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def command(self, line: str) -> None:
        """A line to its standard input, if it is still there to read it."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            with suppress(BrokenPipeError):
                self._process.stdin.write(f"{line}\n".encode())
                self._process.stdin.flush()

    def request_end(self) -> None:
        if self._process.stdin is not None and not self._process.stdin.closed:
            with suppress(BrokenPipeError):
                self._process.stdin.close()

    def finish(self) -> int:
        """Ask it to end and wait.

        Raises:
            TimeoutError: if it doesn't.
        """
        self.request_end()
        until = time.monotonic() + _STOP_S
        while (status := self.status) is None:
            if time.monotonic() > until:
                raise TimeoutError(f"process {self.pid} still runs {_STOP_S} s after it was asked to end")
            time.sleep(_LOOK_S)
        return status

    def drivers(self) -> list[int]:
        """The query's Python and its JVM."""
        return [pid for pid, arguments in self._group() if _EXECUTOR not in arguments]

    def executors(self) -> list[int]:
        return [pid for pid, arguments in self._group() if _EXECUTOR in arguments]

    def kill_driver(self) -> None:
        """SIGKILL to Python and JVM; executors find out by themselves, as on a cluster."""
        send(signal.SIGKILL, self.drivers())

    def kill_all(self) -> None:
        """Leave nothing behind. The last call on it."""
        if self._process.returncode is None:
            send(signal.SIGKILL, [pid for pid, _ in self._group()])
            self._process.wait()

    def _group(self) -> list[tuple[int, str]]:
        listing = subprocess.run(
            ["ps", "-wweo", "pgid=,pid=,stat=,args="], capture_output=True, text=True, check=True
        ).stdout
        members = (line.split(None, 3) for line in listing.splitlines())
        return [
            (int(words[1]), words[3])
            for words in members
            if words[0] == str(self.pid) and not words[2].startswith("Z") and len(words) > 3  # noqa: PLR2004
        ]


def send(number: signal.Signals, pids: Sequence[int]) -> None:
    """A signal to each that is still there."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
