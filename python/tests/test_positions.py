"""Positions of a progress, in each form in which PySpark gives it, and of a batch; of real queries in test_batch.py."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kinesis_spark import InvalidOptionError, KinesisOptions, positions
from kinesis_spark.monitor import KinesisMonitor
from kinesis_spark.shards_view import _offset_of

ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
OFFSET = {"version": 1, "streams": {ARN: {"created": 1, "shards": {}}}}
# As the JVM writes it: offsets that are JSON are objects.
REPORT: dict[str, Any] = {
    "id": "q-1",
    "name": "orders",
    "batchId": 7,
    "timestamp": "2026-01-31T08:00:00.000Z",
    "sources": [
        {"description": "other", "startOffset": None, "endOffset": 5},
        {"description": "KinesisSource[orders]", "startOffset": None, "endOffset": OFFSET},
    ],
}


class AsDict(dict[str, Any]):
    """As PySpark 4 has it; on Spark Connect of 4.0 with offsets as Python shows them."""

    @property
    def json(self) -> str:
        return json.dumps(REPORT)


def with_offsets_as(write: Any) -> dict[str, Any]:  # noqa: ANN401
    sources = [{**source, "endOffset": write(source["endOffset"])} for source in REPORT["sources"]]
    return {**REPORT, "sources": sources}


FORMS = [
    pytest.param(REPORT, id="lastProgress of PySpark 3.5"),
    pytest.param(SimpleNamespace(json=json.dumps(REPORT)), id="a listener's progress of PySpark 3.5"),
    pytest.param(AsDict(with_offsets_as(json.dumps)), id="PySpark 4"),
    pytest.param(AsDict(with_offsets_as(str)), id="Spark Connect of PySpark 4.0"),
    pytest.param(with_offsets_as(json.dumps), id="a copy as a dict"),
]


@pytest.mark.parametrize("progress", FORMS)
def test_positions_after_a_progress_are_found_in_each_form_of_it(progress: Any) -> None:  # noqa: ANN401
    assert json.loads(positions.after_progress(progress, 1).json) == OFFSET
    for source, message in ((0, "no offset of a Kinesis source"), (2, "2 sources")):
        with pytest.raises(InvalidOptionError, match=message):
            positions.after_progress(progress, source)


@pytest.mark.parametrize("progress", FORMS)
def test_the_offset_of_a_query_is_found_in_each_form_of_its_progress(progress: Any) -> None:  # noqa: ANN401
    query: Any = SimpleNamespace(lastProgress=progress)
    options = KinesisOptions(stream_name="orders")
    assert json.loads(_offset_of(query, options, None)) == OFFSET
    assert json.loads(_offset_of(query, options, 1)) == OFFSET


@pytest.mark.parametrize("progress", FORMS)
def test_the_monitor_knows_the_sources_in_each_form_of_a_progress(progress: Any) -> None:  # noqa: ANN401
    monitor = KinesisMonitor()
    monitor.observe(progress)
    (sample,) = monitor.samples("orders")
    assert [source.streams for source in sample.sources] == [("orders",)]


def test_a_query_without_progress_has_no_offset_yet() -> None:
    query: Any = SimpleNamespace(lastProgress=None)
    assert _offset_of(query, KinesisOptions(stream_name="orders"), 1) == ""
    with pytest.raises(InvalidOptionError, match="0 sources"):
        positions.after_progress(query.lastProgress)


def test_a_batch_s_number_that_is_given_as_a_text_reaches_the_jvm_as_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(_session: object, _checkpoint: str, number: object, _source: str) -> str:
        return json.dumps({"number": number})

    scala = SimpleNamespace(afterBatch=found, beforeBatch=found)
    monkeypatch.setattr(positions, "_scala", lambda _: scala)
    spark, text = cast("Any", None), cast("Any", "7")
    for at in (positions.after_batch(spark, "checkpoint", text), positions.before_batch(spark, "checkpoint", text)):
        assert at.json == '{"number": 7}'
    assert positions.after_batch(spark, "checkpoint").json == '{"number": -1}'
    with pytest.raises(InvalidOptionError, match="batch='seven' is not valid"):
        positions.before_batch(spark, "checkpoint", cast("Any", "seven"))


def test_a_checkpoint_that_is_given_as_a_path_reaches_the_jvm_as_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(_session: object, checkpoint: object, _number: int, _source: str) -> str:
        # py4j knows no paths.
        assert type(checkpoint) is str
        return json.dumps({"checkpoint": checkpoint})

    monkeypatch.setattr(positions, "_scala", lambda _: SimpleNamespace(afterBatch=found, beforeBatch=found))
    spark, path = cast("Any", None), PurePosixPath("/data/checkpoint")
    for at in (positions.after_batch(spark, path), positions.before_batch(spark, path, 7)):
        assert at.json == '{"checkpoint": "/data/checkpoint"}'
