"""What the tests on clusters share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kinesis_spark import LocalKinesis

from .cluster_query import SHARDS


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[LocalKinesis]:
    """A server of the test's own, with the stream `events`."""
    with LocalKinesis({"events": SHARDS}, log=tmp_path / "local-kinesis.log") as server:
        yield server
