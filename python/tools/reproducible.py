"""Builds the last commit again in a clone elsewhere, and compares the artifacts with those in `dist`, byte by byte.

`make reproducible` builds `dist` first. The clone has the tools of this working tree: .venv and the launcher of sbt.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ARTIFACTS = ("*.jar", "*.whl", "*.tar.gz")


def artifacts(folder: Path) -> dict[str, bytes]:
    """Those of a `dist`, by name."""
    return {file.name: file.read_bytes() for pattern in ARTIFACTS for file in (folder / "dist").glob(pattern)}


def difference(one: Path, other: Path) -> str:
    """In which members two archives differ, if they are of a kind that can be looked into."""
    if not zipfile.is_zipfile(one):
        return "the bytes differ"
    with zipfile.ZipFile(one) as a, zipfile.ZipFile(other) as b:
        if a.namelist() != b.namelist():
            some = sorted(set(a.namelist()) ^ set(b.namelist()))[:10]
            return f"members in one alone: {', '.join(some)}" if some else "the order of members differs"
        some = [name for name in a.namelist() if a.read(name) != b.read(name)]
    return f"{len(some)} members differ: {', '.join(some[:10])}" if some else "times or compression of members differ"


def main() -> None:
    """Ends with status 1 and the names of what differs."""
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    if changed:
        sys.exit(f"The clone has what is committed alone; commit first:\n{changed}")
    with tempfile.TemporaryDirectory(prefix="another-place-") as place:
        clone = Path(place) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        (clone / ".venv").symlink_to(ROOT / ".venv")
        (clone / ".cache").symlink_to(ROOT / ".cache")
        # The environment is older than the clone's files, and good.
        subprocess.run(["make", "--old-file=.venv/.installed", "package"], cwd=clone, check=True)
        own, others = artifacts(ROOT), artifacts(clone)
        differing = [f"{name}: in one dist alone" for name in sorted(own.keys() ^ others.keys())] + [
            f"{name}: {difference(ROOT / 'dist' / name, clone / 'dist' / name)}"
            for name in sorted(own.keys() & others.keys())
            if own[name] != others[name]
        ]
    if differing:
        sys.exit("The same commit gave other bytes elsewhere:\n" + "\n".join(differing))
    print("The same bytes: " + ", ".join(sorted(own)))


if __name__ == "__main__":
    main()
