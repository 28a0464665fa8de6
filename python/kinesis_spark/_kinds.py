"""The kinds of values that options have: what is accepted, the value that it stands for, and its text for Spark.

Each kind accepts what users of Spark type for it ("256m", "5 minutes", "true") beside Python's own values, in the same
forms as the connector does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from kinesis_spark.errors import InvalidOptionError

_Value = TypeVar("_Value")

MILLISECOND = timedelta(milliseconds=1)
# The largest numbers of the JVM's types.
MOST_INT, MOST_LONG = 2**31 - 1, 2**63 - 1
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DURATION = re.compile(r"(?:\d+\s*[a-z]+\s*)+")
_DURATION_PART = re.compile(r"(\d+)\s*([a-z]+)")
_DURATION_UNITS = {
    name: unit
    for unit, names in {
        timedelta(milliseconds=1): ("ms", "millisecond", "milliseconds"),
        timedelta(seconds=1): ("s", "sec", "second", "seconds"),
        timedelta(minutes=1): ("m", "min", "minute", "minutes"),
        timedelta(hours=1): ("h", "hr", "hour", "hours"),
        timedelta(days=1): ("d", "day", "days"),
    }.items()
    for name in names
}
_NUMBER = re.compile(r"\d+(\.\d+)?", re.ASCII)
_SIZE = re.compile(r"(\d+)\s*([a-z]*)")
_SIZE_UNITS = {"": 1, "b": 1} | {
    unit: 1024 ** (power + 1) for power, letter in enumerate("kmgt") for unit in (letter, f"{letter}b", f"{letter}ib")
}

# The user before a URL's host, as repr shows the URL.
_USER = re.compile(r"""^(['"](?:\w+://)?).*@""")
_REGION = re.compile(r"[a-z]{2,}(-[a-z0-9]+)*-[0-9]+")
_STREAM_NAME = re.compile(r"[\w.-]{1,128}", re.ASCII)
_STREAM_ARN = re.compile(r"arn:[\w-]+:kinesis:[a-z0-9-]+:\d{12}:stream/[\w.-]{1,128}", re.ASCII)


class Secret(str):
    """A text that no `repr` shows, however it is copied, pickled or put into other values; `str` gives it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'*****'"


class Kind(NamedTuple):
    """A kind of values.

    Attributes:
        read: the value that a given one stands for, by field name and given value; raises InvalidOptionError.
        write: its text for Spark.
        secret: whether it must not be shown.
    """

    read: Callable[[str, Any], Any]
    write: Callable[[Any], str] = str
    secret: bool = False


def require(condition: bool, field: str, value: object, expected: str) -> None:  # noqa: FBT001
    """Raise `InvalidOptionError` unless the condition holds."""
    if not condition:
        raise InvalidOptionError(f"{field}={_shown(value)} is not valid: expected {expected}")


def _shown(value: object) -> str:
    """A wrong value as an error may show it: no collection, which may hold secrets, and no user before a URL's host."""
    is_collection = isinstance(value, Collection) and not isinstance(value, str)
    return type(value).__name__ if is_collection else _USER.sub(r"\1***@", repr(value))


def matching(pattern: re.Pattern[str], expected: str) -> Kind:
    """A text that the pattern matches as a whole."""

    def read(field: str, value: object) -> object:
        require(isinstance(value, str) and pattern.fullmatch(value) is not None, field, value, expected)
        return value

    return Kind(read)


def _read_text(field: str, value: object) -> object:
    require(isinstance(value, str) and value.strip() != "", field, value, "a text that is not blank")
    return value


def _read_secret(field: str, value: object) -> object:
    good = isinstance(value, str) and value.strip() != ""
    # Without the value itself.
    found = "a blank text" if isinstance(value, str) else type(value).__name__
    if not good:
        raise InvalidOptionError(f"{field}=<{found}> is not valid: expected a text that is not blank")
    return Secret(value)


class ByName(dict[str, _Value]):
    """Values by their names. It is not changed once it is an option's value, so it may be hashed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


_TAG_KEY = re.compile(r"(?!aws:)[\w .:/+@-]{1,128}", re.IGNORECASE)
_TAG_VALUE = re.compile(r"[\w .:/=+@-]{0,256}")
MOST_TAGS = 50


def _read_tags(field: str, value: object) -> object:
    expected = (
        f'at most {MOST_TAGS} tags, such as {{"team": "data"}}, of letters, digits, inner spaces and _.:/=+-@, '
        "without = in keys, none of which begins with aws:"
    )
    pairs = [pair.partition("=") for pair in value.split(",")] if isinstance(value, str) else []
    split = {key.strip(): text.strip() if separator else None for key, separator, text in pairs}
    tags: Any = split if isinstance(value, str) else value
    require(isinstance(tags, Mapping) and len(tags) <= MOST_TAGS, field, value, expected)
    require(not isinstance(value, str) or len(tags) == len(pairs), field, value, "tags with different keys")
    for key, text in tags.items():
        good = isinstance(key, str) and _TAG_KEY.fullmatch(key) and isinstance(text, str) and _TAG_VALUE.fullmatch(text)
        # The connector doesn't count spaces around them.
        require(bool(good) and (key, text) == (key.strip(), text.strip()), field, key, expected)
    return ByName(tags)


def _write_tags(tags: Mapping[str, str]) -> str:
    return ",".join(f"{key}={text}" for key, text in tags.items())


def _read_boolean(field: str, value: object) -> bool:
    known = {"true": True, "false": False}
    meant = known.get(value.lower()) if isinstance(value, str) else value
    require(isinstance(meant, bool), field, value, "True or False")
    return meant is True


def _write_boolean(value: bool) -> str:  # noqa: FBT001
    return "true" if value else "false"


def _read_endpoint(field: str, value: object) -> object:
    expected = "a URL of scheme, host and perhaps port, like http://127.0.0.1:4567"
    require(isinstance(value, str) and _is_endpoint(value), field, value, expected)
    without = "a URL whose host has no underscore, because no host's name has one. Use another name, or an address"
    require("_" not in urlsplit(str(value)).netloc, field, value, without)
    return value


def _is_endpoint(text: str) -> bool:
    try:
        url = urlsplit(text)
        port_is_right = url.port is None or url.port > 0
    except ValueError:
        return False
    bare = url.path in ("", "/") and not (url.query or url.fragment or "@" in url.netloc)
    return url.scheme in ("http", "https") and bool(url.hostname) and bare and port_is_right


def _read_stream_arn(field: str, value: object) -> object:
    expected = "a stream's ARN, like arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
    require(is_stream_arn(value), field, value, expected)
    return value


def is_stream_arn(text: object) -> bool:
    """Whether it can be a stream's ARN."""
    return isinstance(text, str) and _STREAM_ARN.fullmatch(text) is not None


def meant_by(written: str, streams: Iterable[str]) -> list[str]:
    """The streams, given by name or ARN, that a name or ARN in an option's name may mean.

    Spark's maps may have lost the case of a key, so case decides only where there are several to choose from.
    """
    names = {stream: (stream, stream.rpartition("/")[2]) for stream in streams}
    exact = [stream for stream, known in names.items() if written in known]
    return exact or [s for s, known in names.items() if written.lower() in (name.lower() for name in known)]


def write_duration(value: timedelta) -> str:
    """A duration as Spark's time strings have it: whole seconds where that is exact, else milliseconds."""
    milliseconds = value // MILLISECOND
    return f"{milliseconds // 1000}s" if milliseconds % 1000 == 0 else f"{milliseconds}ms"


TEXT = Kind(_read_text)
SECRET = Kind(_read_secret, lambda value: value, secret=True)
TAGS = Kind(_read_tags, _write_tags)
BOOLEAN = Kind(_read_boolean, _write_boolean)
REGION = matching(_REGION, "the name of an AWS region, like eu-west-1")
ENDPOINT = Kind(_read_endpoint)
HOST = matching(
    re.compile(r"(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[?[0-9a-fA-F:]+\]?"),
    "a host's name, or *. with the end of one",
)
STREAM_NAME = matching(_STREAM_NAME, "a stream's name: 1 to 128 letters, digits, '_', '.' or '-'")
STREAM_ARN = Kind(_read_stream_arn)


def several(item: Kind, *, no_commas: bool = False, key: Callable[[str], str] = str) -> Kind:
    """One value of a kind, or several: texts with commas between them, a list, a tuple. One text stays one text.

    No two of them have the same `key`.
    """

    def read(field: str, value: object) -> object:
        if isinstance(value, str):
            parts = [part.strip() for part in value.split(",")]
            texts = [item.read(field, part) for part in parts]
            return texts[0] if len(texts) == 1 else once(field, texts)
        is_list = isinstance(value, Sequence) and not no_commas
        require(is_list, field, value, "a text, or a list of texts")
        return once(field, [item.read(field, part) for part in value])  # type: ignore[attr-defined]

    def once(field: str, texts: Sequence[str]) -> tuple[str, ...]:
        keys = [key(text) for text in texts]
        twice = sorted({each for each in keys if keys.count(each) > 1})
        require(not twice, field, ", ".join(twice), "each of them once")
        return tuple(texts)

    return Kind(read, lambda value: value if isinstance(value, str) else ",".join(value))


def tuple_of(kind: type | Kind, expected: str) -> Kind:
    """A list or tuple of values of a class or of a kind."""

    def read(field: str, value: object) -> object:
        require(isinstance(value, Sequence) and not isinstance(value, str), field, value, expected)
        items: Sequence[object] = value  # type: ignore[assignment]
        if isinstance(kind, Kind):
            return tuple(kind.read(field, item) for item in items)
        for item in items:
            require(isinstance(item, kind), field, type(item).__name__, expected)
        return tuple(items)

    return Kind(read)


def words(*choices: str) -> Kind:
    """One of some words."""
    expected = f"one of {', '.join(choices)}"

    def read(field: str, value: object) -> object:
        word = value.lower() if isinstance(value, str) else value
        require(word in choices, field, value, expected)
        return word

    return Kind(read)


def count(least: int = 1, most: int = MOST_INT) -> Kind:
    """A whole number, also as a text."""
    expected = f"a whole number of at least {least} and at most {most}"

    def read(field: str, value: object) -> object:
        number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
        fits = isinstance(number, int) and not isinstance(number, bool) and least <= number <= most
        require(fits, field, value, expected)
        return number

    return Kind(read)


def number(least: float) -> Kind:
    """A number, also one with a fraction, or as a text."""

    def read(field: str, value: object) -> object:
        given = float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value
        fits = isinstance(given, (int, float)) and not isinstance(given, bool) and least <= given < float("inf")
        require(fits, field, value, f"a number of at least {least:g}")
        return given

    return Kind(read)


def size(least: int = 1, most: int | None = None) -> Kind:
    """A number of bytes: a whole number, or a text such as "256m" or "1g"."""
    upper = "" if most is None else f" and at most {most}"
    expected = f'a number of bytes of at least {least}{upper}, such as 67108864, "64m" or "1g"'

    def read(field: str, value: object) -> object:
        bytes_ = _bytes_of(value) if isinstance(value, str) else value
        fits = isinstance(bytes_, int) and not isinstance(bytes_, bool) and least <= bytes_
        require(fits and (most is None or bytes_ <= most), field, value, expected)  # type: ignore[operator]
        return bytes_

    return Kind(read)


def _bytes_of(text: str) -> int | None:
    parts = _SIZE.fullmatch(text.lower())
    unit = None if parts is None else _SIZE_UNITS.get(parts.group(2))
    return None if parts is None or unit is None else int(parts.group(1)) * unit


def duration(least: timedelta = timedelta(0), *, most: timedelta = timedelta.max, off: bool = False) -> Kind:
    """A time of whole milliseconds: a timedelta, or a text such as "10 seconds", "15m" or "off" where `off` is one."""
    none = ", or off" if off else ""
    expected = (
        f"a datetime.timedelta of whole milliseconds of at least {least / MILLISECOND:g} ms"
        f"{'' if most == timedelta.max else f' and at most {most / MILLISECOND:g} ms'}, or a text such as "
        f'"10 seconds", "15m" or "500 ms"{none}'
    )

    def read(field: str, value: object) -> object:
        is_off = off and isinstance(value, str) and value.lower() == "off"
        time = timedelta(0) if is_off else _time_of(value) if isinstance(value, str) else value
        whole = isinstance(time, timedelta) and not time % MILLISECOND
        require(whole and least <= time <= most, field, value, expected)  # type: ignore[operator]
        return time

    return Kind(read, write_duration)


def _time_of(text: str) -> timedelta | None:
    lower = text.strip().lower()
    if lower.isascii() and lower.isdigit():
        return int(lower) * MILLISECOND
    if _DURATION.fullmatch(lower) is None:
        return None
    parts = [(int(amount), _DURATION_UNITS.get(unit)) for amount, unit in _DURATION_PART.findall(lower)]
    try:
        known = [amount * unit for amount, unit in parts if unit is not None]
        return sum(known, timedelta(0)) if len(known) == len(parts) else None
    except OverflowError:
        return None
