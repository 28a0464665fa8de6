"""Compares operations, members, limits and enums of the local server and of the connector with botocore's model."""

from __future__ import annotations

import base64
import http.client
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

import botocore.session
import pytest
from botocore.model import Shape
from patience import PATIENCE_S
from pyspark.sql import SparkSession

from kinesis_spark import (
    EnhancedFanOut,
    InvalidOptionError,
    KinesisOptions,
    LocalKinesis,
    Polling,
    StaticCredentials,
    read_stream,
)
from kinesis_spark.fan_out import RecordPublisher
from kinesis_spark.position import PositionKind

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "testkit" / "README.md").read_text()
MODEL = botocore.session.get_session().get_service_model("kinesis")

# Other resources than streams, and what the README of the server says does not exist.
LEFT_OUT = {name for name in MODEL.operation_names if re.search("Channel|Queue", name)} | {
    "DescribeAccountSettings",
    "UpdateAccountSettings",
    "UpdateStreamWarmThroughput",
}
# As the service answers what its model does not allow: its documentation does not say which of both comes when.
REFUSED = {"ValidationException", "InvalidArgumentException"}

SHARDS = [f"shardId-{n:012}" for n in range(2)]
DATA = base64.b64encode(b"data").decode()


class Server:
    """The local server, called without an SDK, whose model would not let a wrong call out."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint

    def call(self, operation: str, **members: object) -> tuple[int, dict[str, Any]]:
        """The status and the members of an answer; of a subscription, none."""
        target = urlsplit(self.endpoint)
        connection = http.client.HTTPConnection(str(target.hostname), target.port, timeout=60)
        headers = {
            "X-Amz-Target": f"Kinesis_20131202.{operation}",
            "Content-Type": "application/x-amz-json-1.1",
        }
        try:
            connection.request("POST", "/", json.dumps(members), headers)
            answer = connection.getresponse()
            is_open = operation == "SubscribeToShard" and answer.status == http.client.OK
            return answer.status, json.loads((not is_open and answer.read()) or b"{}")
        finally:
            connection.close()

    def done(self, operation: str, **members: object) -> dict[str, Any]:
        """The members of the answer to a call that succeeds."""
        status, answer = self.call(operation, **members)
        assert status == 200, (operation, members, answer)
        return answer


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with LocalKinesis({}) as kinesis:
        yield Server(kinesis.endpoint)


def accepted(server: Server, operation: str) -> dict[str, Any]:
    """The members of a call that succeeds, of as many members as go together, on a stream of its own."""
    name = f"stream-of-{operation}"
    server.done("CreateStream", StreamName=name, ShardCount=2)
    by_name = {"StreamName": name}
    arn = server.done("DescribeStreamSummary", **by_name)["StreamDescriptionSummary"]["StreamARN"]
    by_arn, resource = {"StreamARN": arn}, {"ResourceARN": arn}
    policy = json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Principal": {"AWS": "123456789012"},
                    "Action": "kinesis:PutRecord",
                    "Resource": arn,
                }
            ],
        }
    )
    if operation == "DeleteResourcePolicy":
        server.done("PutResourcePolicy", **resource, Policy=policy)
    consumer = server.done("RegisterStreamConsumer", **by_arn, ConsumerName="reader")["Consumer"]["ConsumerARN"]
    number = server.done("PutRecord", **by_name, PartitionKey="k", Data=DATA, ExplicitHashKey="0")["SequenceNumber"]
    first = {**by_name, "ShardId": SHARDS[0]}
    iterator = server.done("GetShardIterator", **first, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
    kms = {"EncryptionType": "KMS", "KeyId": "alias/aws/kinesis"}
    metrics = {"ShardLevelMetrics": ["ALL"]}
    tags = {"Tags": {"key": "value"}}
    record = {"PartitionKey": "k", "Data": DATA, "ExplicitHashKey": "0"}
    calls: dict[str, dict[str, Any]] = {
        "AddTagsToStream": {**by_name, **tags},
        "CreateStream": {
            "StreamName": f"{name}-new",
            "ShardCount": 1,
            "StreamModeDetails": {"StreamMode": "PROVISIONED"},
            "MaxRecordSizeInKiB": 1024,
            **tags,
        },
        "DecreaseStreamRetentionPeriod": {**by_name, "RetentionPeriodHours": 24},
        "DeleteResourcePolicy": resource,
        "DeleteStream": {**by_name, "EnforceConsumerDeletion": True},
        "DeregisterStreamConsumer": {**by_arn, "ConsumerName": "reader"},
        "DescribeLimits": {},
        "DescribeStream": {**by_name, "Limit": 10, "ExclusiveStartShardId": SHARDS[0]},
        "DescribeStreamConsumer": {**by_arn, "ConsumerName": "reader"},
        "DescribeStreamSummary": by_name,
        "DisableEnhancedMonitoring": {**by_name, **metrics},
        "EnableEnhancedMonitoring": {**by_name, **metrics},
        "GetRecords": {"ShardIterator": iterator, "Limit": 10},
        "GetResourcePolicy": resource,
        "GetShardIterator": {**first, "ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": number},
        "IncreaseStreamRetentionPeriod": {**by_name, "RetentionPeriodHours": 48},
        "ListShards": {**by_name, "MaxResults": 10, "ShardFilter": {"Type": "AFTER_SHARD_ID", "ShardId": SHARDS[0]}},
        "ListStreamConsumers": {**by_arn, "MaxResults": 10},
        "ListStreams": {"Limit": 10, "ExclusiveStartStreamName": "a"},
        "ListTagsForResource": resource,
        "ListTagsForStream": {**by_name, "Limit": 10, "ExclusiveStartTagKey": "a"},
        "MergeShards": {**by_name, "ShardToMerge": SHARDS[0], "AdjacentShardToMerge": SHARDS[1]},
        "PutRecord": {**by_name, **record, "SequenceNumberForOrdering": number},
        "PutRecords": {**by_name, "Records": [record]},
        "PutResourcePolicy": {**resource, "Policy": policy},
        "RegisterStreamConsumer": {**by_arn, "ConsumerName": "another", **tags},
        "RemoveTagsFromStream": {**by_name, "TagKeys": ["key"]},
        "SplitShard": {**by_name, "ShardToSplit": SHARDS[0], "NewStartingHashKey": "1000"},
        "StartStreamEncryption": {**by_name, **kms},
        "StopStreamEncryption": {**by_name, **kms},
        "SubscribeToShard": {
            "ConsumerARN": consumer,
            "ShardId": SHARDS[0],
            "StartingPosition": {"Type": "AT_SEQUENCE_NUMBER", "SequenceNumber": number},
        },
        "TagResource": {**resource, **tags},
        "UntagResource": {**resource, "TagKeys": ["key"]},
        "UpdateMaxRecordSize": {**by_arn, "MaxRecordSizeInKiB": 2048},
        "UpdateShardCount": {**by_name, "TargetShardCount": 4, "ScalingType": "UNIFORM_SCALING"},
        "UpdateStreamMode": {**by_arn, "StreamModeDetails": {"StreamMode": "ON_DEMAND"}},
        "UpdateStreamRecordDistributionStrategy": {**by_arn, "RecordDistributionStrategy": "USER_PARTITION_KEY"},
    }
    return calls[operation]


# A value of JSON.
Json = Any
Wrong = Iterator[tuple[str, Json]]


def wrong_values(shape: Shape, given: Json) -> Wrong:
    """Values near to a given one that a shape does not allow, each with the constraint that it breaks."""
    kinds: dict[str, Callable[[Shape, Json], Wrong]] = {
        "string": wrong_texts,
        "integer": wrong_numbers,
        "long": wrong_numbers,
        "list": wrong_lists,
        "map": wrong_maps,
        "structure": wrong_structures,
    }
    return kinds[shape.type_name](shape, given) if shape.type_name in kinds else iter(())


def wrong_texts(shape: Shape, _: Json = None) -> Wrong:
    limits = shape.metadata
    if shape.enum:
        yield "enum", "NO_SUCH_VALUE"
    if limits.get("min"):
        yield f"min {limits['min']}", ""
    if "max" in limits:
        yield f"max {limits['max']}", "a" * (limits["max"] + 1)
    if "pattern" in limits:
        yield "pattern", "no match: a space"


def wrong_numbers(shape: Shape, _: Json) -> Wrong:
    for bound, step in (("min", -1), ("max", 1)):
        if bound in shape.metadata:
            yield f"{bound} {shape.metadata[bound]}", shape.metadata[bound] + step


def wrong_lists(shape: Shape, given: Json) -> Wrong:
    one = given[0] if given else "x"
    if "min" in shape.metadata:
        yield f"min {shape.metadata['min']}", []
    if "max" in shape.metadata:
        yield f"max {shape.metadata['max']}", [one] * (shape.metadata["max"] + 1)
    for constraint, value in wrong_values(shape.member, one):
        yield f"[] {constraint}", [value]


def wrong_maps(shape: Shape, _: Json) -> Wrong:
    if "min" in shape.metadata:
        yield f"min {shape.metadata['min']}", {}
    if "max" in shape.metadata:
        yield f"max {shape.metadata['max']}", {f"key-{n}": "" for n in range(shape.metadata["max"] + 1)}
    for constraint, value in wrong_texts(shape.key):
        yield f"key {constraint}", {value: "value"}
    for constraint, value in wrong_texts(shape.value):
        yield f"value {constraint}", {"key": value}


def wrong_structures(shape: Shape, given: Json) -> Wrong:
    given = given or {}
    for name, member in shape.members.items():
        if name in shape.required_members:
            yield f"{name} required", {key: value for key, value in given.items() if key != name}
        for constraint, value in wrong_values(member, given.get(name)):
            yield f"{name} {constraint}", {**given, name: value}


KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "long": int,
    "boolean": bool,
    "timestamp": (int, float),
    "blob": str,
    "list": list,
    "structure": dict,
    "map": dict,
}


def strange(shape: Shape, value: Json, at: str) -> Iterator[str]:
    """What of an answer its shape does not have."""
    is_of_kind = isinstance(value, KINDS[shape.type_name])
    if not is_of_kind:
        yield f"{at}: {value!r} is no {shape.type_name}"
    elif shape.type_name == "structure":
        yield from (f"{at}.{name}: unknown" for name in value.keys() - shape.members.keys())
        yield from (f"{at}.{name}: missing" for name in set(shape.required_members) - value.keys())
        for name in value.keys() & shape.members.keys():
            yield from strange(shape.members[name], value[name], f"{at}.{name}")
    elif shape.type_name == "list":
        for item in value:
            yield from strange(shape.member, item, f"{at}[]")
    elif shape.type_name == "string":
        yield from (f"{at}: {value!r} breaks {constraint}" for constraint in broken(shape, value))


def broken(shape: Shape, value: str) -> Iterator[str]:
    """The constraints of a text's shape that a value breaks."""
    limits = shape.metadata
    if not limits.get("min", 0) <= len(value) <= limits.get("max", len(value)):
        yield f"min {limits.get('min')}, max {limits.get('max')}"
    if shape.enum and value not in shape.enum:
        yield f"enum {shape.enum}"
    if not re.fullmatch(limits.get("pattern", ".*"), value, re.DOTALL):
        yield f"pattern {limits['pattern']}"


