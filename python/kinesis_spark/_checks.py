"""Checks that the options of reading and of writing have in common: what is called, and in whose name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import get_args
from urllib.parse import urlsplit

from kinesis_spark._declare import require, require_match
from kinesis_spark.credentials import AssumedRole, Credentials

_REGION = re.compile(r"[a-z]{2,}(-[a-z0-9]+)*-[0-9]+")
_STREAM_NAME = re.compile(r"[\w.-]{1,128}", re.ASCII)
_STREAM_ARN = re.compile(r"arn:[\w-]+:kinesis:[a-z0-9-]+:\d{12}:stream/[\w.-]{1,128}", re.ASCII)


def as_tuple(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """The items of one text with commas, or of several."""
    if value is None:
        return ()
    return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else tuple(value)


def require_stream_name(field: str, name: object) -> None:
    """Refuse what can't be a stream's name."""
    require_match(field, name, _STREAM_NAME, "a stream's name: 1 to 128 letters, digits, '_', '.' or '-'")


def is_stream_arn(text: object) -> bool:
    """Whether it can be a stream's ARN."""
    return isinstance(text, str) and _STREAM_ARN.fullmatch(text) is not None


def require_stream_arn(field: str, arn: object) -> None:
    """Refuse what can't be a stream's ARN."""
    require(is_stream_arn(arn), field, arn, "a stream's ARN, like arn:aws:kinesis:eu-west-1:123456789012:stream/orders")


def require_place(region: str | None, endpoint: str | None) -> None:
    """Refuse what can't be a region or an endpoint; None means unset and is fine."""
    if region is not None:
        require_match("region", region, _REGION, "the name of an AWS region, like eu-west-1")
    if endpoint is not None:
        expected = "a URL of scheme, host and perhaps port, like http://127.0.0.1:4567"
        require(isinstance(endpoint, str) and _is_endpoint(endpoint), "endpoint", endpoint, expected)


def require_credentials(credentials: object, role: object) -> None:
    """Refuse what are no credentials, or no role, of this package."""
    kinds = get_args(Credentials)
    expected = f"one of {', '.join(kind.__name__ for kind in kinds)}"
    require(isinstance(credentials, kinds), "credentials", type(credentials).__name__, expected)
    valid = role is None or isinstance(role, AssumedRole)
    require(valid, "role", type(role).__name__, "an AssumedRole, or None")


def _is_endpoint(text: str) -> bool:
    try:
        url = urlsplit(text)
        port_is_right = url.port is None or url.port > 0
    except ValueError:
        return False
    bare = url.path in ("", "/") and not (url.query or url.fragment or url.username)
    return url.scheme in ("http", "https") and bool(url.hostname) and bare and port_is_right
