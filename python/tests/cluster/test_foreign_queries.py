"""Two applications whose queries read through one stream consumer, each with a checkpoint of its own."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from kinesis_spark import LocalKinesis

from .cluster_query import ClusterQuery, put, running
from .waiting import wait_until

# In one JVM, FanOutFaultsSpec tests it without a cluster.
pytestmark = [pytest.mark.jvm, pytest.mark.slow]

# It took 38 s; the rest is for a machine that does much else.
FAILS_WITHIN_S = 200


def test_the_second_of_two_applications_on_one_stream_consumer_fails_and_the_first_reads_on(
    stream: LocalKinesis, tmp_path: Path
) -> None:
    def started(name: str) -> ClusterQuery:
        directory = tmp_path / name
        directory.mkdir()
        return ClusterQuery(directory, stream, "local-cluster[1,1,1024]", publisher="efo")

    with running(started("first")) as first:
        texts = put(stream, "before", 200)
        wait_until(lambda: len(first.written()) == len(texts), "the first records")
        with running(started("second")) as second:
            deadline = time.monotonic() + FAILS_WITHIN_S
            while (look := second.do("progress"))["active"]:
                assert time.monotonic() < deadline, "the second query still runs"
                texts += put(stream, f"{len(texts)}", 20)
                time.sleep(5)
            assert "[KINESIS_CONSUMER_IN_USE]" in look["failure"]
            second.stop()
        texts += put(stream, "after", 200)
        wait_until(lambda: len(first.written()) == len(texts), "the last records")
        assert first.stop()["failure"] is None
    assert Counter(first.written()) == Counter(texts)
