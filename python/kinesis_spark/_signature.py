"""Signatures that name each keyword, for `help` and for completion in notebooks.

Type checkers and editors know the keywords of `**arguments` by its type; what runs does not.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])


def takes_fields_of(options: type) -> Callable[[_Function], _Function]:
    """Have a function's signature show the fields of a dataclass in place of `**arguments`."""
    fields = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if field.default is dataclasses.MISSING else field.default,
            annotation=field.type,
        )
        for field in dataclasses.fields(options)
    ]

    def decorate(function: _Function) -> _Function:
        written = inspect.signature(function)
        kept = [known for known in written.parameters.values() if known.kind is not inspect.Parameter.VAR_KEYWORD]
        cast("Any", function).__signature__ = written.replace(parameters=[*kept, *fields])
        return function

    return decorate


__all__ = ["takes_fields_of"]
