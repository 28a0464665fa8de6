"""A process of the demo: started with a log, ended by its own id, and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType

_HERE = Path(__file__).parent
_STOP_S = 30
_QUOTED_CHARACTERS = 3000


class Process:
    """A Python script of this directory, in a process group of its own (a PySpark driver has a JVM beside it)."""

    def __init__(self, script: str, *arguments: object, log: Path, output: Path | None = None) -> None:
        """Start it; standard output goes to `output`, the rest to `log`."""
        self.name = script
        self.log = log
        with log.open("a") as errors, (output or log).open("a") as lines:
            self._process = subprocess.Popen(
                [sys.executable, str(_HERE / script), *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=lines,
                stderr=errors,
                start_new_session=True,
            )

    def check(self) -> None:
        """Raise if it has failed.

        Raises:
            RuntimeError: with the end of its log.
        """
        if self._process.poll() not in (None, 0):
            text = self.log.read_text(errors="replace")[-_QUOTED_CHARACTERS:]
            raise RuntimeError(
                f"{self.name} ended with status {self._process.returncode}. {self.log} ends with:\n{text}"
            )

    def kill(self) -> None:
        """SIGKILL to the whole group, at once and without notice: the crash that the demo is about."""
        # Once it has been waited for, its number may be another's.
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def finish(self) -> None:
        """Close its standard input, which is its sign to end well; kill it if it doesn't."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill()