def test_the_server_has_all_operations_but_those_that_it_leaves_out(server: Server) -> None:
    unknown = {
        name for name in MODEL.operation_names if server.call(name)[1].get("__type") == "UnknownOperationException"
    }
    assert unknown == LEFT_OUT
    assert server.call("NoSuchOperation")[1]["__type"] == "UnknownOperationException"


@pytest.mark.parametrize("operation", sorted(set(MODEL.operation_names) - LEFT_OUT))
def test_an_operation_takes_what_the_model_allows_and_nothing_else(server: Server, operation: str) -> None:
    model = MODEL.operation_model(operation)
    members = accepted(server, operation)
    faults: list[str] = []
    for constraint, wrong in wrong_structures(model.input_shape, members) if model.input_shape else ():
        status, answer = server.call(operation, **wrong)
        if status == 200 or answer["__type"] not in REFUSED:
            faults.append(f"{constraint}: {answer.get('__type', 'accepted')}")
    answer = server.done(operation, **members)
    if model.output_shape and operation != "SubscribeToShard":
        faults.extend(strange(model.output_shape, answer, operation))
    assert faults == []


def limits_of(operation: str, *path: str) -> dict[str, int]:
    """The limits of a member, named by the members around it; those of a list's items come after the list."""
    shape = MODEL.operation_model(operation).input_shape
    for name in path:
        shape = (shape.member if shape.type_name == "list" else shape).members[name]
    limits: dict[str, int] = shape.metadata
    return limits


