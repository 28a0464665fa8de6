"""What a figure is worth nothing without: commit, date, seed, command and machine. No host name and no path."""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
_GIB = 1 << 30


def stamp(seed: str, arguments: Sequence[str]) -> dict[str, Any]:
    """The fields that every line of a report carries."""
    return {
        "commit": commit(),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seed": seed,
        "command": shlex.join(["python", "-m", "chaos", *arguments]),
        "machine": machine(),
    }


def commit() -> str:
    """The commit of the sources, with `-dirty` if they have been changed since; `unknown` outside a repository."""
    return (
        _output("git", "-C", str(_ROOT), "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty") or "unknown"
    )


def machine() -> str:
    """Cores, memory, operating system and JVM."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}, {_jvm()}"


def _jvm() -> str:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    properties = dict(
        re.findall(
            r"^\s+(java\.vm\.name|java\.version) = (.+)$",
            _output(java, "-XshowSettings:properties", "-version"),
            re.MULTILINE,
        )
    )
    return f"{properties.get('java.vm.name', 'JVM')} {properties.get('java.version', 'unknown')}"


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
