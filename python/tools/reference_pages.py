"""Writes the parts of docs/reference that come from the Python package. `make reference` runs it."""

from __future__ import annotations

import html
import inspect
import json
from collections.abc import Sequence
from pathlib import Path

import click
import marked

from kinesis_spark.cli.commands import EXIT_STATUS, kinesis_spark
from kinesis_spark.cli.policies import GIVEN, PERMISSIONS, USES, Permission, Resources, policy

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
STREAM = "arn:aws:kinesis:eu-west-1:111122223333:stream/orders"
CONSUMER = "orders-to-parquet"


def parts() -> dict[tuple[Path, str], str]:
    """The text of each part, by its page and name."""
    iam, command_line = REFERENCE / "iam.md", REFERENCE / "command-line.md"
    policies = {
        (iam, f"iam-{use}"): _json(policy(side, options, Resources(STREAM, CONSUMER)))
        for use, (side, options) in USES.items()
    }
    return {
        **policies,
        (iam, "permissions"): _table(
            ("Action", "Resource", "For", "With"), [_permission(permission) for permission in PERMISSIONS]
        ),
        (command_line, "shared-options"): _options(_shared()),
        (command_line, "commands"): _commands(),
        (command_line, "exit-status"): _table(
            ("Status", "When"), [(str(status), when) for status, when in EXIT_STATUS.items()]
        ),
    }


def _permission(permission: Permission) -> tuple[str, ...]:
    resource = {"consumer": "stream consumer", "key": "key", "metrics": "any", "role": "role", "stream": "stream"}
    sides = {"source": "reading", "sink": "writing"}
    conditions = [
        f"`{name}`" if values == GIVEN else f"`{name}` = {' or '.join(f'`{value}`' for value in values)}"
        for name, values in permission.when.items()
    ]
    if permission.on == "key":
        conditions.append("an encrypted stream")
    needed_for = ", ".join(sides[side] for side in permission.sides)
    return f"`{permission.action}`", resource[permission.on], needed_for, ", ".join(conditions)


def _commands() -> str:
    """A list of the commands, then a chapter for each."""
    program = click.Context(kinesis_spark, info_name="kinesis-spark", terminal_width=120)
    contexts = [
        click.Context(kinesis_spark.commands[name], program, name) for name in kinesis_spark.list_commands(program)
    ]
    listed = _table(
        ("Command", "What it does"),
        [(f"[`{c.info_name}`](#{c.info_name})", _help(c).partition("\n\n")[0]) for c in contexts],
    )
    return "\n\n".join([listed, *(_chapter(context) for context in contexts)])


def _chapter(context: click.Context) -> str:
    shared = {option.name for option in _shared()}
    own = [p for p in context.command.params if isinstance(p, click.Option) and p.name not in shared]
    usage = context.command.get_usage(context).partition("Usage: ")[2]
    parts = [f"## {context.info_name}", f"```text\n{usage}\n```", _help(context)]
    return "\n\n".join([*parts, _options(own)] if own else parts)


def _help(context: click.Context) -> str:
    return inspect.cleandoc(context.command.help or "")


def _shared() -> list[click.Option]:
    """The options of every command about a stream."""
    of_stream = [
        [p for p in command.params if isinstance(p, click.Option)]
        for command in kinesis_spark.commands.values()
        if any(isinstance(p, click.Argument) for p in command.params)
    ]
    names = set.intersection(*({option.name for option in options} for options in of_stream))
    return [option for option in of_stream[0] if option.name in names]


def _options(options: Sequence[click.Option]) -> str:
    rows = []
    for option in options:
        names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
        rows.append((names, _values(option), _default(option), html.escape(option.help or "", quote=False)))
    return _table(("Option", "Value", "Default", "Meaning"), rows)


def _values(option: click.Option) -> str:
    kind = option.type
    if option.is_flag:
        return ""
    if isinstance(kind, click.Choice):
        return ", ".join(f"`{choice}`" for choice in kind.choices)
    if isinstance(kind, click.IntRange):
        return f"number from {kind.min}"
    return ("file" if isinstance(kind, click.File) else "text") + (", repeatable" if option.multiple else "")


def _default(option: click.Option) -> str:
    if option.required:
        return "required"
    if not option.show_default:
        return ""
    value = (
        option.opts if option.default is True else option.secondary_opts if option.secondary_opts else option.default
    )
    return f"`{value[0] if isinstance(value, list) else value}`"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))


def _json(value: object) -> str:
    return f"```json\n{json.dumps(value, indent=2)}\n```"


if __name__ == "__main__":
    for (page, name), text in parts().items():
        marked.put(page, name, text)
