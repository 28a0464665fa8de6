"""What a server's own module gives the supervisor: a command, its environment, a port, and how long it may take.

Also what those modules share: the failure to name, free ports, and one installation at a time.
"""

from __future__ import annotations

import fcntl
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path


class UnavailableError(Exception):
    """The server cannot run on this machine; the message says what is missing."""


@dataclass(frozen=True)
class Launch:
    command: Sequence[str]
    environment: Mapping[str, str]
    port: int
    ready_within_s: float

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def free_ports(*wanted: int | None) -> list[int]:
    """Distinct ports that nobody listens on now, each the one asked for or any; all are held until the last is found.

    A taken port is refused here, because whoever listens on it would answer in the new server's place.
    """
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in wanted]
        for s, port in zip(sockets, wanted, strict=True):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port or 0))
            except OSError as refused:
                raise UnavailableError(f"port {port} cannot be used: {refused.strerror}") from refused
        return [s.getsockname()[1] for s in sockets]


@contextmanager
def one_at_a_time(cache: Path, name: str) -> Iterator[None]:
    """Two builds may start the same server at once; the second finds what the first installed."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
