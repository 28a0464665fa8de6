"""How a dataclass field becomes a Spark option: the option's name, and how a value is written as text.

Every option is declared once, as a field made by `option`; encoding and the comparison with the JVM's definitions read
the declaration and need no second list of names.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from kinesis_spark.errors import InvalidOptionError

_OPTION = "kinesis_spark.option"
_GROUP = "kinesis_spark.group"


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option: its name for Spark, and how a Python value is written, as text or as several options."""

    name: str
    encode: Callable[[Any], str]
    secret: bool
    write: Callable[[str, Any], dict[str, str]] | None = None

    def options(self, value: object) -> dict[str, str]:
        """What Spark is handed for a value."""
        return {self.name: self.encode(value)} if self.write is None else self.write(self.name, value)


# Any, as `dataclasses.field` itself: the type is the annotation's, which mypy checks against the default at each use.
def option(
    name: str,
    *,
    default: Any = dataclasses.MISSING,  # noqa: ANN401
    encode: Callable[[Any], str] = str,
    secret: bool = False,
    write: Callable[[str, Any], dict[str, str]] | None = None,
) -> Any:  # noqa: ANN401
    """A dataclass field that is the Spark option `name`: required without a default, out of `repr` if a secret.

    Where one value is several options, or none, `write` says which, and `encode` doesn't count.
    """
    spec = OptionSpec(name, encode, secret, write)
    return dataclasses.field(default=default, repr=not secret, metadata={_OPTION: spec})


def group(prefix: str, *, default: Any) -> Any:  # noqa: ANN401
    """A dataclass field that holds a dataclass of options, whose names Spark is handed with `prefix.` before them."""
    return dataclasses.field(default=default, metadata={_GROUP: prefix})


def specs(cls: type) -> Mapping[str, OptionSpec]:
    """The options that a class declares itself, by field name."""
    fields = dataclasses.fields(cast("Any", cls))
    return {f.name: f.metadata[_OPTION] for f in fields if _OPTION in f.metadata}


def groups(cls: type) -> Mapping[str, tuple[str, type]]:
    """The groups of options that a class holds: prefix and class, by field name."""
    fields = dataclasses.fields(cast("Any", cls))
    return {f.name: (f.metadata[_GROUP], type(f.default)) for f in fields if _GROUP in f.metadata}


def encoded(instance: object | None) -> dict[str, str]:
    """The options of an instance as Spark wants them; those left at their default are left out. None has none."""
    options: dict[str, str] = {}
    if instance is None:
        return options
    for field in dataclasses.fields(cast("Any", instance)):
        spec: OptionSpec | None = field.metadata.get(_OPTION)
        prefix: str | None = field.metadata.get(_GROUP)
        value = getattr(instance, field.name)
        if spec is not None and value is not None and value != field.default:
            options |= spec.options(value)
        if prefix is not None:
            options |= {f"{prefix}.{name}": text for name, text in encoded(value).items()}
    return options


def boolean(value: bool) -> str:  # noqa: FBT001
    """`true` or `false`, as Spark writes them."""
    return "true" if value else "false"


def duration(value: timedelta) -> str:
    """A duration as Spark's time strings have it: whole seconds where that is exact, else milliseconds."""
    milliseconds = value // timedelta(milliseconds=1)
    return f"{milliseconds // 1000}s" if milliseconds % 1000 == 0 else f"{milliseconds}ms"


def comma_list(value: str | tuple[str, ...]) -> str:
    """One name, or several parted by commas."""
    return value if isinstance(value, str) else ",".join(value)


def require(condition: bool, field: str, value: object, expected: str) -> None:  # noqa: FBT001
    """Raise `InvalidOptionError` unless the condition holds."""
    if not condition:
        raise InvalidOptionError(f"{field}={value!r} is not valid: expected {expected}")


def require_match(field: str, value: object, pattern: re.Pattern[str], expected: str) -> None:
    """Refuse anything but a text that the pattern matches as a whole."""
    require(isinstance(value, str) and pattern.fullmatch(value) is not None, field, value, expected)


def require_text(field: str, value: str | None) -> None:
    """Refuse an empty or blank text; None means unset and is fine."""
    if value is not None:
        require(isinstance(value, str) and value.strip() != "", field, value, "a text that is not blank")


def require_boolean(field: str, value: object) -> None:
    """Refuse anything but True and False: Spark would take many a text for one of them."""
    require(isinstance(value, bool), field, value, "True or False")


def require_count(field: str, value: int | None, least: int = 1) -> None:
    """Refuse anything but a whole number of at least `least`; None means unset and is fine."""
    if value is not None:
        whole = isinstance(value, int) and not isinstance(value, bool)
        require(whole and value >= least, field, value, f"a whole number of at least {least}")


def require_duration(field: str, value: timedelta, least: timedelta = timedelta(milliseconds=1)) -> None:
    """Refuse anything but a duration of at least `least`."""
    valid = isinstance(value, timedelta) and value >= least
    require(valid, field, value, f"a datetime.timedelta of at least {least / timedelta(milliseconds=1):g} ms")
