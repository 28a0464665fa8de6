"""Tests KinesisOptions: the options passed to Spark, the values refused, and that secrets stay hidden."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from datetime import timedelta
from typing import Any

import pytest

from kinesis_spark import (
    AssumedRole,
    InvalidOptionError,
    KinesisOptions,
    ProfileCredentials,
    ProviderClass,
    StartingPosition,
    StaticCredentials,
    StreamOptions,
)

ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
OTHER = "arn:aws:kinesis:us-east-1:123456789012:stream/orders"
ROLE = "arn:aws:iam::123456789012:role/reader"
# Planted, and searched for in everything that could be printed.
SECRETS = ("AKIAPLANTED", "planted-secret-key", "planted-session-token")


def test_only_options_that_were_set_are_passed_to_spark() -> None:
    assert KinesisOptions(stream_name="orders", region="eu-west-1").to_dict() == {
        "streamName": "orders",
        "region": "eu-west-1",
    }


def test_every_source_option_is_passed_to_spark() -> None:
    options = KinesisOptions(
        stream_name=("orders", "refunds"),
        region="eu-west-1",
        endpoint="http://127.0.0.1:4567",
        starting_position=StartingPosition.trim_horizon(),
        fail_on_data_loss=False,
        deaggregate=False,
        max_records_per_trigger=10_000,
        max_bytes_per_trigger=64 * 1024 * 1024,
        min_records_per_trigger=100,
        max_trigger_delay=timedelta(milliseconds=1500),
        max_shard_skew=timedelta(0),
        shard_discovery_interval=timedelta(seconds=30),
        min_partitions=8,
        reader_buffer_size=32 * 1024 * 1024,
        max_retry_duration=timedelta(hours=1),
        credentials=ProfileCredentials("production"),
        role=AssumedRole(ROLE, external_id="abc", role_session_name="nightly"),
        per_stream=(
            StreamOptions(stream="refunds", region="us-east-1", starting_position=StartingPosition.latest()),
            StreamOptions(stream="orders", endpoint="https://vpce.example.com", role=AssumedRole(ROLE)),
        ),
    )
    assert options.to_dict() == {
        "streamName": "orders,refunds",
        "region": "eu-west-1",
        "endpoint": "http://127.0.0.1:4567",
        "startingPosition": "TRIM_HORIZON",
        "failOnDataLoss": "false",
        "deaggregate": "false",
        "maxRecordsPerTrigger": "10000",
        "maxBytesPerTrigger": "67108864",
        "minRecordsPerTrigger": "100",
        "maxTriggerDelay": "1500ms",
        "maxShardSkew": "0s",
        "shardDiscoveryInterval": "30s",
        "minPartitions": "8",
        "readerBufferSize": "33554432",
        "maxRetryDuration": "3600s",
        "profile": "production",
        "roleArn": ROLE,
        "externalId": "abc",
        "roleSessionName": "nightly",
        "stream.refunds.region": "us-east-1",
        "stream.refunds.startingPosition": "LATEST",
        "stream.orders.endpoint": "https://vpce.example.com",
        "stream.orders.roleArn": ROLE,
    }


def test_static_keys_and_a_provider_class_are_passed_to_spark() -> None:
    static = KinesisOptions(stream_arn=ARN, credentials=StaticCredentials(*SECRETS)).to_dict()
    assert (static["accessKeyId"], static["secretAccessKey"], static["sessionToken"]) == SECRETS
    provider = KinesisOptions(stream_arn=ARN, credentials=ProviderClass("com.example.MyCredentials")).to_dict()
    assert provider == {"streamArn": ARN, "credentialsProvider": "com.example.MyCredentials"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"stream_name": None}, "neither was given"),
        ({"stream_arn": ARN}, "both were given"),
        ({"stream_name": "or ders"}, "a stream's name"),
        ({"stream_name": ("orders", "")}, "a stream's name"),
        ({"stream_name": None, "stream_arn": "arn:aws:s3:::bucket"}, "a stream's ARN"),
        ({"region": "Ireland"}, "AWS region"),
        ({"endpoint": "127.0.0.1:4567"}, "a URL"),
        ({"endpoint": "http://user:word@host"}, "a URL"),
        ({"endpoint": "http://host:notaport"}, "a URL"),
        ({"endpoint": "http://host/path"}, "a URL"),
        ({"starting_position": "LATEST"}, "StartingPosition.trim_horizon()"),
        ({"record_publisher": "polling"}, "Polling()"),
        ({"fail_on_data_loss": "false"}, "True or False"),
        ({"deaggregate": "no"}, "True or False"),
        ({"max_records_per_trigger": 0}, "at least 1"),
        ({"max_records_per_trigger": "ten"}, "whole number"),
        ({"max_bytes_per_trigger": 1.5}, "whole number"),
        ({"min_records_per_trigger": True}, "whole number"),
        ({"max_trigger_delay": 10}, "timedelta"),
        ({"max_shard_skew": timedelta(seconds=-1)}, "at least 0 ms"),
        ({"shard_discovery_interval": timedelta(milliseconds=10)}, "at least 100 ms"),
        ({"min_partitions": 0}, "at least 1"),
        ({"reader_buffer_size": 1024}, "at least 16777216"),
        ({"credentials": ("id", "key")}, "StaticCredentials"),
        ({"role": ROLE}, "AssumedRole"),
        ({"per_stream": (StreamOptions(stream="order"),)}, "orders"),
        ({"per_stream": (StreamOptions(stream=ARN),)}, "orders"),
        ({"per_stream": (StreamOptions(stream="orders"), StreamOptions(stream="orders"))}, "once"),
        ({"stream_name": None, "stream_arn": (ARN, OTHER), "per_stream": (StreamOptions(stream="orders"),)}, "ARN"),
        (
            {
                "stream_name": None,
                "stream_arn": ARN,
                "per_stream": (StreamOptions(stream=ARN), StreamOptions(stream="orders")),
            },
            "once",
        ),
    ],
)
def test_an_invalid_option_is_refused_when_it_is_set(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOptionError) as refused:
        KinesisOptions(**({"stream_name": "orders"} | wrong))
    assert message in str(refused.value)


def test_per_stream_options_are_passed_by_arn_if_stream_names_are_equal() -> None:
    own = (StreamOptions(stream=ARN, region="eu-west-1"), StreamOptions(stream=OTHER, endpoint="http://127.0.0.1:1"))
    assert KinesisOptions(stream_arn=(ARN, OTHER), per_stream=own).to_dict() == {
        "streamArn": f"{ARN},{OTHER}",
        f"stream.{ARN}.region": "eu-west-1",
        f"stream.{OTHER}.endpoint": "http://127.0.0.1:1",
    }


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ProfileCredentials(" "), "profile"),
        (lambda: ProviderClass("not a class"), "Java class"),
        (lambda: AssumedRole("reader"), "role's ARN"),
        (lambda: AssumedRole(ROLE, external_id="x"), "external_id"),
        (lambda: AssumedRole(ROLE, role_session_name="a b"), "role_session_name"),
        (lambda: StaticCredentials("", "planted-secret-key"), "access_key_id"),
        (lambda: StaticCredentials("AKIAPLANTED", ""), "secret_access_key"),
        (lambda: StaticCredentials("AKIAPLANTED", "planted-secret-key", " "), "session_token"),
        (lambda: StaticCredentials("AKIAPLANTED", b"planted-secret-key"), "<bytes>"),  # type: ignore[arg-type]
    ],
)
def test_invalid_credentials_are_refused_without_the_secret(make: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidOptionError) as refused:
        make()
    assert message in str(refused.value)
    assert not any(secret in str(refused.value) for secret in SECRETS)


def test_repr_of_options_contains_no_secrets() -> None:
    options = KinesisOptions(stream_name="orders", credentials=StaticCredentials(*SECRETS))
    shown = [f"{value!r} {value!s} {[value]!r}" for value in (options.credentials, options, options.to_dict())]
    assert not [secret for secret in SECRETS for text in shown if secret in text]
    assert "secretAccessKey" in shown[-1]


def test_source_options_compare_hash_copy_and_pickle_by_value() -> None:
    options = KinesisOptions(stream_name="orders", per_stream=(StreamOptions(stream="orders", region="us-east-1"),))
    assert pickle.loads(pickle.dumps(options)) == copy.deepcopy(options) == options  # noqa: S301
    assert hash(dataclasses.replace(options, region="eu-west-1")) != hash(options)
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.region = "eu-west-1"  # type: ignore[misc]
    assert not hasattr(options, "__dict__")
