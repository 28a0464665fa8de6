"""Secrets in the heap of the Python process: none stays there once its options are gone."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import gc
import pickle
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from kinesis_spark import (
    Connection,
    CustomCredentials,
    InvalidOptionError,
    KinesisOptions,
    LocalKinesis,
    Record,
    StaticCredentials,
    read_batch,
)

# Put together when it is needed, so that no constant of this module is found in the heap.
_PARTS = ("kept", "in", "heap")


def _secret() -> str:
    return "-".join((*_PARTS, uuid4().hex))


def _in_heap() -> list[str]:
    """The types of the objects that hold a secret, among those that the garbage collector tracks."""
    gc.collect()
    marker = "-".join(_PARTS) + "-"

    def is_secret(held: object) -> bool:
        return isinstance(held, str) and marker in held and held != marker

    # All at once, as a call for each of millions of objects takes a minute.
    holders = gc.get_objects()
    held = gc.get_referents(*holders)
    holders += [holder for holder in held if isinstance(holder, (dict, tuple)) and not gc.is_tracked(holder)]
    if not any(map(is_secret, gc.get_referents(*holders))):
        return []
    return [type(holder).__name__ for holder in holders if any(map(is_secret, gc.get_referents(holder)))]


def test_a_secret_that_is_held_is_found() -> None:
    held = [_secret()]
    assert _in_heap() == ["list"]
    held.clear()
    assert _in_heap() == []


def test_no_secret_stays_in_the_heap_when_options_their_copies_and_their_errors_are_gone() -> None:
    def use() -> None:
        options = KinesisOptions(
            stream_name="orders",
            credentials=StaticCredentials(_secret(), _secret(), _secret()),
            connection=Connection(proxy="http://proxy:1", proxy_user="user", proxy_password=_secret()),
        )
        copies = [options.to_dict(), copy.deepcopy(options), pickle.loads(pickle.dumps(options))]  # noqa: S301
        assert repr([*copies, dataclasses.asdict(options), options.replace(region="eu-west-1")])
        assert hash(options) == hash(copies[1])
        CustomCredentials("com.example.Mine", {"secret": _secret()})
        with contextlib.suppress(InvalidOptionError):
            KinesisOptions(stream_name="", credentials=StaticCredentials(_secret(), _secret()))
        with pytest.raises(InvalidOptionError):
            KinesisOptions(stream_name="orders", credentials=_secret())  # type: ignore[arg-type]

    use()
    assert _in_heap() == []


def test_no_secret_stays_in_the_heap_after_a_read_and_a_read_that_fails(
    spark: SparkSession, kinesis: LocalKinesis
) -> None:
    def use() -> None:
        kinesis.put_records("events", [Record("key", b"data")])
        options = kinesis.options("events", credentials=StaticCredentials(_secret(), _secret(), _secret()))
        assert read_batch(spark, options).count() == 1
        with pytest.raises(Exception, match="no-such-stream"):
            read_batch(spark, options.replace(stream_name="no-such-stream")).count()

    use()
    assert _in_heap() == []