def test_the_connector_s_calls_are_operations_of_the_services_models() -> None:
    page = (ROOT / "docs" / "reference" / "calls.md").read_text()
    named = {
        name for row in re.findall(r"^\| ([A-Z]\w+(?:, [A-Z]\w+)*) \|", page, re.MULTILINE) for name in row.split(", ")
    }
    named -= {"Call"}
    session = botocore.session.get_session()
    services = ("kinesis", "cloudwatch", "sts", "sso", "sso-oidc", "signin")
    known = {name for service in services for name in session.get_service_model(service).operation_names}
    assert {"GetRecords", "SubscribeToShard", "PutRecords", "PutMetricData", "CreateOAuth2Token"} <= named
    assert named - known == set()


def test_positions_in_time_are_of_the_model_s_kinds() -> None:
    kinds = MODEL.shape_for("ShardIteratorType").enum
    assert set(get_args(PositionKind)) == {kind for kind in kinds if "SEQUENCE_NUMBER" not in kind}


def test_names_are_as_long_as_the_model_allows() -> None:
    stream, consumer = (
        limits_of("DescribeStreamSummary", "StreamName")["max"],
        limits_of("RegisterStreamConsumer", "ConsumerName")["max"],
    )
    KinesisOptions(stream_name="s" * stream, region="eu-west-1", record_publisher=EnhancedFanOut("c" * consumer))
    with pytest.raises(InvalidOptionError):
        KinesisOptions(stream_name="s" * (stream + 1), region="eu-west-1")
    with pytest.raises(InvalidOptionError):
        EnhancedFanOut("c" * (consumer + 1))


