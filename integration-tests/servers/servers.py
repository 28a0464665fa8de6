#!/usr/bin/env python3
"""Third-party Kinesis emulators, without Docker: install, run, start and stop them.

    servers.py install kinesis-local                  fetch it once into .cache/
    servers.py run     localstack                     in the foreground, until standard input closes
    servers.py start   kinesis-local --while $$       in the background, while that process lives; prints the endpoint
    servers.py stop    kinesis-local [--port 4568]    those that were started, by their recorded process ids

Every start prints one line, the endpoint, when the server answers. Log and process id are under .cache/run/, named
`<server>-<port>`. Ports are free ones unless given. Only Python's standard library is used; the interpreter may be any
from 3.10 on. Exit status: 0 done, 1 the server failed, 2 wrong arguments, 3 the server cannot run on this machine.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import kinesis_local
import localstack
from launch import Launch, UnavailableError, one_at_a_time
from supervise import (
    GRACE_S,
    Lease,
    PortTakenError,
    StoppedError,
    UntilStdinCloses,
    WhileProcessLives,
    start_time,
    supervise,
)

SERVERS: dict[str, ModuleType] = {"kinesis-local": kinesis_local, "localstack": localstack}
CACHE = Path(__file__).resolve().parents[2] / ".cache"
RUN = CACHE / "run"
ATTEMPTS = 5


def install(name: str) -> None:
    with one_at_a_time(CACHE, name):
        SERVERS[name].install(CACHE)


def run(name: str, port: int | None, lease: Lease) -> None:
    """Another program may get the free port between the look for it and the start; then it is looked for again."""
    install(name)
    for attempts_left in reversed(range(ATTEMPTS if port is None else 1)):
        try:
            run_once(name, port, lease)
            break
        except PortTakenError:
            if not attempts_left:
                raise


def run_once(name: str, port: int | None, lease: Lease) -> None:
    launch: Launch = SERVERS[name].launch(CACHE, port)
    RUN.mkdir(parents=True, exist_ok=True)
    pid_file = RUN / f"{name}-{launch.port}.pid"
    pid_file.write_text(f"{os.getpid()}\n{start_time(os.getpid())}\n")
    try:
        supervise(launch, lease, RUN / f"{name}-{launch.port}.log", lambda: print(launch.endpoint, flush=True))
    finally:
        pid_file.unlink(missing_ok=True)


def start(name: str, port: int | None, owner: int) -> None:
    """Leaves a supervisor behind that ends with `owner`, and returns once the server answers or has failed."""
    install(name)
    command = [sys.executable, __file__, "run", name, "--while", str(owner)]
    if port is not None:
        command += ["--port", str(port)]
    supervisor = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    endpoint = supervisor.stdout.readline() if supervisor.stdout else ""
    if not endpoint:
        sys.exit(supervisor.wait())
    print(endpoint, end="", flush=True)


def stop(name: str, port: int | None) -> None:
    for pid_file in sorted(RUN.glob(f"{name}-{port or '*'}.pid")):
        pid_text, started = pid_file.read_text().split("\n")[:2]
        pid = int(pid_text)
        if start_time(pid) != started:
            pid_file.unlink(missing_ok=True)  # a killed supervisor's; the number may be another process's by now
            continue
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 2 * GRACE_S
        while start_time(pid) == started:
            if time.monotonic() > deadline:
                sys.exit(f"servers.py: {name} (process {pid}) did not stop")
            time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("install", "run", "start", "stop"))
    parser.add_argument("server", choices=sorted(SERVERS))
    parser.add_argument("--port", type=int, help="the port for plain HTTP (a free one)")
    parser.add_argument("--while", dest="owner", type=int, metavar="PID", help="live as long as this process does")
    asked = parser.parse_args()
    try:
        if asked.verb == "install":
            install(asked.server)
        elif asked.verb == "run":
            lease = UntilStdinCloses() if asked.owner is None else WhileProcessLives(asked.owner)
            run(asked.server, asked.port, lease)
        elif asked.verb == "start":
            start(asked.server, asked.port, asked.owner or os.getppid())
        else:
            stop(asked.server, asked.port)
    except UnavailableError as missing:
        print(f"servers.py: {missing}", file=sys.stderr)
        sys.exit(3)
    except StoppedError as failed:
        print(f"servers.py: {asked.server}: {failed}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
