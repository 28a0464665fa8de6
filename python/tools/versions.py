"""Prints a version from `project/Versions.scala`, the only place that holds one: `python versions.py spark`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

VERSIONS = Path(__file__).resolve().parents[2] / "project" / "Versions.scala"


def version(name: str) -> str:
    """The version called `name` in `Versions.scala`.

    Raises:
        KeyError: if there is none of that name.
    """
    match = re.search(rf'val {re.escape(name)}\s*=\s*"([^"]+)"', VERSIONS.read_text())
    if match is None:
        raise KeyError(f"{VERSIONS} has no `val {name}`: add it there, or ask for one of the names it has")
    return match.group(1)


def commit() -> str:
    """The short hash of the sources' commit, for what is measured; `unknown` outside a repository."""
    asked = ["git", "-C", str(VERSIONS.parent), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


if __name__ == "__main__":
    print(version(sys.argv[1]))
