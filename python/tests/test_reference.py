"""The parts of docs/reference that come from the Python package are current, and agree with those of the connector."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import marked
import pytest
import reference_pages
import spark_versions
from versions import version

from kinesis_spark.cli import doctor
from kinesis_spark.cli.policies import DEFAULTS, PERMISSIONS, Side


@pytest.mark.parametrize(("page", "name"), reference_pages.parts(), ids=lambda value: getattr(value, "name", value))
def test_a_generated_part_is_current(page: Path, name: str) -> None:
    assert marked.get(page, name) == reference_pages.parts()[page, name], "run `make reference`"


def test_the_table_of_versions_shows_the_results_that_are_kept() -> None:
    results = json.loads(spark_versions.RESULTS.read_text())
    assert marked.get(spark_versions.PAGE, "results") == spark_versions.part(results).strip()
    # A version that is no longer run has no column, and would be lost.
    assert set(results) <= {run.name for run in spark_versions.RUNS}


@pytest.mark.parametrize(
    "parts", [(("reading", "metrics"), "source"), (("writing",), "sink")], ids=lambda parts: parts[1]
)
def test_the_permissions_of_reading_and_of_writing_are_the_actions_of_the_calls(
    parts: tuple[Sequence[str], Side],
) -> None:
    tables, side = parts
    # They allow no call of their own: what a call brings with it, and what Kinesis calls.
    more = {"kms:Decrypt", "kms:GenerateDataKey", "sts:TagSession", "sts:SetSourceIdentity"}
    permitted = {p.action for p in PERMISSIONS if side in p.sides} - more
    assert actions_of(*tables) | {"sts:AssumeRole"} == permitted


def test_credentials_need_the_action_of_each_call_that_no_token_allows() -> None:
    # A login's person needs the other one.
    assert actions_of("credentials") == {"sts:AssumeRole", "signin:CreateOAuth2Token"}


def test_functions_need_no_other_permissions_than_queries() -> None:
    assert actions_of("functions") < actions_of("reading")


def test_the_permissions_go_by_the_defaults_of_the_options() -> None:
    options = marked.get(reference_pages.REFERENCE / "options.md", "options")
    defaults = dict(re.findall(r"^\| `([\w.]+)`[ *]* \| \w+ \| `([^`]+)`", options, re.MULTILINE))
    assert {name: defaults[name] for name in DEFAULTS} == DEFAULTS


def test_the_page_of_versions_has_the_artifacts_that_are_built_and_the_lines_of_spark_that_are_tested() -> None:
    page, build = spark_versions.PAGE.read_text(), (spark_versions.ROOT / "build.sbt").read_text()
    rows = re.findall(r"customRow\(\s*Seq\(Versions\.(\w+)\),\s*Seq\(SparkLine\.Spark(\d+),", build)
    built = [(".".join(spark), scala) for scala, spark in rows]
    artifacts = {f"kinesis-spark-{line}_{version(scala).rpartition('.')[0]}" for line, scala in built}
    assert set(re.findall(r"`(kinesis-spark-[\d.]+_[\d.]+)`", page)) == artifacts
    sparks = {
        spark for row in re.findall(r"^\| ([\d., ]+) \| 2\.1\d \|", page, re.MULTILINE) for spark in row.split(", ")
    }
    assert sparks == {run.spark.rpartition(".")[0] for run in spark_versions.RUNS}


def test_the_page_of_versions_has_the_oldest_java_and_python() -> None:
    page, project = spark_versions.PAGE.read_text(), (spark_versions.ROOT / "python" / "pyproject.toml").read_text()
    oldest = re.findall(r'^requires-python = ">=([\d.]+)"', project, re.MULTILINE)
    assert re.findall(r"Python ([\d.]+) or later", page) == oldest
    assert re.findall(r"Java ([\d.]+) or later", page) == [str(doctor._OLDEST_JAVA)]


def actions_of(*tables: str) -> set[str]:
    """The IAM actions of the calls in tables of the page of calls."""
    page = reference_pages.REFERENCE / "calls.md"
    rows = [row for table in tables for row in marked.get(page, f"calls-{table}").splitlines()[2:]]
    return {action for row in rows for action in re.findall(r"`(\w+:\w+)`", row.split("|")[2])}
