"""Compares the Python options with the connector's own definitions."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, get_args, get_type_hints

import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from kinesis_spark import (
    AnyPosition,
    AssumedRole,
    BadRecords,
    Connection,
    CustomCredentials,
    Deregistration,
    EnhancedFanOut,
    InvalidOptionError,
    KinesisOptions,
    KinesisSinkOptions,
    Polling,
    ProfileCredentials,
    RecordPublisher,
    Registration,
    Retries,
    SinkCall,
    SourceCall,
    StaticCredentials,
    StreamOptions,
    WebIdentityCredentials,
)
from kinesis_spark._declare import OptionSpec, groups, specs
from kinesis_spark.cli.policies import DEFAULTS, GIVEN, PERMISSIONS
from kinesis_spark.retries import prefix_of

CLASSES = (
    KinesisOptions,
    Polling,
    EnhancedFanOut,
    ProfileCredentials,
    StaticCredentials,
    CustomCredentials,
    WebIdentityCredentials,
    AssumedRole,
    Connection,
)
SINK_CLASSES = (
    KinesisSinkOptions,
    ProfileCredentials,
    StaticCredentials,
    CustomCredentials,
    WebIdentityCredentials,
    AssumedRole,
    Connection,
)
PER_STREAM = (
    StreamOptions,
    ProfileCredentials,
    StaticCredentials,
    CustomCredentials,
    WebIdentityCredentials,
    AssumedRole,
)

# How each of the connector's types looks in Python; a type that is missing here is a new one to decide on. Options that
# have a type of their own are there by name.
PYTHON_TYPE: dict[str, object] = {
    "string": str,
    "uri": str,
    "arn": str,
    "class": str,
    "list": str | Sequence[str],
    "map": Mapping[str, str] | str,
    "boolean": bool | str,
    "count": int,
    "number": float,
    "size": int | str,
    "duration": timedelta | str,
    "position": AnyPosition,
    "recordPublisher": RecordPublisher | str,
    "efo.registration": Registration,
    "efo.deregisterOnStop": Deregistration,
    "badRecords": BadRecords,
    "efo.consumerArn.<stream>": Sequence[str],
    "credentialsProvider.<parameter>": Mapping[str, str],
}
UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "k": 1 << 10, "g": 1 << 30}


@pytest.fixture(scope="module")
def jvm(spark: SparkSession) -> dict[str, dict[str, Any]]:
    """The connector's definitions of a source's options, by name."""
    return definitions(spark, "source")


@pytest.fixture(scope="module")
def jvm_sink(spark: SparkSession) -> dict[str, dict[str, Any]]:
    """The connector's definitions of a sink's options, by name."""
    return definitions(spark, "sink")


def definitions(spark: SparkSession, side: str) -> dict[str, dict[str, Any]]:
    assert spark._jvm is not None
    text = spark._jvm.io.github.kinesisspark.config.OptionDocs.json()
    return {o["name"]: o for o in json.loads(text) if o["scope"] in (side, "both")}


def declared(classes: tuple[type, ...]) -> dict[str, tuple[type, str, OptionSpec]]:
    """The class, field and specification of each option by its name, those of groups and calls with their prefix."""
    own = {spec.name: (cls, field, spec) for cls in classes for field, spec in specs(cls).items()}
    by_call = {
        f"{prefix_of(call)}.{spec.name}": (Retries, field, spec)
        for cls, calls in ((KinesisOptions, SourceCall), (KinesisSinkOptions, SinkCall))
        for call in get_args(calls)
        for field, spec in specs(Retries).items()
        if cls in classes
    }
    grouped = {
        f"{prefix}.{spec.name}": (inner, field, spec)
        for cls in classes
        for prefix, inner in groups(cls).values()
        for field, spec in specs(inner).items()
    }
    return own | grouped | by_call


def python_names(classes: tuple[type, ...]) -> dict[str, str]:
    """How each option but those of calls is reached in Python, by its name: `field`, or `group.field`."""
    own = {spec.name: field for cls in classes for field, spec in specs(cls).items()}
    grouped = {
        f"{prefix}.{spec.name}": f"{group}.{field}"
        for cls in classes
        for group, (prefix, inner) in groups(cls).items()
        for field, spec in specs(inner).items()
    }
    return own | grouped


def snake_case(name: str) -> str:
    """`realTime.reservedCores` is `real_time_reserved_cores`; what each stream has is a plural."""
    plain = name.removeprefix("efo.").removeprefix("polling.").replace("realTime.", "realTime_")
    plain = plain.replace(".<stream>", "s").replace(".<p", "P")
    words = re.sub("([A-Z])", r"_\1", plain.replace("er>", "ers")).lower()
    first, *rest = words.split(".")
    return ".".join([first, "_".join(rest)]) if rest else first


# A stream may have a role of its own, which takes from the general one what it leaves out: only None is left out.
LEFT_TO_CONNECTOR = {"roleSessionName": "kinesis-spark"}


def python_default(cls: type, field: str, spec: OptionSpec) -> str | None:
    default = next(f.default for f in dataclasses.fields(cls) if f.name == field)
    if default in (None, (), dataclasses.MISSING):
        return LEFT_TO_CONNECTOR.get(spec.name)
    return spec.kind.write(default)


def comparable(kind: str, text: str | None) -> object:
    """Two texts that mean the same become equal: 15m is 900s, 256m is 268435456."""
    match = re.fullmatch(r"(\d+)([a-z]*)", text or "")
    if match is None or kind not in ("duration", "size"):
        return text
    number, unit = match.groups()
    mebibyte = 1 << 20
    scale = mebibyte if (kind, unit) == ("size", "m") else UNITS.get(unit, 1)
    return int(number) * scale


def bare_type(cls: type, field: str) -> object:
    """The annotation without `| None`."""
    annotation = get_type_hints(cls)[field]
    rest = [part for part in get_args(annotation) if part is not type(None)]
    if not rest or type(None) not in get_args(annotation):
        return annotation
    union = rest[0]
    for part in rest[1:]:
        union = union | part
    return union


def test_python_and_connector_have_the_same_options(jvm: dict[str, dict[str, Any]]) -> None:
    assert sorted(declared(CLASSES)) == sorted(jvm)


def test_python_and_connector_allow_the_same_options_per_stream(jvm: dict[str, dict[str, Any]]) -> None:
    assert sorted(declared(PER_STREAM)) == sorted(name for name, o in jvm.items() if o["perStream"])


def test_python_and_connector_have_the_same_aliases(
    jvm: dict[str, dict[str, Any]], jvm_sink: dict[str, dict[str, Any]]
) -> None:
    for classes, options in ((CLASSES, jvm), (SINK_CLASSES, jvm_sink)):
        aliases = {name: list(spec.aliases) for name, (_, _, spec) in declared(classes).items()}
        assert aliases == {name: option["aliases"] for name, option in options.items()}
    for name, (_, _, spec) in declared(PER_STREAM).items():
        assert list(spec.aliases) == jvm[name]["aliases"], name


def test_python_option_names_are_the_connector_s_in_snake_case() -> None:
    names = python_names(CLASSES)
    assert {name: snake_case(name) for name in names} == names


def test_python_defaults_equal_the_connector_s(jvm: dict[str, dict[str, Any]]) -> None:
    options = {name: d for name, d in declared(CLASSES).items() if d[0] is not Retries}
    python = {name: comparable(jvm[name]["type"], python_default(*d)) for name, d in options.items()}
    assert python == {name: comparable(o["type"], o["default"]) for name, o in jvm.items() if name in options}


def test_the_table_of_permissions_has_the_connector_s_options_and_defaults(
    jvm: dict[str, dict[str, Any]], jvm_sink: dict[str, dict[str, Any]]
) -> None:
    options = jvm | jvm_sink
    for permission in PERMISSIONS:
        for name, values in permission.when.items():
            assert values == GIVEN or set(values) <= set(options[name]["values"]), name
    assert {name: options[name]["default"] for name in DEFAULTS} == dict(DEFAULTS)


def test_python_and_connector_have_the_same_bounds(
    jvm: dict[str, dict[str, Any]], jvm_sink: dict[str, dict[str, Any]]
) -> None:
    bounds = 0
    for name, (_, field, spec) in (declared(CLASSES) | declared(SINK_CLASSES)).items():
        option = (jvm | jvm_sink)[name]
        for bound, outward in (("least", -1), ("most", 1)):
            if option[bound] is None:
                continue
            bounds += 1
            spec.kind.read(field, option[bound])
            beyond = moved(option["type"], option[bound], outward)
            with pytest.raises(InvalidOptionError):
                spec.kind.read(field, beyond)
    assert bounds > 0


def moved(kind: str, bound: str, outward: int) -> object:
    """The value next to a bound."""
    value = comparable(kind, bound)
    if kind == "duration":
        assert isinstance(value, int)
        return timedelta(milliseconds=value + outward)
    return float(bound) + outward if kind == "number" else int(str(value)) + outward


def test_unset_retries_are_left_to_the_connector_s_defaults() -> None:
    assert {field.default for field in dataclasses.fields(Retries)} == {None}
    for options in (KinesisOptions, KinesisSinkOptions):
        assert next(field for field in dataclasses.fields(options) if field.name == "retries").default is None


def test_python_option_types_match_the_connector_s(jvm: dict[str, dict[str, Any]]) -> None:
    for name, (cls, field, _) in declared(CLASSES).items():
        expected = PYTHON_TYPE[name if name in PYTHON_TYPE else jvm[name]["type"]]
        found = bare_type(cls, field)
        assert expected in (found, getattr(found, "__name__", None)), name


def test_python_and_connector_accept_the_same_keywords(jvm: dict[str, dict[str, Any]]) -> None:
    assert {Polling._option_value, EnhancedFanOut._option_value} == set(jvm["recordPublisher"]["values"])
    assert set(get_args(Registration)) == set(jvm["efo.registration"]["values"])
    choices: tuple[Deregistration, ...] = ("registered", True, False)
    words = [EnhancedFanOut("app", deregister_on_stop=choice) for choice in choices]
    written = specs(EnhancedFanOut)["deregister_on_stop"]
    assert [written.kind.write(w.deregister_on_stop) for w in words] == jvm["efo.deregisterOnStop"]["values"]


def test_python_and_connector_hide_the_same_secrets(jvm: dict[str, dict[str, Any]]) -> None:
    assert {n for n, (_, _, s) in declared(CLASSES).items() if s.kind.secret} == {
        n for n, o in jvm.items() if o["secret"]
    }


def test_every_option_is_documented_in_python_and_in_the_connector(jvm: dict[str, dict[str, Any]]) -> None:
    assert all(o["doc"].strip() for o in jvm.values())
    for cls, field, _ in declared(CLASSES + PER_STREAM).values():
        assert f"        {field}: " in (cls.__doc__ or "") or f"\n    {field}: " in (cls.__doc__ or ""), (cls, field)


def test_sink_options_match_the_connector_s_in_name_type_default_and_doc(jvm_sink: dict[str, dict[str, Any]]) -> None:
    sink = declared(SINK_CLASSES)
    assert sorted(sink) == sorted(jvm_sink)
    names = python_names(SINK_CLASSES)
    assert {name: snake_case(name) for name in names} == names
    own = {name: d for name, d in sink.items() if d[0] is not Retries}
    python = {name: comparable(jvm_sink[name]["type"], python_default(*d)) for name, d in own.items()}
    assert python == {name: comparable(o["type"], o["default"]) for name, o in jvm_sink.items() if name in own}
    assert set(get_args(BadRecords)) == set(jvm_sink["badRecords"]["values"])
    for name, (cls, field, _) in sink.items():
        # A sink's options name one stream at most.
        of_type = PYTHON_TYPE.get(jvm_sink[name]["type"])
        kind = str if name in ("streamName", "streamArn") else PYTHON_TYPE.get(name, of_type)
        assert bare_type(cls, field) == kind, name
        assert f"        {field}: " in (cls.__doc__ or ""), name


ORDERS = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
OTHER = ORDERS.replace("eu-west-1", "us-east-1")
CONSUMER = f"{ORDERS}/consumer/app:1525898737"
ROLE = "arn:aws:iam::123456789012:role/reader"
OF_ORDERS, OF_SEVERAL = {"streamName": "orders"}, {"streamName": "orders,refunds"}
FAN_OUT = {"recordPublisher": "efo", "efo.consumerName": "app"}
TOKEN, STATIC = {"webIdentityTokenFile": "/token"}, {"accessKeyId": "id", "secretAccessKey": "secret"}
EIGHT = "AT_TIMESTAMP:2026-01-31T08:00:00Z"
BACKWARDS = {"startingPosition": EIGHT, "endingPosition": "AT_TIMESTAMP:2026-01-31T07:59:59.999Z"}
# Of a sink alone.
LINGER = {"linger": "1s"}


def parse_in_jvm(spark: SparkSession, options: type, given: Mapping[str, str]) -> str:
    """The connector's own options, as text.

    Raises:
        IllegalArgumentException: for options that the connector refuses.
    """
    jvm = spark._jvm
    assert jvm is not None
    config = jvm.io.github.kinesisspark.config
    parser = config.SourceOptions if options is KinesisOptions else config.SinkOptions
    return str(parser.parse(jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(dict(given))))


@pytest.mark.parametrize(
    "given",
    [
        OF_ORDERS | FAN_OUT | {"efo.registration": "EAGER", "efo.deregisterOnStop": "Registered"},
        OF_ORDERS | {"recordPublisher": "EFO", "efo.registration": "None", "efo.consumerArn.ORDERS": CONSUMER},
        OF_ORDERS | {"maxRetryDuration": "0", "maxTriggerDelay": "0"},
        OF_ORDERS | {"maxTriggerDelay": " 5 minutes ", "failOnDataLoss": " False", "startingPosition": " latest "},
        OF_ORDERS | {"region": "eu-west-1 ", "accessKeyId": " id ", "secretAccessKey": " secret "},
        OF_SEVERAL | {"stream.orders.roleArn": ROLE, "roleSessionName": "nightly", "externalId": "ext"},
        OF_SEVERAL | {"stream.orders.roleArn": ROLE, "roleTags": "team=data"},
        OF_SEVERAL | {"roleArn": ROLE, "stream.refunds.externalId": "ext"},
        OF_SEVERAL | {"roleArn": ROLE, "roleSessionName": "a1", "stream.orders.roleSessionName": "kinesis-spark"},
        OF_ORDERS | FAN_OUT | {"recordPublisher": "polling", "efo.tags": "team=data", "polling.callsPerSecond": "2"},
        {"streamName": "Orders,refunds", "stream.orders.region": "eu-west-1"},
        {"streamName": "Orders,orders", "stream.orders.region": "eu-west-1"},
        {"streamArn": ORDERS, "stream.ORDERS.endpoint": "http://127.0.0.1:1"},
        {"streamArn": f"{ORDERS},{OTHER}", **FAN_OUT, f"efo.consumerArn.{ORDERS}": CONSUMER},
        OF_ORDERS | TOKEN | {"stream.orders.roleArn": ROLE},
        OF_ORDERS | TOKEN | {"stream.orders.profile": "production"},
        OF_ORDERS | TOKEN | {"roleArn": ROLE, "roleChain": f"{ROLE}-1", "externalId": "ext", "roleTags": "team=data"},
        OF_ORDERS | TOKEN | {"roleArn": ROLE, "roleChain": f"{ROLE}-1,{ROLE}-2 ext"},
        OF_ORDERS | {"stsRegion": "eu-west-1"},
        OF_ORDERS | STATIC | {"stsRegion": "eu-west-1", "stream.orders.profile": "production"},
        OF_ORDERS | STATIC | {"stsEndpoint": "http://localhost:1", "stream.orders.roleArn": ROLE},
        {"streamArn": ORDERS, "region": "us-east-1", "stream.orders.region": "eu-west-1"},
        OF_ORDERS | BACKWARDS | {"stream.orders.endingPosition": "AT_TIMESTAMP:2026-01-31T08:00:00.001Z"},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*left out, because recordPublisher is polling")
def test_python_means_what_the_connector_means_by_the_options_of_a_source(
    spark: SparkSession, given: dict[str, str]
) -> None:
    _check_same_meaning(spark, KinesisOptions, given)


@pytest.mark.parametrize(
    "given",
    [
        OF_ORDERS | {"badRecords": "SKIP", "maxRetryDuration": "0ms"},
        OF_ORDERS | {"stream.refunds.roleArn": ROLE, "externalId": "ext"},
        {"streamName": " orders ", "ordered": "TRUE "},
        TOKEN | {"stream.refunds.roleArn": ROLE},
        OF_ORDERS | TOKEN | {"stream.ORDERS.roleArn": ROLE},
        {"streamArn": ORDERS, **TOKEN, "stream.orders.roleArn": ROLE},
        {"region": "us-east-1", f"stream.{ORDERS}.region": "eu-west-1"},
        {"stream.orders.roleArn": ROLE, f"stream.{ORDERS}.externalId": "ext"},
    ],
    ids=str,
)
def test_python_means_what_the_connector_means_by_the_options_of_a_sink(
    spark: SparkSession, given: dict[str, str]
) -> None:
    _check_same_meaning(spark, KinesisSinkOptions, given)


def _check_same_meaning(
    spark: SparkSession, kind: type[KinesisOptions | KinesisSinkOptions], given: dict[str, str]
) -> None:
    written = kind.from_dict(given).to_dict()
    assert parse_in_jvm(spark, kind, written) == parse_in_jvm(spark, kind, given)


@pytest.mark.parametrize(
    "given",
    [
        OF_ORDERS | {"linger": "0"},
        OF_ORDERS | {"externalId": "ext"},
        OF_SEVERAL | {"stream.orders.externalId": "ext", "stream.refunds.roleArn": ROLE},
        OF_ORDERS | {"efo.registration": "later"},
        OF_ORDERS | {"efo.consumerArn.refunds": CONSUMER},
        OF_ORDERS | {"getRecords.backoff.base": "0"},
        {"streamName": "Orders,oRders", "stream.orders.region": "eu-west-1"},
        OF_ORDERS | {"minRecordsPerTrigger": "11", "maxRecordsPerTrigger": "10"},
        OF_ORDERS
        | {
            "recordPublisher": "efo",
            "efo.registration": "none",
            "efo.consumerArn.orders": CONSUMER,
            "efo.deregisterOnStop": "true",
        },
        OF_ORDERS | {"fips": "true", "endpoint": "http://localhost:1"},
        OF_ORDERS | {"endpoint": "http://kinesis_mock:4567"},
        OF_ORDERS | {"startingPosition": "AT_TIMESTAMP:1969-12-31T23:59:59Z"},
        OF_ORDERS | {"linger": "1s", "dualStack": "true", "endpoint": "http://localhost:1"},
        OF_ORDERS | {"fips": "true", "stsEndpoint": "http://localhost:1"},
        OF_SEVERAL | {"fips": "true", "stream.orders.endpoint": "http://localhost:1"},
        OF_ORDERS | TOKEN,
        OF_SEVERAL | TOKEN | {"stream.orders.roleArn": ROLE},
        OF_ORDERS | {"stream.orders.webIdentityTokenFile": "/token"},
        OF_ORDERS | TOKEN | {"roleArn": ROLE, "externalId": "ext"},
        OF_ORDERS | TOKEN | {"roleArn": ROLE, "roleTags": "team=data"},
        OF_ORDERS | TOKEN | {"roleArn": ROLE, "roleChain": f"{ROLE}-1", "roleSourceIdentity": "alice"},
        OF_ORDERS | TOKEN | {"roleArn": ROLE, "roleChain": f"{ROLE}-1 ext"},
        OF_ORDERS | TOKEN | {"roleArn": ROLE, "stream.orders.externalId": "ext"},
        OF_ORDERS | {"roleArn": ROLE, "externalId": "ext", "stream.orders.webIdentityTokenFile": "/token"},
        OF_ORDERS | TOKEN | {"stream.orders.profile": "production", "externalId": "ext", "stream.orders.roleArn": ROLE},
        OF_ORDERS | STATIC | {"stsRegion": "eu-west-1"},
        OF_ORDERS | {"credentialsProvider": "Mine", "stsEndpoint": "http://localhost:1"},
        OF_ORDERS | {"proxy": "http://proxy"},
        OF_ORDERS | {"proxy": "http://proxy:1", "noProxy": "localhost,localhost"},
        OF_ORDERS | {"roleArn": ROLE, "roleChain": f"{ROLE}-1,{ROLE}-1 ext"},
        {"streamName": "orders,orders"},
        {"streamArn": f"{ORDERS},{ORDERS}"},
        {"streamArn": ORDERS, "region": "us-east-1"},
        {"streamArn": ORDERS, "stream.orders.region": "us-east-1"},
        OF_ORDERS | BACKWARDS,
        OF_ORDERS | {"startingPosition": EIGHT, "stream.orders.endingPosition": EIGHT},
        LINGER | {"maxInFlightCalls": "2147483648"},
        LINGER | OF_ORDERS | TOKEN,
        LINGER | OF_ORDERS | TOKEN | {"stream.refunds.roleArn": ROLE},
        LINGER | OF_ORDERS | TOKEN | {f"stream.{ORDERS}.roleArn": ROLE},
        LINGER | OF_ORDERS | TOKEN | {"roleArn": ROLE, "stream.refunds.externalId": "ext"},
        LINGER | {"stream.refunds.webIdentityTokenFile": "/token"},
        LINGER
        | {"stream.orders.roleArn": ROLE, f"stream.{ORDERS}.webIdentityTokenFile": "/token", "externalId": "ext"},
        LINGER | OF_ORDERS | STATIC | {"stsRegion": "eu-west-1"},
        LINGER | {"streamArn": ORDERS, "region": "us-east-1", "stream.orders.region": "eu-west-1"},
        LINGER | {f"stream.{ORDERS}.region": "us-east-1"},
        LINGER | {"stream.orders.roleSessionName": "kinesis-spark"},
    ],
    ids=str,
)
def test_python_and_connector_refuse_the_same_options(spark: SparkSession, given: dict[str, str]) -> None:
    options = KinesisSinkOptions if "linger" in given else KinesisOptions
    with pytest.raises(IllegalArgumentException, match="KINESIS_INVALID_OPTION"):
        parse_in_jvm(spark, options, given)
    with pytest.raises(InvalidOptionError):
        options.from_dict(given)