def test_the_connector_s_limits_are_the_model_s(spark: SparkSession) -> None:
    assert spark._jvm is not None
    connector: Any = spark._jvm.io.github.kinesisspark
    assert connector.write.send.SizeLimits.MaxRecords() == limits_of("PutRecords", "Records")["max"]
    assert connector.write.send.Entry.MaxKeyLength() == limits_of("PutRecords", "Records", "PartitionKey")["max"]
    assert connector.write.send.Entry.MaxSize() == limits_of("PutRecords", "Records", "Data")["max"]
    assert connector.read.reader.PollingRecordPublisher.MostRecords() == limits_of("GetRecords", "Limit")["max"]


@pytest.mark.parametrize("publisher", [Polling(), EnhancedFanOut("app")], ids=["polling", "fan-out"])
def test_records_are_read_whether_or_not_their_stream_was_encrypted(
    spark: SparkSession, server: Server, tmp_path: Path, publisher: RecordPublisher
) -> None:
    stream = {"StreamName": f"encrypted-{type(publisher).__name__}"}
    kms = {"EncryptionType": "KMS", "KeyId": "alias/aws/kinesis"}
    record = {"PartitionKey": "key", "Data": DATA}
    server.done("CreateStream", **stream, ShardCount=1)
    server.done("PutRecord", **stream, **record)
    server.done("StartStreamEncryption", **stream, **kms)
    assert server.done("PutRecord", **stream, **record)["EncryptionType"] == "KMS"
    server.done("StopStreamEncryption", **stream, **kms)
    server.done("PutRecord", **stream, **record)
    options = KinesisOptions(
        stream_name=stream["StreamName"],
        region="us-east-1",
        endpoint=server.endpoint,
        credentials=StaticCredentials("local", "local"),
        starting_position="TRIM_HORIZON",
        record_publisher=publisher,
    )
    heard = tmp_path / "heard"
    writer = read_stream(spark, options).selectExpr("CAST(data AS STRING) AS text").writeStream.format("json")
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    assert query.start(str(heard)).awaitTermination(PATIENCE_S)
    assert [row["text"] for row in spark.read.schema("text STRING").json(str(heard)).collect()] == ["data"] * 3
