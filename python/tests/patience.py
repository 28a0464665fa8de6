"""How long tests wait for what takes seconds on a free machine; only one that fails waits so long."""

from __future__ import annotations

import time
from collections.abc import Callable

from pyspark.sql.streaming.query import StreamingQuery

PATIENCE_S = 300


def until(condition: Callable[[], bool], query: StreamingQuery) -> None:
    """Wait, as long as the query runs; its failure is raised."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        # Looked at first: what a query brings before its end is there when it has ended.
        active = query.isActive
        if condition():
            return
        if (error := query.exception()) is not None:
            raise error
        assert active, "the query has ended before what was waited for"
        assert time.monotonic() < deadline, f"not seen within {PATIENCE_S} s"
        time.sleep(0.1)
