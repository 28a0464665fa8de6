"""LocalStack from PyPI, serving Kinesis only: how it is installed and what command runs it.

LocalStack answers SubscribeToShard itself and hands every other call to a `kinesis-local` 0.4.9 that it fetches from
the npm registry on its first request.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from launch import Launch, UnavailableError, free_ports

PYTHON = (3, 11)
REQUIREMENTS = Path(__file__).with_name("localstack-requirements.txt")
# As in kinesis_local.py, in milliseconds.
TRANSITION_MS = "300"
SHARD_LIMIT = "500"


def find_python() -> str:
    if sys.version_info[:2] == PYTHON:
        return sys.executable
    found = shutil.which("python{}.{}".format(*PYTHON))
    if found is None:
        raise UnavailableError("LocalStack 4.4.0 needs Python {}.{}, which is not on PATH".format(*PYTHON))
    return found


def install(cache: Path) -> Path:
    """Returns the Python of a virtual environment under `cache` that holds exactly the pinned requirements."""
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            raise UnavailableError(f"LocalStack's Kinesis needs {tool} on PATH")
    environment = cache / "localstack-venv"
    python = environment / "bin" / "python"
    stamp = environment / "installed-requirements"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    steps = (
        [find_python(), "-m", "venv", "--clear", str(environment)],
        [
            str(python),
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "--no-deps",
            "-r",
            str(REQUIREMENTS),
        ],
    )
    for step in steps:
        done = subprocess.run(step, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise UnavailableError(f"LocalStack could not be installed: {' '.join(step)}\n{done.stderr}{done.stdout}")
    stamp.write_text(wanted)
    return python


def launch(cache: Path, port: int | None) -> Launch:
    if not sys.platform.startswith("linux") and sys.platform != "darwin":
        raise UnavailableError(f"LocalStack does not run on {sys.platform} without Docker")
    python = install(cache)
    (listen,) = free_ports(port)
    environment = {
        **os.environ,
        "SERVICES": "kinesis",
        "GATEWAY_LISTEN": f"127.0.0.1:{listen}",
        "KINESIS_LATENCY": TRANSITION_MS,
        "KINESIS_SHARD_LIMIT": SHARD_LIMIT,
        "KINESIS_PERSISTENCE": "0",
        "EAGER_SERVICE_LOADING": "0",
        # LocalStack must keep to its own directory and its own port: no files in /var/lib, no certificate from afar, no
        # telemetry, no name server. Inside a container it would otherwise take itself for its own image.
        "OVERRIDE_IN_DOCKER": "0",
        "FILESYSTEM_ROOT": str(cache / "localstack"),
        "SKIP_SSL_CERT_DOWNLOAD": "1",
        "DISABLE_EVENTS": "1",
        "DNS_ADDRESS": "0",
    }
    return Launch([str(python), "-m", "localstack.runtime.main"], environment, listen, ready_within_s=300)
