"""The versions of the build: `python versions.py jar|wheel|NAME`, the latter of project/Versions.scala.

A clean tag `v1.2.3` at the commit is release 1.2.3, of JARs and wheels. All else, also sources without a repository,
is a snapshot of the version to come: `1.2.3-SNAPSHOT` for Maven, `1.2.3.dev0` for PyPI. build.sbt decides the same by
sbt-dynver.
"""

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


def jar(root: Path = VERSIONS.parents[1]) -> str:
    """Of the JARs, as Maven writes it."""
    tag = re.fullmatch(r"v(\d[\w.]*)", _git(root, "describe", "--tags", "--exact-match", "--dirty", "--match=v[0-9]*"))
    return tag[1] if tag else f"{version('project')}-SNAPSHOT"


def wheel(root: Path = VERSIONS.parents[1]) -> str:
    """Of the Python packages, as PyPI writes it."""
    return jar(root).replace("-SNAPSHOT", ".dev0")


def commit() -> str:
    """The short hash of the sources' commit, for what is measured; `unknown` outside a repository."""
    return _git(VERSIONS.parent, "rev-parse", "--short", "HEAD") or "unknown"


def _git(root: Path, *asked: str) -> str:
    try:
        return subprocess.run(["git", *asked], cwd=root, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""


if __name__ == "__main__":
    print({"jar": jar, "wheel": wheel}[sys.argv[1]]() if sys.argv[1] in {"jar", "wheel"} else version(sys.argv[1]))
