"""Workflows, issue forms and settings of the repository are valid, safe, and call what the Makefile has."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import spark_versions
import yaml

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github"
PYTHON_PROJECTS = (ROOT / "python" / "pyproject.toml", ROOT / "python" / "testkit" / "pyproject.toml")
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"


def loaded(file: Path) -> dict[str, Any]:
    # Without YAML 1.1's booleans, for which `on` is one.
    value: dict[str, Any] = yaml.load(file.read_text(), Loader=yaml.BaseLoader)  # noqa: S506  (makes text alone)
    return value


def jobs() -> dict[str, dict[str, Any]]:
    return {f"{file.stem}/{name}": job for file in WORKFLOWS for name, job in loaded(file)["jobs"].items()}


def commands() -> list[str]:
    """What the jobs run, with each value of the matrix."""
    found = [step["run"] for job in jobs().values() for step in job["steps"] if "run" in step]
    matrices = [job["strategy"]["matrix"].get("include", []) for job in jobs().values() if "strategy" in job]
    return found + [entry["command"] for include in matrices for entry in include if "command" in entry]


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", "workflows/*.yml"),
        ("github-actions", "actions/*/action.yml"),
        ("github-issue-forms", "ISSUE_TEMPLATE/[!c]*.yml"),
        ("github-issue-config", "ISSUE_TEMPLATE/config.yml"),
        ("dependabot", "dependabot.yml"),
    ],
)
def test_files_have_the_form_that_github_takes(schema: str, files: str) -> None:
    program = Path(sys.executable).parent / "check-jsonschema"
    command = [str(program), "--builtin-schema", f"vendor.{schema}", *map(str, sorted(GITHUB.glob(files)))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("go") is None, reason="actionlint needs Go")
def test_actionlint_finds_nothing() -> None:
    # Its programs for shell and Python are not everywhere: without them it finds the same everywhere.
    command = ["go", "run", ACTIONLINT, "-no-color", "-shellcheck=", "-pyflakes=", *map(str, WORKFLOWS)]
    # It is fetched and compiled first.
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_zizmor_finds_nothing_unsafe() -> None:
    zizmor = Path(sys.executable).parent / "zizmor"
    command = [str(zizmor), "--offline", "--quiet", "--format=plain", str(GITHUB)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_job_has_a_limit_of_time_within_a_hosted_runner_s_and_rights_of_its_own() -> None:
    for name, job in jobs().items():
        assert int(job["timeout-minutes"]) <= 360, name
        assert job["permissions"], name
    for file in WORKFLOWS:
        assert loaded(file)["permissions"] == {}, file.name
        assert "concurrency" in loaded(file), file.name


def test_actions_are_pinned_by_commit_with_the_version_beside_it() -> None:
    for file in GITHUB.rglob("*.yml"):
        for action in re.findall(r"uses: (.*)", file.read_text()):
            assert action.startswith("./") or re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


def test_workflows_call_targets_that_the_makefile_has() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    called = [found for command in commands() for found in re.findall(r"\bmake ([a-z-]+)", command)]
    assert {"check", "test", "test-all", "fuzz", "chaos", "docs", "audit", "release-files"} <= set(called)
    assert set(called) - set(targets) == set()


def test_each_version_of_spark_that_is_tested_at_all_is_tested_at_night_and_the_newest_of_a_line_before_a_merge() -> (
    None
):
    def matrix(job: str, key: str) -> list[str]:
        return [version for entry in jobs()[job]["strategy"]["matrix"]["include"] for version in entry[key].split()]

    runs = [run.name for run in spark_versions.RUNS]
    assert sorted(matrix("nightly/spark", "versions")) == sorted(runs)
    newest = {name.rpartition(".")[0]: name for name in sorted(runs) if name.replace(".", "").isdigit()}
    assert sorted(matrix("check/spark", "spark")) == sorted(newest.values())


def test_the_night_runs_all_that_test_all_does() -> None:
    found = re.search(r"^LONG_STEPS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found is not None
    run = " ".join(commands())
    parts = {
        "pytest-slow": "make pytest-slow",
        "concurrency": "make concurrency",
        "long-starts": "make chaos STARTS=500",
        "long-chaos": "make chaos MINUTES=",
        "long-versions": "make test-versions",
        "long-reproducible": "make reproducible",
    }
    assert set(found.group(1).split()) == set(parts)
    assert [part for part in parts.values() if part not in run] == []
    assert "make test-all LONG_STEPS=" in run
    # Skipped in the others, which don't run as root.
    assert "make pytest-partitions" in run


def test_the_night_has_the_python_that_localstack_needs() -> None:
    server = (ROOT / "integration-tests" / "servers" / "localstack.py").read_text()
    ((major, minor),) = re.findall(r"^PYTHON = \((\d+), (\d+)\)$", server, re.MULTILINE)
    entries = {entry["part"]: entry for entry in jobs()["nightly/test-all"]["strategy"]["matrix"]["include"]}
    assert entries["all-tests"]["pythons"] == f"{major}.{minor}"


def test_a_report_of_a_fault_asks_for_what_an_answer_needs() -> None:
    fields = {field.get("id"): field for field in loaded(GITHUB / "ISSUE_TEMPLATE" / "bug.yml")["body"]}
    assert {"connector", "spark", "platform", "options", "error-class", "logs"} <= set(fields)


def test_all_links_to_the_project_are_to_the_repository_that_the_build_names_and_to_files_of_it() -> None:
    build = "".join(file.read_text() for file in [ROOT / "build.sbt", *(ROOT / "project").glob("*.scala")])
    (site,) = set(re.findall(r'"(https://github\.com/[^"]+)"', build))
    pages = [*PYTHON_PROJECTS, *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *GITHUB.rglob("*.*")]
    links = {
        link for page in pages for link in re.findall(r"https://github\.com/kinesisspark[^\s)\"'<>]*", page.read_text())
    }
    assert {link for link in links if not f"{link}/".startswith(f"{site}/")} == set()
    assert {f"{site}/security/advisories/new", f"{site}/security/policy", f"{site}/issues"} < links
    names = {link.removeprefix(f"{site}/blob/main/") for link in links if "/blob/" in link}
    assert [name for name in names if not (ROOT / name).is_file()] == []
