"""Tests the retries of single calls: the options that they pass to Spark, and the values that are refused."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import pytest

from kinesis_spark import InvalidOptionError, KinesisOptions, KinesisSinkOptions, Retries
from kinesis_spark.options import SourceArguments

ALL_FOUR = Retries(
    max_retries=7, backoff_base=timedelta(seconds=1), backoff_max=timedelta(minutes=1), backoff_exp_const=2
)


def test_retries_of_calls_are_passed_to_spark_by_the_names_of_the_calls() -> None:
    arguments: SourceArguments = {
        "stream_name": "orders",
        "retries": {
            "GetRecords": ALL_FOUR,
            "RegisterStreamConsumer": Retries(max_retries=0),
            "CreateOAuth2Token": Retries(backoff_base="100ms"),
        },
    }
    assert KinesisOptions(**arguments).to_dict() == {
        "streamName": "orders",
        "getRecords.maxRetries": "7",
        "getRecords.backoff.base": "1s",
        "getRecords.backoff.max": "60s",
        "getRecords.backoff.expConst": "2",
        "registerStreamConsumer.maxRetries": "0",
        "createOAuth2Token.backoff.base": "100ms",
    }
    sink = KinesisSinkOptions(retries={"PutRecords": Retries(max_retries=3)})
    assert sink.to_dict() == {"putRecords.maxRetries": "3"}


def test_options_with_retries_compare_hash_and_pickle_by_value() -> None:
    options = KinesisOptions(stream_name="orders", retries={"GetRecords": ALL_FOUR})
    same = pickle.loads(pickle.dumps(options))  # noqa: S301
    assert same == options
    assert hash(same) == hash(options)
    assert options.replace(retries=None) == KinesisOptions(stream_name="orders")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KinesisOptions(stream_name="a", retries={"GetRecord": ALL_FOUR}), "Did you mean 'GetRecords'?"),  # type: ignore[dict-item]
        (lambda: KinesisOptions(stream_name="a", retries={"PutRecords": ALL_FOUR}), "a call, which is one of"),  # type: ignore[dict-item]
        (lambda: KinesisSinkOptions(retries={"GetRecords": ALL_FOUR}), "a call, which is one of"),  # type: ignore[dict-item]
        (lambda: KinesisSinkOptions(retries={"PutRecords": 5}), "Retries by calls"),  # type: ignore[dict-item]
        (lambda: KinesisSinkOptions(retries=ALL_FOUR), "Retries by calls"),  # type: ignore[arg-type]
        (lambda: Retries(max_retries=-1), "at least 0"),
        (lambda: Retries(backoff_base=timedelta(0)), "at least 1 ms"),
        (lambda: Retries(backoff_max=5), "timedelta"),  # type: ignore[arg-type]
        (lambda: Retries(backoff_exp_const=0.5), "at least 1"),
        (lambda: Retries(backoff_exp_const=float("nan")), "at least 1"),
        (lambda: Retries(backoff_base=timedelta(seconds=2), backoff_max=timedelta(seconds=1)), "at most backoff_max"),
    ],
)
def test_invalid_retries_are_refused(make: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidOptionError) as refused:
        make()
    assert message in str(refused.value)
