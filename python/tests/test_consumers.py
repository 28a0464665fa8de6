"""Tests StreamConsumers on a local server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kinesis_spark import (
    EnhancedFanOut,
    InvalidOptionError,
    KinesisCallError,
    KinesisOptions,
    LocalKinesis,
    Retries,
    SparkConnectError,
    StaticCredentials,
    StreamConsumer,
    StreamConsumers,
)


@pytest.fixture(scope="module")
def server() -> Iterator[LocalKinesis]:
    with LocalKinesis({"orders": 1, "refunds": 1}) as server:
        yield server


@pytest.fixture
def options(server: LocalKinesis) -> Iterator[KinesisOptions]:
    yield server.options("orders").replace(stream_name=("orders", "refunds"))
    for stream in ("orders", "refunds"):
        arn = f"arn:aws:kinesis:us-east-1:000000000000:stream/{stream}"
        for consumer in server.client.call("ListStreamConsumers", StreamARN=arn)["Consumers"]:
            server.client.call("DeregisterStreamConsumer", ConsumerARN=consumer["ConsumerARN"])


def test_consumers_are_registered_described_listed_and_deregistered_in_all_streams(
    spark: SparkSession, options: KinesisOptions
) -> None:
    consumers = StreamConsumers(spark, options)
    before = datetime.now(timezone.utc) - timedelta(seconds=1)
    registered = consumers.register("app")
    assert [(c.name, c.stream_arn.rpartition("/")[2], c.status) for c in registered] == [
        ("app", "orders", "ACTIVE"),
        ("app", "refunds", "ACTIVE"),
    ]
    for consumer in registered:
        assert consumer.arn.startswith(f"{consumer.stream_arn}/consumer/app:")
        assert before < consumer.created < datetime.now(timezone.utc) + timedelta(seconds=1)
    assert consumers.register("app") == registered
    assert consumers.await_active("app") == registered
    assert consumers.describe("app") == registered
    StreamConsumers(spark, options.replace(stream_name="orders")).register("other")
    assert [c.name for c in consumers.list()] == ["app", "other", "app"]
    assert [c.stream_arn for c in consumers.describe("other")] == [registered[0].stream_arn]
    assert consumers.deregister("app") == registered
    assert [c.name for c in consumers.list()] == ["other"]
    assert consumers.deregister("app") == ()


def test_options_accept_the_arns_of_registered_consumers(spark: SparkSession, options: KinesisOptions) -> None:
    arns = tuple(consumer.arn for consumer in StreamConsumers(spark, options).register("app"))
    by_arn = options.replace(record_publisher=EnhancedFanOut(registration="none", consumer_arns=arns))
    assert by_arn.to_dict()["efo.consumerArn.refunds"] == arns[1]


def test_a_consumer_error_has_a_stable_error_class_and_names_consumer_and_stream(
    spark: SparkSession, options: KinesisOptions
) -> None:
    consumers = StreamConsumers(spark, options)
    with pytest.raises(KinesisCallError, match=r"consumer app of stream .*orders") as absent:
        consumers.await_active("app")
    assert absent.value.error_class == "KINESIS_NOT_FOUND"
    nowhere = StreamConsumers(spark, options.replace(stream_name="nowhere"))
    for call in (nowhere.list, lambda: nowhere.register("app")):
        with pytest.raises(KinesisCallError, match="nowhere"):
            call()


def test_consumer_calls_use_the_retries_of_the_options(spark: SparkSession, options: KinesisOptions) -> None:
    arn = "arn:aws:kinesis:us-east-1:000000000000:stream/orders"
    away = options.replace(
        endpoint="http://127.0.0.1:9",
        stream_name=None,
        stream_arn=arn,
        region=None,
        retries={"DescribeStreamConsumer": Retries(max_retries=0)},
    )
    with pytest.raises(KinesisCallError) as unreachable:
        StreamConsumers(spark, away).describe("app")
    assert unreachable.value.error_class == "KINESIS_UNREACHABLE"
    assert "Tried" not in str(unreachable.value)


def test_old_consumers_of_a_prefix_are_listed_and_deregistered(spark: SparkSession, options: KinesisOptions) -> None:
    consumers = StreamConsumers(spark, options.replace(stream_name="orders"))
    consumers.register("app-1")
    consumers.register("other")
    assert consumers.list_old("app-", timedelta(days=1)) == ()
    assert [c.name for c in consumers.list_old("app-", timedelta(0))] == ["app-1"]
    assert [c.name for c in consumers.deregister_old("app-", timedelta(0))] == ["app-1"]
    assert [c.name for c in consumers.list()] == ["other"]
    with pytest.raises(InvalidOptionError, match="prefix"):
        consumers.deregister_old("", timedelta(0))


@pytest.mark.parametrize("method", ["register", "await_active", "describe", "deregister"])
def test_an_invalid_consumer_name_is_refused_before_any_call(
    spark: SparkSession, options: KinesisOptions, method: str
) -> None:
    with pytest.raises(InvalidOptionError, match="my app"):
        getattr(StreamConsumers(spark, options), method)("my app")


def test_contradicting_options_raise_invalid_option_error_without_the_secret(
    spark: SparkSession, options: KinesisOptions
) -> None:
    contradicting: Any = options.replace(credentials=StaticCredentials("id", "secret"))
    consumers = StreamConsumers(spark, contradicting)
    consumers._options["profile"] = "production"
    with pytest.raises(InvalidOptionError, match="contradict") as refused:
        consumers.list()
    assert "secret'" not in str(refused.value)


def test_stream_consumers_without_a_jvm_raise_spark_connect_error(
    options: KinesisOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinesis_spark._jvm.require_jar", lambda _: None)
    with pytest.raises(SparkConnectError, match="Spark Connect"):
        StreamConsumers(SimpleNamespace(), options)  # type: ignore[arg-type]


def test_stream_consumers_compare_and_hash_by_value() -> None:
    created = datetime(2026, 1, 31, tzinfo=timezone.utc)
    one = StreamConsumer("app", "arn:1", "arn", "ACTIVE", created)
    assert one == replace(one)
    assert hash(one) != hash(replace(one, arn="arn:2"))
