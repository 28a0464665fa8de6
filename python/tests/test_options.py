"""Tests KinesisOptions: the options passed to Spark, the values refused, and that secrets stay hidden."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys
from datetime import datetime, timedelta, timezone
from typing import Any, cast

import pytest

from kinesis_spark import (
    AssumedRole,
    CloudWatch,
    Connection,
    CustomCredentials,
    DefaultCredentials,
    EnhancedFanOut,
    InvalidOptionError,
    KinesisOptions,
    KinesisSinkOptions,
    Polling,
    Position,
    Positions,
    ProfileCredentials,
    Retries,
    StaticCredentials,
    StreamOptions,
    WebIdentityCredentials,
)
from kinesis_spark._declare import encoded
from kinesis_spark.options import SourceArguments, source_options
from kinesis_spark.write import SinkArguments, write_batch

ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
UPPER = "arn:aws:kinesis:eu-west-1:123456789012:stream/Orders"
OTHER = "arn:aws:kinesis:us-east-1:123456789012:stream/orders"
ROLE = "arn:aws:iam::123456789012:role/reader"
MOMENT = datetime(2026, 1, 31, 8, tzinfo=timezone.utc)
STREAM = {"streamName": "orders"}
CONSUMER = f"{ARN}/consumer/app:1525898737"
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
        starting_position=Position.trim_horizon(),
        fail_on_data_loss=False,
        deaggregate=False,
        max_records_per_trigger=10_000,
        max_bytes_per_trigger=64 * 1024 * 1024,
        min_records_per_trigger=100,
        max_trigger_delay=timedelta(milliseconds=1500),
        max_shard_skew=timedelta(0),
        shard_discovery_interval=timedelta(seconds=30),
        min_partitions=8,
        real_time_reserved_cores=0,
        reader_buffer_size=32 * 1024 * 1024,
        max_retry_duration=timedelta(hours=1),
        credentials=ProfileCredentials("production"),
        role=AssumedRole(ROLE, external_id="abc", role_session_name="nightly"),
        per_stream=(
            StreamOptions(stream="refunds", region="us-east-1", starting_position=Position.latest()),
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
        "realTime.reservedCores": "0",
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


def test_connection_chain_of_roles_and_web_identity_are_passed_to_spark() -> None:
    connection = Connection(
        ca_bundle="/etc/ca.pem",
        proxy="http://proxy:3128",
        proxy_user="user",
        proxy_password="planted",
        no_proxy=["localhost", "*.internal"],
        connect_timeout="3s",
        read_timeout=timedelta(minutes=1),
        max_connections=64,
        application_id="etl-1",
        sts_region="us-east-1",
        sts_endpoint="https://sts.example.com",
    )
    expected = {
        "caBundle": "/etc/ca.pem",
        "proxy": "http://proxy:3128",
        "proxyUser": "user",
        "proxyPassword": "planted",
        "noProxy": "localhost,*.internal",
        "connectTimeout": "3s",
        "readTimeout": "60s",
        "maxConnections": "64",
        "applicationId": "etl-1",
        "stsRegion": "us-east-1",
        "stsEndpoint": "https://sts.example.com",
    }
    assert KinesisSinkOptions(connection=connection).to_dict() == expected
    chosen = Connection(fips=True, dual_stack=True)
    assert KinesisSinkOptions(connection=chosen).to_dict() == {"fips": "true", "dualStack": "true"}
    role = AssumedRole(
        ROLE,
        role_chain=[ROLE, f"{ROLE}-1 ext-1"],
        role_duration="30m",
        role_tags={"team": "data"},
    )
    credentials = WebIdentityCredentials("/token")
    options = KinesisOptions(stream_name="orders", credentials=credentials, role=role, connection=connection)
    of_role = {
        "roleArn": ROLE,
        "roleChain": f"{ROLE},{ROLE}-1 ext-1",
        "roleDuration": "1800s",
        "roleTags": "team=data",
    }
    assert options.to_dict() == expected | {"streamName": "orders", "webIdentityTokenFile": "/token"} | of_role
    with_identity = dataclasses.replace(role, role_source_identity="alice")
    assert KinesisSinkOptions(role=with_identity).to_dict() == of_role | {"roleSourceIdentity": "alice"}


def test_credentials_of_single_streams_are_passed_to_spark_and_shown_nowhere() -> None:
    per_stream = [
        StreamOptions(stream="orders", credentials=StaticCredentials(*SECRETS)),
        StreamOptions(stream="refunds", credentials=CustomCredentials("com.example.Mine", {"secret": SECRETS[1]})),
        StreamOptions(stream="clicks", credentials=ProfileCredentials("dev"), role=ROLE),
    ]
    source = KinesisOptions(stream_name=["orders", "refunds", "clicks", "others"], per_stream=per_stream)
    sink = KinesisSinkOptions(per_stream=per_stream)
    own = {
        "stream.orders.accessKeyId": SECRETS[0],
        "stream.orders.secretAccessKey": SECRETS[1],
        "stream.orders.sessionToken": SECRETS[2],
        "stream.refunds.credentialsProvider": "com.example.Mine",
        "stream.refunds.credentialsProvider.secret": SECRETS[1],
        "stream.clicks.profile": "dev",
        "stream.clicks.roleArn": ROLE,
    }
    assert source.to_dict() == {"streamName": "orders,refunds,clicks,others"} | own
    assert sink.to_dict() == own
    shown = [repr(value) for value in (per_stream, source, source.to_dict(), sink, sink.to_dict())]
    assert not [secret for secret in SECRETS for text in shown if secret in text]
    with pytest.raises(InvalidOptionError, match="the default chain of one stream alone"):
        StreamOptions(stream="orders", credentials=DefaultCredentials())


def test_a_sink_has_roles_of_single_streams_but_no_positions_of_them() -> None:
    sink = KinesisSinkOptions(per_stream=[StreamOptions(stream="orders", role=ROLE)])
    assert sink.to_dict() == {"stream.orders.roleArn": ROLE}
    with pytest.raises(InvalidOptionError, match="no positions"):
        KinesisSinkOptions(per_stream=[StreamOptions(stream="orders", starting_position="LATEST")])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Connection(proxy_user="u", proxy_password="p"), "without proxy"),
        (lambda: Connection(proxy="http://proxy:1", proxy_user="u"), "belong together"),
        (lambda: Connection(proxy="proxy:1"), "a URL"),
        (
            lambda: Connection(proxy="http://proxy"),
            "proxy='http://proxy' is not valid: expected a URL with the proxy's port",
        ),
        (
            lambda: Connection(proxy="http://proxy:1", no_proxy="a,b, a"),
            "no_proxy='a' is not valid: expected each .* once",
        ),
        (lambda: Connection(proxy="http://proxy:1", no_proxy="a b"), "a host's name"),
        (lambda: Connection(read_timeout="10ms"), "read_timeout"),
        (lambda: Connection(application_id="a b"), "application_id"),
        (lambda: CloudWatch(namespace="AWS/Kinesis"), "a namespace of CloudWatch"),
        (lambda: CloudWatch(interval="5 minutes"), "nothing would be published"),
        (lambda: KinesisOptions(stream_name="s", cloud_watch="streams"), "a CloudWatch"),  # type: ignore[arg-type]
        (lambda: AssumedRole(ROLE, role_duration="1m"), "role_duration"),
        (lambda: AssumedRole(ROLE, role_duration="2h", role_chain=ROLE), "after role_chain"),
        (lambda: AssumedRole(ROLE, role_chain="reader"), "role_chain"),
        (lambda: AssumedRole(ROLE, role_tags={" team": "data"}), "role_tags=' team' is not valid"),
        (lambda: AssumedRole(ROLE, role_tags={"team": "data "}), "role_tags='team' is not valid"),
        (
            lambda: AssumedRole(ROLE, role_chain=[ROLE, f"{ROLE} ext"]),
            f"role_chain='{ROLE}' is not valid: expected each",
        ),
        (lambda: CustomCredentials("com.example.Mine", {"key": ""}), "credentials_provider_parameters"),
        (lambda: KinesisSinkOptions(connection="http://proxy:1"), "a Connection"),  # type: ignore[arg-type]
    ],
)
def test_connections_and_roles_that_cannot_be_right_are_refused(make: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidOptionError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda **given: EnhancedFanOut("app", **given), "tags"),
        (lambda **given: EnhancedFanOut(registration="none", consumer_arns=[CONSUMER], **given), "tags"),
        (lambda **given: EnhancedFanOut("app", **given), "consumer_arns"),
        (lambda **given: AssumedRole(ROLE, **given), "role_tags"),
        (lambda **given: AssumedRole(ROLE, role_duration="2h", **given), "role_chain"),
        (Connection, "no_proxy"),
        (lambda **given: CustomCredentials("com.example.Vault", **given), "credentials_provider_parameters"),
        (lambda **given: KinesisOptions(stream_arn=ARN, **given), "stream_name"),
        (lambda **given: KinesisOptions(stream_arn=ARN, **given), "per_stream"),
        (lambda **given: KinesisOptions(stream_arn=ARN, **given), "retries"),
    ],
)
def test_an_empty_collection_is_an_option_that_is_left_out(make: Any, name: str) -> None:  # noqa: ANN401
    empty: list[Any] = [{}] if name.endswith(("tags", "parameters", "retries")) else [[], ()]
    for given in empty:
        assert make(**{name: given}) == make()
        assert encoded(make(**{name: given})) == encoded(make())


def test_static_keys_and_a_provider_class_are_passed_to_spark() -> None:
    static = KinesisOptions(stream_arn=ARN, credentials=StaticCredentials(*SECRETS)).to_dict()
    assert (static["accessKeyId"], static["secretAccessKey"], static["sessionToken"]) == SECRETS
    provider = KinesisOptions(stream_arn=ARN, credentials=CustomCredentials("com.example.MyCredentials")).to_dict()
    assert provider == {"streamArn": ARN, "credentialsProvider": "com.example.MyCredentials"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"stream_name": None}, "neither was given"),
        ({"stream_arn": ARN}, "both were given"),
        ({"stream_name": "or ders"}, "a stream's name"),
        ({"stream_name": ("orders", "")}, "a stream's name"),
        ({"stream_name": None, "stream_arn": "arn:aws:s3:::bucket"}, "a stream's ARN"),
        ({"stream_name": "orders,a,a"}, "stream_name='a' is not valid: expected each of them once"),
        (
            {"stream_name": None, "stream_arn": [ARN, ARN]},
            f"stream_arn='{ARN}' is not valid: expected each of them once",
        ),
        ({"region": "Ireland"}, "AWS region"),
        ({"endpoint": "127.0.0.1:4567"}, "a URL"),
        ({"endpoint": "http://user:word@host"}, "a URL"),
        ({"endpoint": "http://host:notaport"}, "a URL"),
        ({"endpoint": "http://host/path"}, "a URL"),
        ({"endpoint": "http://kinesis_mock:4567"}, "a URL whose host has no underscore"),
        ({"starting_position": "EARLIEST"}, "TRIM_HORIZON"),
        ({"starting_position": "AT_TIMESTAMP:2026-01-31T08:00:00"}, "ISO-8601 with an offset"),
        ({"starting_position": "AT_TIMESTAMP"}, "AT_TIMESTAMP:<time>"),
        ({"starting_position": "AT_TIMESTAMP:1969-12-31T23:59:59Z"}, "1970 or later"),
        ({"starting_position": datetime(2026, 1, 31)}, "time zone"),  # noqa: DTZ001
        ({"ending_position": "TRIM_HORIZON"}, "nothing comes before the oldest record"),
        ({"record_publisher": "efo"}, "EnhancedFanOut("),
        ({"fail_on_data_loss": "no"}, "True or False"),
        ({"deaggregate": "no"}, "True or False"),
        ({"max_records_per_trigger": 0}, "at least 1"),
        ({"max_records_per_trigger": "ten"}, "whole number"),
        ({"max_bytes_per_trigger": 1.5}, "a number of bytes"),
        ({"max_bytes_per_trigger": "256x"}, '"64m"'),
        ({"max_bytes_per_trigger": "0"}, "at least 1"),
        ({"max_trigger_delay": "5 lightyears"}, '"15m"'),
        ({"max_trigger_delay": "off"}, '"15m"'),
        ({"max_trigger_delay": timedelta(microseconds=500)}, "whole milliseconds"),
        ({"max_shard_skew": timedelta(microseconds=500)}, "whole milliseconds"),
        ({"max_shard_skew": timedelta(seconds=1, microseconds=1)}, "whole milliseconds"),
        ({"min_records_per_trigger": True}, "whole number"),
        ({"max_trigger_delay": 10}, "timedelta"),
        ({"max_shard_skew": timedelta(seconds=-1)}, "at least 0 ms"),
        ({"shard_discovery_interval": timedelta(milliseconds=10)}, "at least 100 ms"),
        ({"min_partitions": 0}, "at least 1"),
        ({"min_partitions": 1 << 31}, "at most 2147483647"),
        ({"reader_buffer_size": 1024}, "at least 16777216"),
        ({"credentials": ("id", "key")}, "StaticCredentials"),
        ({"role": "reader"}, "role's ARN"),
        ({"role": 7}, "AssumedRole"),
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


def stream(name: str = "orders", **own: Any) -> dict[str, Any]:  # noqa: ANN401
    """Options of one stream."""
    return {"per_stream": [StreamOptions(stream=name, **own)]}


KEYS, TOKEN = StaticCredentials(*SECRETS), WebIdentityCredentials("/token")
PROFILE, STS = ProfileCredentials("production"), Connection(sts_region="eu-west-1")
EARLIER = MOMENT - timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"credentials": TOKEN}, "credentials: WebIdentityCredentials without role"),
        ({"credentials": TOKEN, **stream(region="eu-west-1")}, "credentials: WebIdentityCredentials without role"),
        (stream(credentials=TOKEN), "credentials of orders: WebIdentityCredentials without role"),
        (
            {"credentials": TOKEN, "role": AssumedRole(ROLE, external_id="ext")},
            "role: external_id has no use with WebIdentityCredentials",
        ),
        ({"credentials": TOKEN, "role": AssumedRole(ROLE, role_tags="team=data")}, "role: role_tags has no use"),
        (
            {"credentials": TOKEN, "role": AssumedRole(ROLE, role_chain=f"{ROLE}-1", role_source_identity="alice")},
            "role: role_source_identity has no use",
        ),
        (
            {"credentials": TOKEN, "role": AssumedRole(ROLE, role_chain=f"{ROLE}-1 ext")},
            "role: the external ID of the first role of role_chain has no use",
        ),
        (
            {"credentials": TOKEN, "role": ROLE, **stream(role=AssumedRole(external_id="ext"))},
            "role of orders: external_id has no use",
        ),
        ({"role": AssumedRole(ROLE, external_id="ext"), **stream(credentials=TOKEN)}, "role: external_id has no use"),
        ({"credentials": KEYS, "connection": STS}, "sts_region: it was given without a role"),
        (
            {"credentials": CustomCredentials("Mine"), "connection": Connection(sts_endpoint="http://localhost:1")},
            "sts_endpoint: it was given without a role",
        ),
    ],
)
@pytest.mark.parametrize("options", [KinesisOptions, KinesisSinkOptions])
def test_credentials_and_roles_that_contradict_each_other_are_refused(
    options: Any,  # noqa: ANN401
    given: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(InvalidOptionError) as refused:
        options(stream_name="orders", **given)
    assert message in str(refused.value)
    assert not any(secret in str(refused.value) for secret in SECRETS)


@pytest.mark.parametrize(
    "given",
    [
        {"credentials": TOKEN, **stream(role=ROLE)},
        {"credentials": TOKEN, **stream(credentials=PROFILE)},
        {"role": ROLE, **stream(credentials=TOKEN)},
        {"credentials": TOKEN, "role": AssumedRole(ROLE, role_chain=f"{ROLE}-1", external_id="ext", role_tags="a=b")},
        {"credentials": TOKEN, "role": AssumedRole(ROLE, role_chain=[f"{ROLE}-1", f"{ROLE}-2 ext"])},
        {"connection": STS},
        {"credentials": PROFILE, "connection": STS},
        {"credentials": KEYS, "connection": STS, "role": ROLE},
        {"credentials": KEYS, "connection": STS, **stream(role=ROLE)},
        {"credentials": KEYS, "connection": STS, **stream(credentials=PROFILE)},
    ],
)
@pytest.mark.parametrize("options", [KinesisOptions, KinesisSinkOptions])
def test_credentials_and_roles_of_one_stream_and_in_general_are_taken_together(options: Any, given: Any) -> None:  # noqa: ANN401
    assert options(stream_name="orders", **given).to_dict()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"stream_arn": ARN, "region": "us-east-1"},
            f"region='us-east-1' is not valid: expected eu-west-1, the region of {ARN}",
        ),
        ({"stream_arn": ARN, **stream(region="us-east-1")}, "region of orders='us-east-1' is not valid"),
        ({"stream_arn": (ARN, OTHER), "region": "eu-west-1"}, f"expected us-east-1, the region of {OTHER}"),
        (
            {"stream_name": "orders", "starting_position": MOMENT, "ending_position": MOMENT},
            "ending_position='AT_TIMESTAMP:2026-01-31T08:00:00.000Z' is not valid: expected a moment after "
            "starting_position, AT_TIMESTAMP:2026-01-31T08:00:00.000Z",
        ),
        (
            {"stream_name": "orders", "starting_position": MOMENT, **stream(ending_position=EARLIER)},
            "ending_position of orders='AT_TIMESTAMP:2026-01-31T07:59:59.999Z' is not valid",
        ),
        # To the millisecond, as Spark is handed them.
        (
            {
                "stream_name": "orders",
                "starting_position": MOMENT,
                "ending_position": MOMENT + timedelta(microseconds=999),
            },
            "a moment after",
        ),
    ],
)
def test_regions_and_positions_that_contradict_each_other_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOptionError) as refused:
        KinesisOptions(**wrong)
    assert message in str(refused.value)


def test_regions_and_positions_of_one_stream_come_before_the_general_ones() -> None:
    KinesisOptions(stream_arn=ARN, region="us-east-1", **stream(region="eu-west-1"))
    KinesisOptions(
        stream_name="orders",
        starting_position=MOMENT,
        ending_position=EARLIER,
        **stream(starting_position=EARLIER - timedelta(milliseconds=1)),
    )


def test_a_sink_s_streams_are_called_in_the_region_of_their_arns_and_in_names_that_fit() -> None:
    for wrong in ({"stream_arn": ARN}, {**stream(ARN, region="us-east-1")}):
        with pytest.raises(InvalidOptionError, match=f"expected eu-west-1, the region of {ARN}"):
            KinesisSinkOptions(**{"region": "us-east-1"} | wrong)
    # Rows may name other streams than one with options of its own.
    KinesisSinkOptions(region="us-east-1", **stream(ARN, region="eu-west-1"))
    KinesisSinkOptions(stream_arn=ARN, credentials=TOKEN, **stream(role=ROLE))
    KinesisSinkOptions(credentials=TOKEN, **stream(role=ROLE))
    for others in ({}, stream("refunds", role=ROLE), stream(ARN, role=ROLE), stream()):
        with pytest.raises(InvalidOptionError, match="credentials: WebIdentityCredentials without role"):
            KinesisSinkOptions(stream_name="orders", credentials=TOKEN, **others)
    # One by ARN has what is given by its name, too.
    by_name = StreamOptions(stream="Orders", role=ROLE)
    for own in (AssumedRole(external_id="ext"), None):
        KinesisSinkOptions(per_stream=[by_name, StreamOptions(stream=ARN, role=own, region="eu-west-1")])
    with pytest.raises(InvalidOptionError, match=f"role of {ARN}: external_id has no use"):
        KinesisSinkOptions(
            per_stream=[by_name, StreamOptions(stream=ARN, credentials=TOKEN, role=AssumedRole(external_id="ext"))]
        )


@pytest.mark.parametrize(
    ("options", "streams", "twice"),
    [
        (KinesisOptions, {"stream_name": ("orders", "Orders")}, ("orders", "Orders")),
        (KinesisOptions, {"stream_arn": (ARN, UPPER)}, (ARN, UPPER)),
        (KinesisOptions, {"stream_arn": (UPPER, OTHER)}, ("Orders", "orders")),
        (KinesisSinkOptions, {}, ("orders", "orders")),
        (KinesisSinkOptions, {}, ("orders", "Orders")),
        (KinesisSinkOptions, {}, (ARN, UPPER)),
    ],
)
def test_options_of_streams_whose_names_are_one_for_spark_are_refused(options: Any, streams: Any, twice: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidOptionError) as refused:
        options(**streams, per_stream=[StreamOptions(stream=stream) for stream in twice])
    shown = ", ".join(sorted({*twice}))
    assert str(refused.value) == f"per_stream={shown!r} is not valid: expected the options of each stream once"


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
        (lambda: CustomCredentials("not a class"), "Java class"),
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


@pytest.mark.parametrize(
    "make",
    [
        lambda given: source_options(given, {}),
        lambda given: write_batch(cast("Any", None), given),
        lambda given: KinesisOptions(stream_name="orders", per_stream=given),
        lambda given: KinesisOptions(stream_name="orders", per_stream=[given]),
        lambda given: KinesisOptions(stream_name=given),
        lambda given: KinesisOptions(stream_name="orders", record_publisher=given),
        lambda given: EnhancedFanOut("app", consumer_arns=given),
    ],
)
@pytest.mark.parametrize("given", [{"secretAccessKey": SECRETS[1]}, [("secretAccessKey", SECRETS[1])]], ids=str)
def test_a_dict_or_list_in_the_place_of_options_is_refused_without_its_values(make: Any, given: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidOptionError) as refused:
        make(given)
    assert SECRETS[1] not in f"{refused.value!s} {refused.value!r}"


def test_a_secret_in_the_place_of_another_option_is_refused_without_its_text() -> None:
    with pytest.raises(InvalidOptionError, match=r"region='\*\*\*\*\*' is not valid"):
        KinesisOptions(stream_name="orders", region=StaticCredentials(*SECRETS).secret_access_key)


@pytest.mark.parametrize(
    "user", ["me:planted-secret-key", ":planted-secret-key", "planted-secret-key", "a@:planted-secret-key"]
)
@pytest.mark.parametrize(
    "make",
    [
        lambda url: Connection(proxy=url),
        lambda url: Connection(sts_endpoint=url),
        lambda url: KinesisOptions(stream_name="orders", endpoint=url),
        lambda url: KinesisSinkOptions(endpoint=url),
        lambda url: StreamOptions(stream="orders", endpoint=url),
        lambda url: CloudWatch(namespace="Orders", endpoint=url),
        lambda url: KinesisOptions(stream_name="orders", connection=url),
        lambda url: KinesisOptions.from_dict(STREAM | {"proxy": url}),
    ],
)
def test_a_url_with_a_user_or_password_is_refused_without_them(make: Any, user: str) -> None:  # noqa: ANN401
    for url in (f"http://{user}@proxy:3128", f"{user}@proxy:3128", [f"http://{user}@proxy:3128"]):
        with pytest.raises(InvalidOptionError) as refused:
            make(url)
        assert SECRETS[1] not in f"{refused.value!s} {refused.value!r}"


def test_an_error_about_a_url_shows_its_host() -> None:
    with pytest.raises(InvalidOptionError, match=r"proxy='http://\*\*\*@proxy:3128' is not valid"):
        Connection(proxy="http://me:word@proxy:3128")


def test_repr_of_options_contains_no_secrets() -> None:
    options = KinesisOptions(stream_name="orders", credentials=StaticCredentials(*SECRETS))
    shown = [f"{value!r} {value!s} {[value]!r}" for value in (options.credentials, options, options.to_dict())]
    assert not [secret for secret in SECRETS for text in shown if secret in text]
    assert "secretAccessKey" in shown[-1]


@pytest.mark.parametrize(
    "copied",
    [
        lambda options: {**options.to_dict()},
        lambda options: options.to_dict() | {"region": "eu-west-1"},
        lambda options: options.to_dict().copy(),
        lambda options: list(options.to_dict().items()),
        lambda options: pickle.loads(pickle.dumps(options.to_dict())),  # noqa: S301
        lambda options: pickle.loads(pickle.dumps(options.credentials)),  # noqa: S301
        lambda options: copy.deepcopy(options.to_dict()),
        dataclasses.asdict,
        lambda options: dataclasses.astuple(options.credentials),
        lambda options: options.credentials.secret_access_key,
        lambda options: [options.replace(region="eu-west-1").credentials.access_key_id],
    ],
)
def test_copies_of_options_show_no_secrets_and_keep_them(copied: Any) -> None:  # noqa: ANN401
    options = KinesisOptions(stream_name="orders", credentials=StaticCredentials(*SECRETS))
    assert not [secret for secret in SECRETS if secret in repr(copied(options))]
    assert options.to_dict()["secretAccessKey"] == SECRETS[1]


def test_a_proxy_s_password_and_a_class_s_parameters_are_shown_nowhere() -> None:
    options = KinesisOptions(
        stream_name="orders",
        credentials=CustomCredentials("com.example.Mine", {"vaultToken": "planted-parameter"}),
        connection=Connection(proxy="http://proxy:1", proxy_user="user", proxy_password="planted-password"),
    )
    copies: list[object] = [
        options,
        options.credentials,
        options.connection,
        options.to_dict(),
        {**options.to_dict()},
        dataclasses.asdict(options),
        pickle.loads(pickle.dumps(options)),  # noqa: S301
        copy.deepcopy(options.credentials),
    ]
    assert not [shown for shown in copies if "planted" in f"{shown!r} {[shown]}"]
    assert options.to_dict()["credentialsProvider.vaultToken"] == "planted-parameter"
    assert hash(options) == hash(copy.deepcopy(options))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ({"stream_name": ["orders", "refunds"]}, {"stream_name": ("orders", "refunds")}),
        ({"stream_name": "orders, refunds"}, {"stream_name": ("orders", "refunds")}),
        ({"stream_name": None, "stream_arn": [ARN]}, {"stream_name": None, "stream_arn": (ARN,)}),
        ({"starting_position": "TRIM_HORIZON"}, {"starting_position": Position.trim_horizon()}),
        ({"starting_position": "latest"}, {"starting_position": Position.latest()}),
        ({"starting_position": "AT_TIMESTAMP:2026-01-31T08:00:00Z"}, {"starting_position": Position.at(MOMENT)}),
        ({"starting_position": "AT_TIMESTAMP:1769846400000"}, {"starting_position": Position.at(MOMENT)}),
        ({"starting_position": MOMENT}, {"starting_position": Position.at(MOMENT)}),
        ({"ending_position": '{"orders": "LATEST"}'}, {"ending_position": Positions('{"orders": "LATEST"}')}),
        ({"record_publisher": "polling"}, {"record_publisher": Polling()}),
        ({"fail_on_data_loss": "false"}, {"fail_on_data_loss": False}),
        ({"max_records_per_trigger": "500"}, {"max_records_per_trigger": 500}),
        ({"max_bytes_per_trigger": "256m"}, {"max_bytes_per_trigger": 256 << 20}),
        ({"max_bytes_per_trigger": "1 GB"}, {"max_bytes_per_trigger": 1 << 30}),
        ({"max_trigger_delay": "5 minutes"}, {"max_trigger_delay": timedelta(minutes=5)}),
        ({"max_trigger_delay": "1 hour 30 minutes"}, {"max_trigger_delay": timedelta(minutes=90)}),
        ({"max_trigger_delay": "1500"}, {"max_trigger_delay": timedelta(milliseconds=1500)}),
        ({"max_shard_skew": "off"}, {"max_shard_skew": timedelta(0)}),
        ({"role": ROLE}, {"role": AssumedRole(ROLE)}),
        (
            {"per_stream": [StreamOptions(stream="orders", role=ROLE)]},
            {"per_stream": (StreamOptions(stream="orders", role=AssumedRole(ROLE)),)},
        ),
    ],
    ids=str,
)
def test_what_users_of_spark_type_is_taken_for_the_value_that_it_stands_for(
    typed: dict[str, Any], meant: dict[str, Any]
) -> None:
    given, expected = (KinesisOptions(**({"stream_name": "orders"} | values)) for values in (typed, meant))
    assert given == expected
    assert given.to_dict() == expected.to_dict()
    assert hash(given) == hash(expected)


def test_a_half_millisecond_is_refused_and_not_taken_for_off() -> None:
    with pytest.raises(InvalidOptionError, match="max_shard_skew"):
        KinesisOptions(stream_name="orders", max_shard_skew=timedelta(microseconds=500))


def test_options_are_replaced_by_keyword_and_checked_again() -> None:
    options = KinesisOptions(stream_name="orders", region="eu-west-1")
    assert options.replace(max_bytes_per_trigger="1m").to_dict()["maxBytesPerTrigger"] == "1048576"
    with pytest.raises(InvalidOptionError, match="both were given"):
        options.replace(stream_arn=ARN)
    assert KinesisSinkOptions(stream_name="a").replace(ordered=True).to_dict() == {"streamName": "a", "ordered": "true"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("stream_names", "Unknown option 'stream_names'. Did you mean 'stream_name'?"),
        ("maxRecordsPerTrigger", "Unknown option 'maxRecordsPerTrigger'. Did you mean 'max_records_per_trigger'?"),
        ("q", "Unknown option 'q'."),
    ],
)
def test_an_unknown_keyword_is_refused_with_the_option_that_is_nearest(given: str, message: str) -> None:
    arguments: Any = {given: "orders"}
    with pytest.raises(InvalidOptionError) as refused:
        source_options(None, arguments)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("options", "arguments"), [(KinesisOptions, SourceArguments), (KinesisSinkOptions, SinkArguments)]
)
def test_keyword_arguments_of_functions_are_the_fields_of_the_options(options: type, arguments: type) -> None:
    fields = {f.name: f.type for f in dataclasses.fields(options)}
    named = {name: getattr(kind, "__forward_arg__", kind) for name, kind in arguments.__annotations__.items()}
    assert named == fields


@pytest.mark.parametrize(
    "options",
    [
        KinesisOptions(stream_name="orders"),
        KinesisOptions(
            stream_name=("orders", "refunds.eu"),
            starting_position=MOMENT,
            fail_on_data_loss=False,
            max_bytes_per_trigger="64m",
            max_trigger_delay=timedelta(milliseconds=1500),
            max_shard_skew=timedelta(0),
            record_publisher=Polling(2),
            credentials=StaticCredentials(*SECRETS),
            role=AssumedRole(
                ROLE, external_id="abc", role_chain=(ROLE, f"{ROLE}-1"), role_tags={"team": "data", "cost": ""}
            ),
            connection=Connection(
                proxy="http://proxy:3128", proxy_user="me", proxy_password="planted", max_connections=8
            ),
            cloud_watch=CloudWatch(namespace="Orders", interval=timedelta(minutes=5)),
            per_stream=(
                StreamOptions(stream="refunds.eu", region="us-east-1", starting_position=Position.latest()),
                StreamOptions(stream="orders", endpoint="https://vpce.example.com", role=AssumedRole(ROLE)),
            ),
        ),
        KinesisOptions(
            stream_name=("orders", "refunds.eu"),
            per_stream=(
                StreamOptions(stream="refunds.eu", credentials=CustomCredentials("com.example.Vault", {"a.b": "x"})),
                StreamOptions(stream="orders", credentials=StaticCredentials(*SECRETS)),
            ),
        ),
        KinesisOptions(
            stream_arn=(ARN, OTHER),
            ending_position=Positions('{"orders": "LATEST"}'),
            record_publisher=EnhancedFanOut(
                consumer_name="app",
                registration="eager",
                consumer_arns=(CONSUMER,),
                deregister_on_stop=False,
                tags={"team": "data"},
                calls_per_second=2,
            ),
            retries={
                "SubscribeToShard": Retries(max_retries=3, backoff_exp_const=1.5),
                "CreateOAuth2Token": Retries(backoff_max="2s"),
            },
            credentials=CustomCredentials("com.example.Vault", {"vaultToken": "planted", "path": "a.b"}),
            per_stream=(StreamOptions(stream=OTHER, role=ROLE),),
        ),
        KinesisOptions(
            stream_name=("orders", "refunds"),
            role=AssumedRole(ROLE, role_session_name="nightly"),
            per_stream=(StreamOptions(stream="orders", role=AssumedRole(role_session_name="kinesis-spark")),),
        ),
        KinesisOptions(stream_arn=ARN, credentials=ProfileCredentials("production")),
        KinesisOptions(stream_arn=ARN, credentials=WebIdentityCredentials("/token"), role=ROLE),
        KinesisSinkOptions(),
        KinesisSinkOptions(
            stream_name="orders",
            aggregate=True,
            aggregate_size="100k",
            bad_records="skip",
            linger=timedelta(seconds=1),
            retries={"PutRecords": Retries(max_retries=0)},
            role=ROLE,
            per_stream=(StreamOptions(stream="orders", region="us-east-1"),),
        ),
    ],
    ids=str,
)
def test_options_from_what_to_dict_wrote_are_the_same(options: KinesisOptions | KinesisSinkOptions) -> None:
    assert type(options).from_dict(options.to_dict()) == options
    upper = {name.upper() if "." not in name else name: text for name, text in options.to_dict().items()}
    assert type(options).from_dict(upper) == options


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "neither was given"),
        (STREAM | {"maxRecordPerTrigger": "1"}, "'maxRecordPerTrigger'. Did you mean 'maxRecordsPerTrigger'?"),
        (STREAM | {"efo.consumersName": "app"}, "'efo.consumersName'. Did you mean 'efo.consumerName'?"),
        (STREAM | {"stream_arn": ARN}, "Unknown option 'stream_arn'. Did you mean 'streamArn'?"),
        (STREAM | {"stream.orders.q": "1"}, "Unknown option 'stream.orders.q'"),
        (STREAM | {"stream.other.region": "eu-west-1"}, "one of the streams that are read"),
        (STREAM | {"streamname": "refunds"}, "'streamname' is given twice"),
        (STREAM | {"maxRecordsPerTrigger": 1}, "'maxRecordsPerTrigger': name and value must be texts"),
        (STREAM | {"maxRecordsPerTrigger": "0"}, "max_records_per_trigger='0' is not valid"),
        (STREAM | {"recordPublisher": "kpl"}, "recordPublisher='kpl' is not valid"),
        (STREAM | {"efo.registration": "later"}, "registration='later' is not valid"),
        (STREAM | {"recordPublisher": "efo", "efo.consumerArn.refunds": CONSUMER}, "a consumer of refunds"),
        (STREAM | {"externalId": "abc"}, "role: role_arn is missing"),
        (STREAM | {"stream.orders.externalId": "abc", "externalId": "abc"}, "role of orders: role_arn is missing"),
        (STREAM | {"accessKeyId": SECRETS[0]}, "Option 'secretAccessKey' is missing"),
        (STREAM | {"awsAccessKey": SECRETS[0]}, "Option 'secretAccessKey' is missing"),
        (
            STREAM | {"initialPosition": "LATEST", "startingPosition": "LATEST"},
            "'initialPosition' and 'startingPosition' are one option. Give it once.",
        ),
        (STREAM | {"initialPositions": "LATEST"}, "Did you mean 'initialPosition'?"),
        (STREAM | {"profile": "a", "secretAccessKey": SECRETS[1]}, "ProfileCredentials and StaticCredentials"),
        (STREAM | {"accessKeyId": " ", "secretAccessKey": SECRETS[1]}, "access_key_id"),
    ],
    ids=str,
)
def test_a_dict_that_no_options_can_be_made_of_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOptionError) as refused:
        KinesisOptions.from_dict(given)
    assert message in str(refused.value)
    assert not [secret for secret in SECRETS if secret in str(refused.value)]


def test_options_of_fan_out_are_left_out_with_a_warning_while_polling() -> None:
    given = STREAM | {"efo.consumerName": "app", "efo.tags": "team=data", "polling.callsPerSecond": "2"}
    with pytest.warns(UserWarning, match=r"^efo.consumerName, efo.tags: left out, because recordPublisher is polling"):
        options = KinesisOptions.from_dict(given)
    assert options == KinesisOptions(stream_name="orders", record_publisher=Polling(2))


def test_options_are_read_by_their_aliases_in_general_and_of_one_stream() -> None:
    keys = {"awsAccessKey": SECRETS[0], "AWSSECRETKEY": SECRETS[1]}
    own = {"initialPosition": "TRIM_HORIZON", "roleArn": ROLE, "roleExternalId": "abc", **keys}
    meant: dict[str, Any] = {
        "starting_position": Position.trim_horizon(),
        "credentials": StaticCredentials(*SECRETS[:2]),
        "role": AssumedRole(ROLE, external_id="abc"),
    }
    assert KinesisOptions.from_dict(STREAM | own) == KinesisOptions(stream_name="orders", **meant)
    of_stream = STREAM | {f"stream.orders.{name}": text for name, text in own.items()}
    per_stream = [StreamOptions(stream="orders", **meant)]
    assert KinesisOptions.from_dict(of_stream) == KinesisOptions(stream_name="orders", per_stream=per_stream)
    assert KinesisSinkOptions.from_dict(keys) == KinesisSinkOptions(credentials=meant["credentials"])


def test_a_sink_has_no_options_of_a_source() -> None:
    with pytest.raises(InvalidOptionError, match="Unknown option 'startingPosition'"):
        KinesisSinkOptions.from_dict(STREAM | {"startingPosition": "LATEST"})


def test_options_are_made_by_keyword_alone() -> None:
    with pytest.raises(TypeError):
        KinesisOptions("orders")  # type: ignore[call-arg]


def test_source_options_compare_hash_copy_and_pickle_by_value() -> None:
    options = KinesisOptions(stream_name="orders", per_stream=(StreamOptions(stream="orders", region="us-east-1"),))
    assert pickle.loads(pickle.dumps(options)) == copy.deepcopy(options) == options  # noqa: S301
    assert hash(options.replace(region="eu-west-1")) != hash(options)
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.region = "eu-west-1"  # type: ignore[misc]
    # Slots came with Python 3.10.
    assert sys.version_info < (3, 10) or not hasattr(options, "__dict__")
