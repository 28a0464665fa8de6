"""The parts of docs/reference that come from the Python package are current; ReferencePagesSpec checks the others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import marked
import pytest
import reference_pages
import spark_versions

from kinesis_spark.cli.policies import USES, Resources, policy


@pytest.mark.parametrize(("page", "name"), reference_pages.parts(), ids=lambda value: getattr(value, "name", value))
def test_a_generated_part_is_current(page: Path, name: str) -> None:
    assert marked.get(page, name) == reference_pages.parts()[page, name], "run `make reference`"


def test_the_page_of_calls_has_the_defaults_of_the_options_that_it_names() -> None:
    given = re.findall(r"`([\w.]+)` \(([^)]+)\)", (reference_pages.REFERENCE / "calls.md").read_text())
    options = (reference_pages.REFERENCE / "options.md").read_text()
    defaults = dict(re.findall(r"^\| `([\w.]+)`[ *]* \| \w+ \| `([^`]+)`", options, re.MULTILINE))
    assert len(given) >= 3
    assert {name: value.replace(" ", "") for name, value in given} == {name: defaults[name] for name, _ in given}


def test_the_table_of_versions_shows_the_results_that_are_kept() -> None:
    results = json.loads(spark_versions.RESULTS.read_text())
    assert marked.get(spark_versions.PAGE, "results") == spark_versions.part(results).strip()
    # A version that is no longer run has no column, and would be lost.
    assert set(results) <= {run.name for run in spark_versions.RUNS}


def test_the_page_of_calls_has_the_calls_that_the_policies_allow() -> None:
    tables, _, _ = (reference_pages.REFERENCE / "calls.md").read_text().partition("## Roles")
    cells = re.findall(r"^\| ([A-Z]\w+(?:, [A-Z]\w+)*) \|", tables, re.MULTILINE)
    listed = {call for cell in cells for call in cell.split(", ")}
    policies = [policy(side, options, Resources(reference_pages.STREAM)) for side, options in USES.values()]
    allowed = {action for found in policies for statement in found["Statement"] for action in statement["Action"]}
    assert {f"kinesis:{call}" for call in listed} == allowed
