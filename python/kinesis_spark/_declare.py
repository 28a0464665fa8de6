"""How a dataclass field becomes a Spark option: its name, which values it takes, and how a value is written as text.

Every option is declared once, as a field made by `option`. Checking, encoding, decoding and the comparison with the
JVM's definitions read the declaration and need no second list of names.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kinesis_spark._kinds import Kind, Secret
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
def option(  # noqa: PLR0913  (each is a part of one declaration)
    name: str,
    kind: Kind,
    *,
    default: Any = dataclasses.MISSING,  # noqa: ANN401
    aliases: tuple[str, ...] = (),
    write: Callable[[str, Any], dict[str, str]] | None = None,
    gather: Callable[[Mapping[str, str]], Any] | None = None,
) -> Any:  # noqa: ANN401
    """A dataclass field that is the Spark option `name`: required without a default, out of `repr` if a secret.

    Where one value is several options, or none, `name` ends with what differs, as in `efo.consumerArn.<stream>`.
    `write` makes the options from the value, and `gather` the value from what was given by what differs. `aliases` are
    other names that the connector reads.
    """
    spec = OptionSpec(name, kind, aliases, write, gather)
    return dataclasses.field(default=default, repr=not kind.secret, metadata={_OPTION: spec, _KIND: kind})


def group(prefix: str, *, default: Any) -> Any:  # noqa: ANN401
    """A dataclass field that holds a dataclass of options, whose names Spark is handed with `prefix.` before them."""
    return dataclasses.field(default=default, metadata={_GROUP: prefix})


def plain(kind: Kind, *, default: Any) -> Any:  # noqa: ANN401
    """A dataclass field that is checked and read like an option and is none itself."""
    return dataclasses.field(default=default, metadata={_KIND: kind})


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The sentence that ends an error about an unknown name: the known one that is closest, if one is close."""
    by_lower_case = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), by_lower_case, 1)
    return f" Did you mean {by_lower_case[near[0]]!r}?" if near else ""


def refuse_unknown(options: type, given: Iterable[str]) -> None:
    """Refuse a keyword that is not a field, with the field that was probably meant.

    Raises:
        InvalidOptionError: for the first such keyword.
    """
    fields = [field.name for field in dataclasses.fields(options)]
    for name in given:
        if name not in fields:
            in_snake_case = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
            raise InvalidOptionError(f"Unknown option '{name}'.{did_you_mean(in_snake_case, fields)}")


@dataclass_transform(frozen_default=True, field_specifiers=(option, group, plain))
def values(cls: type[_Values]) -> type[_Values]:
    """A frozen dataclass, with slots where this Python has them."""
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
    """One option: its names for Spark, the kind of its values, and how one that is several is written and gathered."""

    name: str
    kind: Kind
    aliases: tuple[str, ...]
    write: Callable[[str, Any], dict[str, str]] | None
    gather: Callable[[Mapping[str, str]], Any] | None

    @property
    def names(self) -> tuple[str, ...]:
        """Its name, and the aliases."""
        return (self.name, *self.aliases)

    def options(self, value: object) -> dict[str, str]:
        """The options for Spark that a value makes."""
        return {self.name: self.kind.write(value)} if self.write is None else self.write(self.name, value)


def read_fields(instance: object) -> None:
    """Replace each value by the one that it stands for, such as `"256m"` by its bytes; for `__post_init__`.

    An empty collection stands for None where that is the default.

    Raises:
        InvalidOptionError: for a value that is not one of its option's kind.
    """
    for field in _fields(instance):
        kind: Kind | None = field.metadata.get(_KIND)
        value = getattr(instance, field.name)
        is_empty = isinstance(value, Collection) and not isinstance(value, str) and not value
        # None is an option that is left out, where that is possible.
        left_out = (value is None or is_empty) and field.default is None
        if kind is not None:
            object.__setattr__(instance, field.name, None if left_out else kind.read(field.name, value))


def specs(cls: type) -> Mapping[str, OptionSpec]:
    """The options that a class declares itself, by field name."""
    return {f.name: f.metadata[_OPTION] for f in _fields(cls) if _OPTION in f.metadata}


