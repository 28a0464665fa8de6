#!/usr/bin/env python3
"""Third-party Kinesis emulators, without Docker: install and run them.

    servers.py install kinesis-local                  fetch it once into .cache/
    servers.py run     localstack [--port 4568]       in the foreground, until standard input closes

`run` prints one line, the endpoint, when the server answers. Its log is .cache/run/<server>-<port>.log. The port is a
free one unless given. Only Python's standard library is used; the interpreter may be any from 3.10 on. Exit status: 0
done, 1 the server failed, 2 wrong arguments, 3 the server cannot run on this machine.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType

import kinesis_local
import localstack
from launch import Launch, UnavailableError, one_at_a_time
from supervise import PortTakenError, StoppedError, supervise

SERVERS: dict[str, ModuleType] = {"kinesis-local": kinesis_local, "localstack": localstack}
CACHE = Path(__file__).resolve().parents[2] / ".cache"
RUN = CACHE / "run"
ATTEMPTS = 5


def install(name: str) -> None:
    with one_at_a_time(CACHE, name):
        SERVERS[name].install(CACHE)


def run(name: str, port: int | None) -> None:
    """Another program may get the free port between the look for it and the start; then it is looked for again."""
    install(name)
    for attempts_left in reversed(range(ATTEMPTS if port is None else 1)):
        try:
            run_once(name, port)
            break
        except PortTakenError:
            if not attempts_left:
                raise


def run_once(name: str, port: int | None) -> None:
    launch: Launch = SERVERS[name].launch(CACHE, port)
    RUN.mkdir(parents=True, exist_ok=True)
    supervise(launch, RUN / f"{name}-{launch.port}.log", lambda: print(launch.endpoint, flush=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("install", "run"))
    parser.add_argument("server", choices=sorted(SERVERS))
    parser.add_argument("--port", type=int, help="the port for plain HTTP (a free one)")
    asked = parser.parse_args()
    try:
        if asked.verb == "install":
            install(asked.server)
        else:
            run(asked.server, asked.port)
    except UnavailableError as missing:
        print(f"servers.py: {missing}", file=sys.stderr)
        sys.exit(3)
    except StoppedError as failed:
        print(f"servers.py: {asked.server}: {failed}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
