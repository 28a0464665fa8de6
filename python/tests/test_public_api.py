"""The names and arguments that programs of users are written against; public_api.txt lists them.

`KINESIS_SPARK_WRITE_DOCS=1 pytest python/tests/test_public_api.py` writes the list anew. What is new may be missing in
it; what is missing in the code breaks programs, and stands in CHANGELOG.md.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import os
from collections.abc import Iterator
from pathlib import Path

LIST = Path(__file__).with_name("public_api.txt")
MODULES = ("kinesis_spark", "kinesis_spark.positions", "kinesis_spark.session")


def described(name: str, value: object) -> Iterator[str]:
    if dataclasses.is_dataclass(value):
        yield from (name, *(f"{name}: {field.name}" for field in dataclasses.fields(value)))
    elif inspect.isclass(value):
        yield from (name, *(f"{name}: {member}" for member in sorted(vars(value)) if not member.startswith("_")))
    elif inspect.isfunction(value):
        yield from (name, *(f"{name}({parameter})" for parameter in inspect.signature(value).parameters))
    else:
        yield name


def public_names() -> list[str]:
    lines: list[str] = []
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module_name]
        names = getattr(module, "__all__", [name for name in own if not name.startswith("_")])
        for name in sorted(names):
            lines += described(f"{module_name}.{name}", getattr(module, name))
    return lines


def test_all_listed_names_and_arguments_are_there() -> None:
    if os.environ.get("KINESIS_SPARK_WRITE_DOCS") == "1":
        LIST.write_text("\n".join(public_names()) + "\n")
    listed, present = LIST.read_text().splitlines(), set(public_names())
    assert listed
    assert [line for line in listed if line not in present] == []
