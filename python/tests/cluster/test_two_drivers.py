"""Two drivers on one checkpoint: one that was taken for lost and comes back, or a program that was submitted twice.

Spark lets one of them write each batch into the offset log. The other fails, and must leave everything to the first.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from kinesis_spark import LocalKinesis

from .cluster_query import ClusterQuery, put, running
from .waiting import wait_until

# The connector's part is tested without a second driver in OwnConsumerSpec.
pytestmark = [pytest.mark.jvm, pytest.mark.slow]

# In both of Spark's errors: of a batch that another driver has planned, and of one that another has committed.
FAILURE = "Multiple streaming"

# The next batch shows it, within seconds; the rest is for a machine that does much else.
FAILS_WITHIN_S = 30

# For so long two readers take a shard's subscription from each other before one of them gives up: half a minute or so.
TAKEOVERS_S = 60

# By fan-out a driver fails in that time: they read through one stream consumer.
IDLE_S = {"polling": 60, "efo": 0}

T = TypeVar("T")

publishers = pytest.mark.parametrize("publisher", ["polling", "efo"])


def driver(directory: Path, kinesis: LocalKinesis, publisher: str) -> ClusterQuery:
    return ClusterQuery(directory, kinesis, "local[2]", publisher=publisher)


def consumers(kinesis: LocalKinesis) -> list[dict[str, Any]]:
    arn = kinesis.client.call("DescribeStreamSummary", StreamName="events")["StreamDescriptionSummary"]["StreamARN"]
    found: list[dict[str, Any]] = kinesis.client.call("ListStreamConsumers", StreamARN=arn)["Consumers"]
    return found


def awaited(look: Callable[[], T | None], what: str, within_s: float) -> T:
    """What `look` finds. Prints how long that took."""
    began = time.monotonic()
    found = wait_until(look, what, within_s)
    print(f"seconds until {what}: {time.monotonic() - began:.1f}")  # noqa: T201
    return found


def failure(query: ClusterQuery) -> str | None:
    """What it ended with, if it has."""
    message: str | None = query.do("progress")["failure"]
    return message


@contextmanager
def stopped(query: ClusterQuery) -> Iterator[None]:
    os.kill(query.driver(), signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(query.driver(), signal.SIGCONT)


@publishers
def test_a_driver_that_comes_back_fails_and_the_one_in_its_place_keeps_checkpoint_and_consumer(
    stream: LocalKinesis, tmp_path: Path, publisher: str
) -> None:
    with ExitStack() as both:
        first = both.enter_context(running(driver(tmp_path, stream, publisher)))
        texts = put(stream, "before", 200)
        wait_until(
            lambda: len(first.written()) == len(texts) and first.commits() == first.batches(), "the first records"
        )
        with stopped(first):
            second = both.enter_context(running(driver(tmp_path, stream, publisher)))
            texts += put(stream, "meanwhile", 200)
            wait_until(lambda: len(second.written()) == len(texts), "the records of the driver in its place")
            registered = consumers(stream)
        ended = awaited(lambda: failure(first), "the end of the driver that comes back", FAILS_WITHIN_S)
        assert FAILURE in ended
        first.stop()
        assert consumers(stream) == registered
        texts += put(stream, "after", 200)
        wait_until(lambda: len(second.written()) == len(texts), "the last records")
        assert second.stop()["failure"] is None
    assert Counter(second.written()) == Counter(texts)
    assert consumers(stream) == []


@publishers
def test_of_two_drivers_on_one_checkpoint_one_fails_and_the_other_reads_each_record_once(
    stream: LocalKinesis, tmp_path: Path, publisher: str
) -> None:
    with running(driver(tmp_path, stream, publisher)) as first:
        texts = put(stream, "before", 200)
        wait_until(lambda: len(first.written()) == len(texts), "the first records")
        registered = consumers(stream)
        with running(driver(tmp_path, stream, publisher)) as second:
            # With nothing to read, nothing shows one that the other is there.
            time.sleep(IDLE_S[publisher])
            assert [failure(first), failure(second)] == [None, None]

            def looked() -> list[ClusterQuery]:
                texts.extend(put(stream, f"{len(texts)}", 20))
                time.sleep(1)
                return [query for query in (first, second) if failure(query)]

            ended = awaited(looked, "the end of one of two drivers", FAILS_WITHIN_S)
            loser, winner = (first, second) if ended == [first] else (second, first)
            assert FAILURE in str(loser.stop()["failure"])
            texts += put(stream, "after", 200)
            wait_until(lambda: len(winner.written()) == len(texts), "the last records")
            assert consumers(stream) == registered
            assert winner.stop()["failure"] is None
    assert Counter(winner.written()) == Counter(texts)
    assert consumers(stream) == []


def test_the_sink_has_a_batch_twice_that_a_driver_ends_after_another_has_taken_its_place(
    stream: LocalKinesis, tmp_path: Path
) -> None:
    stream.create_stream("results", shards=2)

    def started() -> ClusterQuery:
        return ClusterQuery(tmp_path, stream, "local[2]", state="copied", text="labour")

    def results() -> Counter[str]:
        return Counter(record.data.decode() for record in stream.read_records("results"))

    with ExitStack() as both:
        first = both.enter_context(running(started()))
        texts = put(stream, "before", 200)
        wait_until(lambda: set(results()) == set(texts) and first.commits() == first.planned(), "the first records")
        # Seconds of work.
        within = put(stream, "within", 4000)
        wait_until(lambda: first.planned() > first.commits(), "a batch that takes long")
        with stopped(first):
            second = both.enter_context(running(started()))
            texts += within
            wait_until(lambda: set(results()) == set(texts), "the records of the driver in its place")
        ended = awaited(lambda: failure(first), "the end of the driver that comes back", FAILS_WITHIN_S)
        assert FAILURE in ended
        counted = sum(int(sink.get("possibleDuplicates", 0)) for sink in first.do("progress")["sink"])
        first.stop()
        texts += put(stream, "after", 200)
        wait_until(lambda: set(results()) == set(texts), "the last records")
        assert second.stop()["failure"] is None
    found = results()
    repeated = {text for text, count in found.items() if count > 1}
    assert repeated
    assert repeated <= set(within)
    assert set(found.values()) == {1, 2}
    # The calls of both succeed.
    assert counted < len(repeated)


def test_of_two_drivers_by_fan_out_one_fails_though_nothing_is_put(stream: LocalKinesis, tmp_path: Path) -> None:
    with running(driver(tmp_path, stream, "efo")) as first:
        texts = put(stream, "before", 200)
        wait_until(lambda: len(first.written()) == len(texts), "the first records")
        registered = consumers(stream)
        with running(driver(tmp_path, stream, "efo")) as second:
            ended = awaited(
                lambda: [query for query in (first, second) if failure(query)],
                "the end of one of two drivers that have nothing to read",
                TAKEOVERS_S,
            )
            loser, winner = (first, second) if ended == [first] else (second, first)
            assert "[KINESIS_CONSUMER_IN_USE]" in str(loser.stop()["failure"])
            assert consumers(stream) == registered
            texts += put(stream, "after", 200)
            wait_until(lambda: len(winner.written()) == len(texts), "the last records")
            assert winner.stop()["failure"] is None
    assert Counter(winner.written()) == Counter(texts)
    assert consumers(stream) == []
