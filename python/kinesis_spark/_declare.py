"""How a dataclass field becomes a Spark option: its name, which values it takes, and how a value is written as text.

Every option is declared once, as a field made by `option`. Checking, encoding and the comparison with the JVM's
definitions read the declaration and need no second list of names.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kinesis_spark._kinds import Kind
from kinesis_spark.errors import InvalidOptionError

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_):  # noqa: ANN003, ANN202
        return lambda decorated: decorated


_OPTION = "kinesis_spark.option"
_KIND = "kinesis_spark.kind"
_GROUP = "kinesis_spark.group"
_MODERN: bool = sys.version_info >= (3, 10)
_Values = TypeVar("_Values")


# Any, as `dataclasses.field` itself: the type is the annotation's, which mypy checks against the default at each use.
def option(
    name: str,
    kind: Kind,
    *,
    default: Any = dataclasses.MISSING,  # noqa: ANN401
    write: Callable[[str, Any], dict[str, str]] | None = None,
) -> Any:  # noqa: ANN401
    """A dataclass field that is the Spark option `name`: required without a default, out of `repr` if a secret.

    Where one value is several options, or none, `write` makes them, and the kind's way to write is not used.
    """
    spec = OptionSpec(name, kind, write)
    return dataclasses.field(default=default, repr=not kind.secret, metadata={_OPTION: spec, _KIND: kind})


def group(prefix: str, *, default: Any) -> Any:  # noqa: ANN401
    """A dataclass field that holds a dataclass of options, whose names Spark is handed with `prefix.` before them."""
    return dataclasses.field(default=default, metadata={_GROUP: prefix})


def plain(kind: Kind, *, default: Any) -> Any:  # noqa: ANN401
    """A dataclass field that is checked and read like an option and is none itself."""
    return dataclasses.field(default=default, metadata={_KIND: kind})


def refuse_unknown(options: type, given: Iterable[str]) -> None:
    """Refuse a keyword that is not a field, with the field that was probably meant.

    Raises:
        InvalidOptionError: for the first such keyword.
    """
    fields = [field.name for field in dataclasses.fields(options)]
    for name in given:
        if name not in fields:
            in_snake_case = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
            near = difflib.get_close_matches(in_snake_case, fields, 1)
            raise InvalidOptionError(f"Unknown option '{name}'.{f' Did you mean {near[0]!r}?' if near else ''}")


@dataclass_transform(frozen_default=True, field_specifiers=(option, group, plain))
def values(cls: type[_Values]) -> type[_Values]:
    """A frozen dataclass of options, with slots where this Python has them."""
    return _frozen(cls)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(option, group, plain))
def keyword_values(cls: type[_Values]) -> type[_Values]:
    """The same, made by keywords alone."""
    if _MODERN:
        return _frozen(cls, kw_only=True)
    made = _frozen(cls)
    by_position = made.__init__

    @functools.wraps(by_position)
    def by_keywords(self: Any, *arguments: object, **named: object) -> None:  # noqa: ANN401
        if arguments:
            raise TypeError(f"{cls.__name__} takes keyword arguments alone")
        by_position(self, **named)

    cast("Any", made).__init__ = by_keywords
    return made


def _frozen(cls: type[_Values], **more: bool) -> type[_Values]:
    slots = {"slots": True} if _MODERN else {}
    return dataclasses.dataclass(frozen=True, **slots, **more)(cls)  # type: ignore[call-overload,no-any-return,unused-ignore]


@values
class OptionSpec:
    """One option: its name for Spark, the kind of its values, and how they are written if not in the kind's way."""

    name: str
    kind: Kind
    write: Callable[[str, Any], dict[str, str]] | None

    def options(self, value: object) -> dict[str, str]:
        """The options for Spark that a value makes."""
        return {self.name: self.kind.write(value)} if self.write is None else self.write(self.name, value)


def read_fields(instance: object) -> None:
    """Replace each value by the one that it stands for, such as `"256m"` by its bytes; for `__post_init__`.

    Raises:
        InvalidOptionError: for a value that is not one of its option's kind.
    """
    for field in _fields(instance):
        kind: Kind | None = field.metadata.get(_KIND)
        value = getattr(instance, field.name)
        # None is an option that is left out, where that is possible.
        if kind is not None and not (value is None and field.default is None):
            object.__setattr__(instance, field.name, kind.read(field.name, value))


def specs(cls: type) -> Mapping[str, OptionSpec]:
    """The options that a class declares itself, by field name."""
    return {f.name: f.metadata[_OPTION] for f in _fields(cls) if _OPTION in f.metadata}


def groups(cls: type) -> Mapping[str, tuple[str, type]]:
    """The groups of options that a class holds: prefix and class, by field name."""
    return {f.name: (f.metadata[_GROUP], type(f.default)) for f in _fields(cls) if _GROUP in f.metadata}


def encoded(instance: object | None) -> dict[str, str]:
    """The options of an instance as Spark wants them; those left at their default are left out. None has none."""
    options: dict[str, str] = {}
    if instance is None:
        return options
    for field in _fields(instance):
        spec: OptionSpec | None = field.metadata.get(_OPTION)
        prefix: str | None = field.metadata.get(_GROUP)
        value = getattr(instance, field.name)
        if spec is not None and value is not None and value != field.default:
            options.update(spec.options(value))
        if prefix is not None:
            options.update({f"{prefix}.{name}": text for name, text in encoded(value).items()})
    return options


def _fields(of: object) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(cast("Any", of))
