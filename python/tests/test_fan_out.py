"""Tests EnhancedFanOut: the options that it passes to Spark, and the values that it refuses."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest

from kinesis_spark import EnhancedFanOut, InvalidOptionError, KinesisOptions, Polling

STREAM = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
ORDERS = f"{STREAM}/consumer/app:1525898737"
REFUNDS = ORDERS.replace("stream/orders", "stream/refunds")


def handed(publisher: Polling | EnhancedFanOut, **more: Any) -> dict[str, str]:  # noqa: ANN401
    return dict(KinesisOptions(**({"stream_name": "orders"} | more), record_publisher=publisher).to_dict())


def test_polling_sets_options_only_if_it_differs_from_the_default() -> None:
    assert handed(Polling()) == {"streamName": "orders"}
    with pytest.raises(InvalidOptionError, match="calls_per_second"):
        Polling(calls_per_second=6)
    fewer = handed(Polling(calls_per_second=2))
    assert fewer == {"streamName": "orders", "recordPublisher": "polling", "polling.callsPerSecond": "2"}


def test_consumer_name_is_the_only_required_fan_out_option() -> None:
    assert handed(EnhancedFanOut("app")) == {
        "streamName": "orders",
        "recordPublisher": "efo",
        "efo.consumerName": "app",
    }


def test_tags_are_a_mapping_or_a_text_and_refused_as_aws_would() -> None:
    tagged = EnhancedFanOut("app", tags={"team": "data", "note": "a=b"})
    assert handed(tagged)["efo.tags"] == "team=data,note=a=b"
    assert EnhancedFanOut("app", tags="team=data, note=a=b") == tagged
    assert hash(pickle.loads(pickle.dumps(tagged))) == hash(tagged)  # noqa: S301
    wrong: list[Any] = ["team", {"aws:team": "x"}, {"": "x"}, {"a": 1}, {str(n): "" for n in range(51)}, "a=1,a=2", 7]
    for tags in wrong:
        with pytest.raises(InvalidOptionError, match="tags"):
            EnhancedFanOut("app", tags=tags)
    with pytest.raises(InvalidOptionError, match="no consumer to tag"):
        EnhancedFanOut(registration="none", consumer_arns=[ORDERS], tags={"team": "data"})


def test_every_fan_out_option_is_passed_to_spark() -> None:
    publisher = EnhancedFanOut(
        "app",
        registration="eager",
        deregister_on_stop=False,
        calls_per_second=2,
    )
    assert handed(publisher) == {
        "streamName": "orders",
        "recordPublisher": "efo",
        "efo.consumerName": "app",
        "efo.registration": "eager",
        "efo.deregisterOnStop": "false",
        "polling.callsPerSecond": "2",
    }


def test_consumer_arns_are_passed_by_stream_name() -> None:
    publisher = EnhancedFanOut(registration="none", consumer_arns=(ORDERS, REFUNDS))
    options = handed(publisher, stream_name=("orders", "refunds"))
    assert options["efo.consumerArn.orders"] == ORDERS
    assert options["efo.consumerArn.refunds"] == REFUNDS
    assert "efo.consumerName" not in options


def test_consumer_arns_are_passed_by_stream_arn_if_stream_names_are_equal() -> None:
    elsewhere = STREAM.replace("eu-west-1", "us-east-1")
    publisher = EnhancedFanOut(consumer_arns=(ORDERS, f"{elsewhere}/consumer/app:2"))
    options = handed(publisher, stream_name=None, stream_arn=(STREAM, elsewhere))
    assert options[f"efo.consumerArn.{STREAM}"] == ORDERS
    assert options[f"efo.consumerArn.{elsewhere}"] == f"{elsewhere}/consumer/app:2"


def test_a_consumer_of_one_of_two_streams_of_a_name_is_passed_by_stream_arn() -> None:
    elsewhere = STREAM.replace("eu-west-1", "us-east-1")
    options = handed(EnhancedFanOut("app", consumer_arns=[ORDERS]), stream_name=None, stream_arn=(STREAM, elsewhere))
    assert {name for name in options if name.startswith("efo.consumerArn")} == {f"efo.consumerArn.{STREAM}"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (EnhancedFanOut, "needs a consumer_name"),
        (lambda: EnhancedFanOut("my app"), "a consumer's name"),
        (lambda: EnhancedFanOut("app", registration="later"), "lazy, eager, none"),  # type: ignore[arg-type]
        (lambda: EnhancedFanOut("app", registration="none"), "consumer_arns"),
        (lambda: EnhancedFanOut("app", calls_per_second=6), "calls_per_second"),
        (lambda: EnhancedFanOut("app", deregister_on_stop="no"), "registered"),  # type: ignore[arg-type]
        (lambda: EnhancedFanOut("app", tags={"kinesis-spark:query": "mine"}), "sets kinesis-spark:query itself"),
        (lambda: EnhancedFanOut("app", tags={f"k{i}": "" for i in range(50)}), "deregister_on_stop=False"),
        (lambda: EnhancedFanOut(consumer_arns=(STREAM,)), "a consumer's ARN"),
        (lambda: EnhancedFanOut(consumer_arns=ORDERS), "a list of ARNs"),
        (lambda: EnhancedFanOut(consumer_arns=(ORDERS, f"{STREAM}/consumer/b:1")), "one consumer for each stream"),
        (
            lambda: handed(EnhancedFanOut(consumer_arns=(ORDERS, ORDERS.replace("eu-west-1", "us-east-1")))),
            "one consumer for each stream",
        ),
        (lambda: handed(EnhancedFanOut(consumer_arns=(ORDERS,)), stream_name=("orders", "refunds")), "refunds"),
        (
            lambda: handed(
                EnhancedFanOut("app", registration="none", consumer_arns=(ORDERS,)), stream_name=("orders", "refunds")
            ),
            "refunds",
        ),
        (lambda: handed(EnhancedFanOut("app", consumer_arns=(REFUNDS,))), "the streams that are read: orders"),
        (
            lambda: handed(
                EnhancedFanOut(consumer_arns=(ORDERS,)),
                stream_name=None,
                stream_arn=STREAM.replace("eu-west-1", "us-east-1"),
            ),
            "the streams that are read",
        ),
    ],
)
def test_invalid_fan_out_options_are_refused(make: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidOptionError) as refused:
        make()
    assert message in str(refused.value)


def test_fan_out_options_compare_hash_and_pickle_by_value() -> None:
    publisher = EnhancedFanOut("app", deregister_on_stop=True)
    assert pickle.loads(pickle.dumps(publisher)) == publisher  # noqa: S301
    assert hash(dataclasses.replace(publisher, consumer_name="other")) != hash(publisher)
