"""The IAM policies that a query needs. docs/reference/iam.md is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

Use = Literal["polling", "fan-out", "fan-out-none", "sink", "aggregating-sink"]

READ = ("DescribeStreamSummary", "ListShards", "GetShardIterator", "GetRecords")
_OF_STREAM: dict[Use, Sequence[str]] = {
    "polling": READ,
    "fan-out": (*READ, "RegisterStreamConsumer", "ListStreamConsumers"),
    "fan-out-none": READ,
    "sink": ("PutRecords",),
    "aggregating-sink": ("PutRecords", "ListShards"),
}
_OF_CONSUMER: dict[Use, Sequence[str]] = {
    "fan-out": ("DescribeStreamConsumer", "DeregisterStreamConsumer", "SubscribeToShard"),
    "fan-out-none": ("DescribeStreamConsumer", "SubscribeToShard"),
}
_KEY_ACTION: dict[Use, str] = {"sink": "kms:GenerateDataKey", "aggregating-sink": "kms:GenerateDataKey"}


def policy(use: Use, stream_arn: str, consumer: str = "*", key_arn: str | None = None) -> dict[str, Any]:
    """The policy for one stream.

    Args:
        use: what the query does.
        stream_arn: the stream's.
        consumer: the stream consumer's name, for fan-out.
        key_arn: the KMS key's, for an encrypted stream.
    """
    statements = [_statement([f"kinesis:{action}" for action in _OF_STREAM[use]], stream_arn)]
    if use in _OF_CONSUMER:
        # A consumer's ARN ends in the time of its registration.
        arn = f"{stream_arn}/consumer/{consumer}:*"
        statements.append(_statement([f"kinesis:{action}" for action in _OF_CONSUMER[use]], arn))
    if key_arn is not None:
        statements.append(_statement([_KEY_ACTION.get(use, "kms:Decrypt")], key_arn))
    return {"Version": "2012-10-17", "Statement": statements}


def _statement(actions: Sequence[str], resource: str) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": list(actions), "Resource": resource}