def groups(cls: type) -> Mapping[str, tuple[str, type]]:
    """The groups of options that a class holds: prefix and class, by field name."""
    return {f.name: (f.metadata[_GROUP], type(f.default)) for f in _fields(cls) if _GROUP in f.metadata}


def option_names(cls: type, prefix: str = "") -> list[str]:
    """The names and aliases of the options that a class declares itself and in its groups."""
    own = [prefix + name for spec in specs(cls).values() for name in spec.names]
    return own + [name for inside, kind in groups(cls).values() for name in option_names(kind, f"{prefix}{inside}.")]


def pattern_of(names: Iterable[str]) -> str:
    """A regular expression of options' names, in which anything stands for what differs."""
    fixed = [name.partition("<") for name in names]
    return "|".join(re.escape(name) + (".+" if several else "") for name, several, _ in fixed)


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


class Given:
    """Options as texts by name, in any case, of which each is taken once.

    A secret stays one, and spaces around a text don't count.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        """Of one query.

        Raises:
            InvalidOptionError: for a name or value that is no text, or a name that is there twice.
        """
        self._left: dict[str, tuple[str, str]] = {}
        for name, text in options.items():
            if not (isinstance(name, str) and isinstance(text, str)):
                raise InvalidOptionError(f"Option {name!r}: name and value must be texts, as to_dict() writes them.")
            if name.lower() in self._left:
                raise InvalidOptionError(f"Option {name!r} is given twice, in upper and lower case.")
            value = text.strip()
            self._left[name.lower()] = (name, Secret(value) if isinstance(text, Secret) else value)

    def has(self, cls: type) -> bool:
        """Whether an option that the class declares itself is left."""
        return any(self._matching(name) for spec in specs(cls).values() for name in spec.names)

    def take(self, cls: type[_Values], prefix: str = "") -> _Values:
        """An instance of the options that a class declares itself and in its groups, which are then left no more.

        Raises:
            InvalidOptionError: as `take_fields`, and for a value that can't be right.
        """
        return cls(**self.take_fields(cls, prefix))

    def take_fields(self, cls: type, prefix: str = "") -> dict[str, Any]:
        """The same, as the values of fields.

        Raises:
            InvalidOptionError: if a required one is missing, or one is there by two names.
        """
        named: dict[str, Any] = {}
        for field, spec in specs(cls).items():
            given = [name for name in spec.names if self._matching(prefix + name)]
            if len(given) > 1:
                raise InvalidOptionError(f"'{given[1]}' and '{given[0]}' are one option. Give it once.")
            found = {rest: self._left.pop(key)[1] for name in given for key, rest in self._matching(prefix + name)}
            if found:
                named[field] = spec.gather(found) if spec.gather else next(iter(found.values()))
        for field, (name, kind) in groups(cls).items():
            named[field] = self.take(kind, f"{prefix}{name}.")
        for missing in _fields(cls):
            if _OPTION in missing.metadata and missing.default is dataclasses.MISSING and missing.name not in named:
                raise InvalidOptionError(f"Option '{prefix}{missing.metadata[_OPTION].name}' is missing.")
        return named

    def take_by_prefix(self, names: re.Pattern[str]) -> dict[str, Given]:
        """The options whose names match as a whole: by the pattern's first group, and there by the second."""
        found: dict[str, dict[str, str]] = {}
        for key, (name, text) in list(self._left.items()):
            match = names.fullmatch(name)
            if match:
                del self._left[key]
                found.setdefault(match[1], {})[match[2]] = text
        return {prefix: Given(options) for prefix, options in found.items()}

    def refuse_rest(self, known: Iterable[type]) -> None:
        """Refuse what is left, with the option that was probably meant.

        Raises:
            InvalidOptionError: for the first that is left.
        """
        options = [name for cls in known for name in option_names(cls)]
        for name, _ in self._left.values():
            raise InvalidOptionError(f"Unknown option '{name}'.{did_you_mean(name, options)}")

    def _matching(self, name: str) -> list[tuple[str, str]]:
        """The keys of an option, and what differs in each if it may be several."""
        fixed, several, _ = name.lower().partition("<")
        if not several:
            return [(fixed, "")] if fixed in self._left else []
        return [(key, given[len(fixed) :]) for key, (given, _) in self._left.items() if key.startswith(fixed)]


def _fields(of: object) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(cast("Any", of))
