"""The permissions that options need: one table, and the policies of IAM that follow from it.

docs/reference/iam.md is made of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from kinesis_spark._declare import did_you_mean, option_names, pattern_of
from kinesis_spark._kinds import meant_by
from kinesis_spark.credentials import KINDS
from kinesis_spark.errors import InvalidOptionError
from kinesis_spark.fan_out import EnhancedFanOut, Polling
from kinesis_spark.options import ACCESS, OF_ONE_STREAM, KinesisOptions
from kinesis_spark.retries import Retries, SinkCall, SourceCall, prefix_of
from kinesis_spark.write import KinesisSinkOptions

Side = Literal["source", "sink"]
Resource = Literal["stream", "consumer", "key", "metrics", "role"]
Use = Literal["polling", "fan-out", "fan-out-none", "sink", "aggregating-sink"]

# The condition of a permission that is needed wherever its option is given, whatever its value.
GIVEN = ("*",)


@dataclass(frozen=True)
class Permission:
    """An action that AWS must allow.

    Attributes:
        action: with the service's prefix.
        on: what it is allowed on.
        sides: who needs it.
        when: the values of options with which it is needed; all conditions must hold.
        shared: whether the resource's own policy can allow it to another account.
    """

    action: str
    on: Resource
    sides: Sequence[Side]
    when: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shared: bool = False


_SOURCE: Sequence[Side] = ("source",)
_SINK: Sequence[Side] = ("sink",)
_BOTH: Sequence[Side] = ("source", "sink")
_FAN_OUT = {"recordPublisher": ("efo",)}
_REGISTERS = {**_FAN_OUT, "efo.registration": ("lazy", "eager")}
_DEREGISTERS = {**_REGISTERS, "efo.deregisterOnStop": ("registered", "true")}

# Which AWS action each option needs.
PERMISSIONS: Sequence[Permission] = (
    Permission("kinesis:DescribeStreamSummary", "stream", _SOURCE, shared=True),
    Permission("kinesis:ListShards", "stream", _SOURCE, shared=True),
    # With fan-out, too: the driver looks into shards for where batches begin and end.
    Permission("kinesis:GetShardIterator", "stream", _SOURCE, shared=True),
    Permission("kinesis:GetRecords", "stream", _SOURCE, shared=True),
    Permission("kinesis:RegisterStreamConsumer", "stream", _SOURCE, _REGISTERS),
    Permission("kinesis:ListStreamConsumers", "stream", _SOURCE, _REGISTERS),
    Permission("kinesis:DescribeStreamConsumer", "consumer", _SOURCE, _FAN_OUT, shared=True),
    Permission("kinesis:DeregisterStreamConsumer", "consumer", _SOURCE, _DEREGISTERS),
    # By a tag a query knows the consumers that its runs have registered.
    Permission("kinesis:TagResource", "consumer", _SOURCE, _DEREGISTERS),
    Permission("kinesis:ListTagsForResource", "consumer", _SOURCE, _DEREGISTERS),
    Permission("kinesis:SubscribeToShard", "consumer", _SOURCE, _FAN_OUT, shared=True),
    Permission(
        "kinesis:TagResource",
        "consumer",
        _SOURCE,
        {**_REGISTERS, "efo.deregisterOnStop": ("false",), "efo.tags": GIVEN},
    ),
    Permission("kinesis:PutRecords", "stream", _SINK, shared=True),
    Permission("kinesis:ListShards", "stream", _SINK, {"aggregate": ("true",)}, shared=True),
    Permission("kms:Decrypt", "key", _SOURCE),
    Permission("kms:GenerateDataKey", "key", _SINK),
    Permission("cloudwatch:PutMetricData", "metrics", _SOURCE, {"cloudWatch.namespace": GIVEN}),
    Permission("sts:AssumeRole", "role", _BOTH, {"roleArn": GIVEN}),
    Permission("sts:TagSession", "role", _BOTH, {"roleTags": GIVEN}),
    Permission("sts:SetSourceIdentity", "role", _BOTH, {"roleSourceIdentity": GIVEN}),
)

DEFAULTS: Mapping[str, str] = {
    "recordPublisher": "polling",
    "efo.registration": "lazy",
    "efo.deregisterOnStop": "registered",
    "aggregate": "false",
}

USES: Mapping[Use, tuple[Side, Mapping[str, str]]] = {
    "polling": ("source", {}),
    "fan-out": ("source", {"recordPublisher": "efo"}),
    "fan-out-none": ("source", {"recordPublisher": "efo", "efo.registration": "none"}),
    "sink": ("sink", {}),
    "aggregating-sink": ("sink", {"aggregate": "true"}),
}


@dataclass(frozen=True)
class Resources:
    """What the actions are allowed on.

    Attributes:
        stream: the stream's ARN.
        consumer: the stream consumer's name, or its ARN.
        key: the KMS key's ARN, for an encrypted stream.
        roles: the ARNs of the roles that are assumed.
    """

    stream: str
    consumer: str = "*"
    key: str | None = None
    roles: Sequence[str] = ()

    def arns(self, of: Resource) -> Sequence[str]:
        """The ARNs of one kind."""
        if of == "stream":
            return [self.stream]
        if of == "metrics":
            # They have no ARN; a condition names the namespace.
            return ["*"]
        if of == "consumer":
            # The ARN ends in the time of the registration.
            is_arn = self.consumer.startswith("arn:")
            return [self.consumer if is_arn else f"{self.stream}/consumer/{self.consumer}:*"]
        return list(self.roles) if of == "role" else [self.key] if self.key is not None else []


_CLASSES: Mapping[Side, tuple[Sequence[type], object]] = {
    "source": ((KinesisOptions, Polling, EnhancedFanOut, *ACCESS), SourceCall),
    "sink": ((KinesisSinkOptions, *ACCESS), SinkCall),
}
# The option, and the stream as written.
_CONSUMER_OF_ONE_STREAM = re.compile(r"(efo\.consumerArn)\.(.+)", re.IGNORECASE)
_CREDENTIALS = re.compile(pattern_of(name for kind in KINDS for name in option_names(kind)), re.IGNORECASE)


def options_of_stream(side: Side, options: Mapping[str, str], stream: str) -> dict[str, str]:
    """The options that hold for one stream, by names in lower case: its own take the place of the general ones.

    The ARN of its stream consumer is `efo.consumerarn`.

    Args:
        side: what the options are for.
        options: as Spark has them.
        stream: the stream's ARN.

    Raises:
        InvalidOptionError: for an unknown name.
    """
    classes, calls = _CLASSES[side]
    names = [name for cls in classes for name in option_names(cls)]
    names += [name for call in get_args(calls) for name in option_names(Retries, f"{prefix_of(call)}.")]
    known = re.compile(pattern_of(names), re.IGNORECASE)
    general: dict[str, str] = {}
    own: dict[str, str] = {}
    for name, value in options.items():
        if of_one := OF_ONE_STREAM.fullmatch(name):
            written, option = of_one.groups()
        elif known.fullmatch(name) is None:
            raise InvalidOptionError(f"Unknown option '{name}'.{did_you_mean(name, names)}")
        elif consumer := _CONSUMER_OF_ONE_STREAM.fullmatch(name):
            option, written = consumer.groups()
        else:
            general[name.lower()] = value
            continue
        if meant_by(written, [stream]):
            own[option.lower()] = value
    if "efo.consumerarn" in own:
        own["efo.registration"] = "none"
    if any(_CREDENTIALS.fullmatch(name) for name in own):
        # They replace the general ones as a whole.
        general = {name: value for name, value in general.items() if _CREDENTIALS.fullmatch(name) is None}
    return general | own


def needed(side: Side, options: Mapping[str, str]) -> list[Permission]:
    """The permissions that options need, in the table's order. The names of options are matched in any case.

    Args:
        side: what the options are for.
        options: as Spark has them; others than those of the table don't matter.
    """
    given = {name.lower(): value for name, value in options.items()}
    chosen = {name.lower(): value for name, value in DEFAULTS.items()} | given

    def holds(name: str, values: Sequence[str]) -> bool:
        value = chosen.get(name.lower())
        return value is not None and (values == GIVEN or value.lower() in values)

    return [p for p in PERMISSIONS if side in p.sides and all(holds(*condition) for condition in p.when.items())]


def policy(side: Side, options: Mapping[str, str], resources: Resources) -> dict[str, Any]:
    """The policy for the principal whose credentials a query calls a stream with.

    Where a role is assumed, the last statement is for the principal that assumes it, and all others are for the role.
    """
    made = _policy(needed(side, options), resources, {})
    namespaces = [value for name, value in options.items() if name.lower() == "cloudwatch.namespace"]
    for statement in made["Statement"]:
        if statement["Resource"] == "*":
            statement["Condition"] = {"StringEquals": {"cloudwatch:namespace": namespaces[-1]}}
    return made


def resource_policy(
    side: Side, options: Mapping[str, str], resources: Resources, on: Resource, principal: str
) -> dict[str, Any]:
    """The policy of a stream, or of a consumer, that shares it with a principal of another account.

    https://docs.aws.amazon.com/streams/latest/dev/resource-based-policy-examples.html
    """
    shared = [permission for permission in needed(side, options) if permission.shared and permission.on == on]
    return _policy(shared, resources, {"Principal": {"AWS": principal}})


def _policy(permissions: Sequence[Permission], resources: Resources, who: Mapping[str, Any]) -> dict[str, Any]:
    kinds: Sequence[Resource] = ("stream", "consumer", "key", "metrics", "role")
    statements = []
    for kind in kinds:
        actions = [permission.action for permission in permissions if permission.on == kind]
        arns = resources.arns(kind)
        if actions and arns:
            resource = arns[0] if len(arns) == 1 else arns
            statements.append({"Effect": "Allow", **who, "Action": actions, "Resource": resource})
    return {"Version": "2012-10-17", "Statement": statements}
