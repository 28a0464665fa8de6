"""Brings `promtool` and `prometheus`, which try the alert rules: `python prometheus.py DIR` leaves them in DIR/usr/bin.

They are of Debian's package, fetched by name and unpacked, with package lists of its own, so that nothing is installed
and no rights are needed. Without apt-get or the package the tests take what is on PATH, or are skipped.
"""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

PACKAGE = "prometheus"


def main(into: Path) -> None:
    """Fetch and unpack the package, where apt-get is there to do it."""
    apt, unpack = shutil.which("apt-get"), shutil.which("dpkg-deb")
    if apt is None or unpack is None:
        print(f"{PACKAGE} is not fetched: no apt-get here; the tests take what is on PATH")
        return
    with TemporaryDirectory() as directory:
        work = Path(directory)
        for folder in ("state/lists/partial", "cache/archives/partial"):
            (work / folder).mkdir(parents=True)
        settings = {
            "Dir::State": work / "state",
            "Dir::State::status": "/var/lib/dpkg/status",
            "Dir::Cache": work / "cache",
            "APT::Sandbox::User": getpass.getuser(),
        }
        options = [f"-o{name}={value}" for name, value in settings.items()]
        try:
            for command in (["update"], ["download", PACKAGE]):
                run([apt, "-q", *options, *command], work)
            (package,) = work.glob(f"{PACKAGE}_*.deb")
            # It makes the directory itself, but not those above it.
            into.parent.mkdir(parents=True, exist_ok=True)
            run([unpack, "-x", str(package), str(into)], work)
        except subprocess.CalledProcessError as refused:
            print(f"{PACKAGE} is not fetched: {refused.cmd} failed:\n{refused.stdout}")


def run(command: list[str], folder: Path) -> None:
    """Run a command in a folder; its output is only shown if it fails."""
    subprocess.run(
        command,
        cwd=folder,
        check=True,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "LC_ALL": "C"},
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
