"""Every kind of fault that the testkit's server knows, as rules of its control API (testkit/README.md). Pure.

Rules that would stop all reading inject a few times only; the others as chance has it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Rule = dict[str, Any]
Reader = Literal["polling", "efo", "any"]

_THROTTLED = "ProvisionedThroughputExceededException"
_SKEW_MS = 10 * 60 * 1000
_OUTAGE_CALLS = 60
_BLACKHOLE_CALLS = 4


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind.

    Attributes:
        reader: whom it concerns.
        rule: with a seed of its own.
        needs_end: it injected only where a shard ends.
    """

    name: str
    reader: Reader
    rule: Callable[[random.Random], Rule]
    needs_end: bool = False


def _call(name: str, reader: Reader, action: str, effect: dict[str, Any], probability: float = 0.4) -> Fault:
    return Fault(
        name,
        reader,
        lambda chance: {
            "action": action,
            "effect": effect,
            "probability": probability,
            "seed": chance.getrandbits(31),
        },
    )


def _event(effect: dict[str, Any], probability: float = 0.05, *, first: int | None = None) -> Fault:
    limit = {} if first is None else {"first": first}
    name = "event-" + str(effect.get("code", effect["type"]))
    rule = {"action": "SubscribeToShard", "effect": effect, "probability": probability, **limit}
    return Fault(name, "efo", lambda chance: {**rule, "seed": chance.getrandbits(31)})


def _at_end(kind: str) -> Fault:
    rule = {"action": "SubscribeToShard", "effect": {"type": kind}}
    return Fault(f"event-{kind}", "efo", lambda _: rule, needs_end=True)


def _of_calls(prefix: str, reader: Reader, action: str) -> list[Fault]:
    return [
        _call(f"{prefix}-500", reader, action, {"type": "httpStatus", "status": 500}),
        _call(f"{prefix}-503", reader, action, {"type": "httpStatus", "status": 503}),
        _call(f"{prefix}-delay", reader, action, {"type": "delay", "millis": 1500}),
        *(
            _call(f"{prefix}-reset-{at}", reader, action, {"type": "reset", "at": at}, 0.2)
            for at in ("beforeCall", "afterCall", "insideBody")
        ),
        _call(f"{prefix}-truncated", reader, action, {"type": "truncatedBody"}, 0.3),
        _call(f"{prefix}-garbage", reader, action, {"type": "garbageBody"}, 0.3),
        _call(f"{prefix}-skew", reader, action, {"type": "clockSkew", "millis": -_SKEW_MS}, 1.0),
    ]


def _blackhole(name: str, reader: Reader, action: str) -> Fault:
    """Calls that are taken and not answered for longer than any caller waits."""
    rule = {"action": action, "effect": {"type": "delay", "millis": 120_000}, "first": _BLACKHOLE_CALLS}
    return Fault(name, reader, lambda _: rule)


def _outage(name: str, reader: Reader, action: str) -> Fault:
    """All calls fail in a row, for as many calls as some shards make in half a minute."""
    rule = {"action": action, "effect": {"type": "httpStatus", "status": 500}, "first": _OUTAGE_CALLS}
    return Fault(name, reader, lambda _: rule)


FAULTS: tuple[Fault, ...] = (
    *_of_calls("get", "polling", "GetRecords"),
    _call("get-throttled", "polling", "GetRecords", {"type": "serviceCode", "code": _THROTTLED}, 0.7),
    _call("get-expired", "polling", "GetRecords", {"type": "serviceCode", "code": "ExpiredIteratorException"}, 0.3),
    _call("get-kms", "polling", "GetRecords", {"type": "serviceCode", "code": "KMSThrottlingException"}, 0.3),
    _call("get-empty", "polling", "GetRecords", {"type": "emptyAnswer", "millisBehindLatest": 5000}, 0.5),
    _call("iterator-throttled", "polling", "GetShardIterator", {"type": "serviceCode", "code": _THROTTLED}, 0.7),
    _call("iterator-reset", "polling", "GetShardIterator", {"type": "reset", "at": "afterCall"}, 0.5),
    *_of_calls("subscribe", "efo", "SubscribeToShard"),
    _outage("get-outage", "polling", "GetRecords"),
    _outage("subscribe-outage", "efo", "SubscribeToShard"),
    _blackhole("get-blackhole", "polling", "GetRecords"),
    _blackhole("iterator-blackhole", "polling", "GetShardIterator"),
    _blackhole("subscribe-blackhole", "efo", "SubscribeToShard"),
    _blackhole("listing-blackhole", "any", "ListShards"),
    _call(
        "subscribe-in-use", "efo", "SubscribeToShard", {"type": "serviceCode", "code": "ResourceInUseException"}, 0.5
    ),
    _call("subscribe-limit", "efo", "SubscribeToShard", {"type": "serviceCode", "code": "LimitExceededException"}, 0.5),
    _call(
        "consumer-limit",
        "efo",
        "DescribeStreamConsumer",
        {"type": "serviceCode", "code": "LimitExceededException"},
        0.5,
    ),
    _event({"type": "errorEvent", "code": "InternalFailureException"}),
    _event({"type": "errorEvent", "code": "KMSThrottlingException"}),
    _event({"type": "errorEvent", "code": "LimitExceededException"}),
    _event({"type": "errorEvent", "code": "ResourceInUseException"}, first=4),
    _event({"type": "emptyEvent", "millisBehindLatest": 3000}, 0.5),
    _event({"type": "delayEvent", "millis": 2000}, 0.2),
    _event({"type": "resetStream"}),
    _event({"type": "resetConnection"}, 0.02),
    _event({"type": "silence"}, first=2),
    _event({"type": "abruptEnd"}),
    _event({"type": "corruptFrame"}),
    _event({"type": "continuationMissing"}),
    _at_end("endWithContinuation"),
    _at_end("endWithheld"),
    Fault("place-held", "efo", lambda _: {"effect": {"type": "placeHeld", "millis": 6000}}),
    _call("listing-limit", "any", "ListShards", {"type": "serviceCode", "code": "LimitExceededException"}, 0.8),
    _call("listing-500", "any", "ListShards", {"type": "httpStatus", "status": 500}, 0.5),
    _call("listing-garbage", "any", "ListShards", {"type": "garbageBody"}, 0.3),
    _call("put-refused", "any", "PutRecords", {"type": "refuseEntries", "share": 0.5}, 0.5),
    _call("put-in-doubt", "any", "PutRecords", {"type": "reset", "at": "afterCall"}, 0.2),
)

BY_NAME = {fault.name: fault for fault in FAULTS}
EFFECTS = frozenset(str(fault.rule(random.Random(0))["effect"]["type"]) for fault in FAULTS)
"""Types of effect that are tried."""
