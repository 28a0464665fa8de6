"""Waiting for what another process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(look: Callable[[], T | None], what: str, timeout_s: float = 600.0) -> T:
    """What `look` finds, as soon as it finds anything."""
    deadline = time.monotonic() + timeout_s
    while not (found := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not seen within {timeout_s} s")
        time.sleep(0.1)
    return found
