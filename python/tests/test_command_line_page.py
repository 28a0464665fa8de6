"""The commands of `kinesis-spark` that the documentation shows exist, with their options."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import docs_site
import pytest

from kinesis_spark.cli.commands import kinesis_spark

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / page for page in docs_site.PAGES.values())]
SHOWN = sorted(
    {
        command
        for page in PAGES
        for command in re.findall(r"(?:^|`|\$\()(kinesis-spark [a-z]+[^`)\n]*)", page.read_text(), re.MULTILINE)
    }
)


@pytest.mark.parametrize("shown", SHOWN)
def test_a_command_that_a_page_shows_has_the_options_that_it_is_shown_with(shown: str) -> None:
    _, name, *arguments = shlex.split(shown, comments=True)
    command = kinesis_spark.commands[name]
    given, others, _ = command.make_parser(click.Context(command)).parse_args(arguments)
    assert len(others) <= 1, given


def test_commands_are_found_in_blocks_and_sentences() -> None:
    assert len(SHOWN) > 10
