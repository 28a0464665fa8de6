"""Programs that tests run in processes of their own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

import pytest

# Where `make test-all` installs what Spark Connect needs beside PySpark, for the Python of `.venv`.
CONNECT_PACKAGES = Path(__file__).resolve().parents[2] / ".cache" / "spark-connect"


def connect_path() -> str:
    """PYTHONPATH of a program with a session of Spark Connect; skips the test where its packages aren't installed."""
    if find_spec("grpc"):
        return ""
    if not CONNECT_PACKAGES.is_dir():
        pytest.skip("Spark Connect's Python packages aren't installed: `make test-all` does that")
    return str(CONNECT_PACKAGES)


def outside_make() -> dict[str, str]:
    """The environment of a make that isn't part of the loop that runs the test."""
    return {name: value for name, value in os.environ.items() if name not in {"TEST_LOOP", "MAKEFLAGS", "MFLAGS"}}


def output(
    command: Sequence[str],
    *,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> str:
    """What the program prints; the test fails with the end of what it said if the program does."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=timeout_s,
        check=False,
        env=environment,
        cwd=folder,
    )
    assert done.returncode == 0, f"{raised(done.stderr)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout


def raised(said: str) -> str:
    """What ended a Python program, and where: a JVM that it leaves behind may say much more after that."""
    _, traceback, rest = said.rpartition("Traceback (most recent call last):\n")
    lines = rest.splitlines()
    frames = list(takewhile(lambda line: line.startswith(" "), lines))
    return "\n".join(lines[len(frames) : len(frames) + 1] + frames) if traceback else "no traceback of Python"
