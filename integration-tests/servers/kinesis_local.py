"""The npm package `kinesis-local` (kinesis-mock compiled to JavaScript): how it is installed, what command runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from launch import Launch, UnavailableError, free_ports

VERSION = "0.6.2"
# The service's states (CREATING, UPDATING, DELETING) last this long: long enough to be seen, short enough to wait for.
TRANSITION = "300ms"
# What a test run creates in total; the server's default of 50 open shards would refuse some of it.
SHARD_LIMIT = "500"


def install(cache: Path) -> Path:
    """Returns the package's directory under `cache`, fetching it from the npm registry if this version is not there."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise UnavailableError("kinesis-local needs node and npm on PATH")
    package = cache / f"kinesis-local-{VERSION}" / "node_modules" / "kinesis-local"
    if (package / "main.js").exists():
        return package
    prefix = package.parent.parent
    prefix.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--prefix", str(prefix), "--no-save", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(
        [*command, f"kinesis-local@{VERSION}"], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        raise UnavailableError(f"npm could not install kinesis-local@{VERSION}:\n{done.stderr}{done.stdout}")
    return package


def launch(cache: Path, port: int | None) -> Launch:
    package = install(cache)
    plain, tls = free_ports(port, None)
    environment = {
        **os.environ,
        "KINESIS_MOCK_CERT_PATH": str(package / "server.json"),
        "KINESIS_MOCK_PLAIN_PORT": str(plain),
        "KINESIS_MOCK_TLS_PORT": str(tls),
        "SHARD_LIMIT": SHARD_LIMIT,
        "LOG_LEVEL": "WARN",
        "LOAD_DATA_IF_EXISTS": "false",
    }
    for transition in (
        "CREATE_STREAM",
        "DELETE_STREAM",
        "REGISTER_STREAM_CONSUMER",
        "DEREGISTER_STREAM_CONSUMER",
        "START_STREAM_ENCRYPTION",
        "STOP_STREAM_ENCRYPTION",
        "MERGE_SHARDS",
        "SPLIT_SHARD",
        "UPDATE_SHARD_COUNT",
        "UPDATE_STREAM_MODE",
    ):
        environment[f"{transition}_DURATION"] = TRANSITION
    return Launch(["node", str(package / "main.js")], environment, plain, ready_within_s=120)
