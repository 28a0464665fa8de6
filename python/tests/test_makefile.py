"""Which files make builds again, what its recipes run, and where it refuses to run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest
from programs import outside_make

ROOT = Path(__file__).resolve().parents[2]


def make(*arguments: str, folder: Path = ROOT) -> str:
    command = ["make", "--no-print-directory", f"--directory={folder}", *arguments]
    return subprocess.run(command, stdout=PIPE, stderr=STDOUT, text=True, env=outside_make(), check=False).stdout


def test_jars_of_another_version_are_built_though_those_of_this_one_are_up_to_date() -> None:
    up_to_date = "--old-file=dist/.jars-1.2.3"
    assert "assembly" in make("--dry-run", "VERSION=1.2.4", up_to_date, "dist/.jars-1.2.4")


def test_a_recipe_removes_what_it_left_of_other_versions() -> None:
    recipes = make("--dry-run", "VERSION=1.2.4", "PYTHON_VERSION=1.2.4", "package")
    for name in (
        *("dist/.jars-*", "dist/kinesis-spark-4_2.13-*.jar", "dist/kinesis-spark-testkit-*.jar"),
        *("dist/.spark35-jars-*", "dist/kinesis-spark-3.5_2.12-*.jar", "dist/kinesis-spark-3.5_2.13-*.jar"),
        *("dist/kinesis_spark-*-py3-none-any.whl", "dist/kinesis_spark_local-*-py3-none-any.whl"),
        "dist/kinesis_spark-*.tar.gz",
    ):
        assert any(line.startswith("rm -f ") and name in line.split() for line in recipes.splitlines()), name


@pytest.mark.parametrize("paper", ["LICENSE", "NOTICE", "THIRD-PARTY.txt"])
def test_jars_are_built_again_after_a_change_of_a_paper_in_them(paper: str) -> None:
    assert paper in make("--eval=sources: ; @echo $(SCALA_SOURCES)", "sources").split()


@pytest.mark.parametrize("variable", ["SCALA_SOURCES", "PYTHON_SOURCES", "CHAOS_SOURCES"])
def test_what_is_built_from_sources_is_built_again_after_one_is_removed(variable: str) -> None:
    sources = make(f"--eval=sources: ; @echo $({variable})", "sources").split()
    folders = {str(Path(name).parent) for name in sources if Path(name).suffix in {".scala", ".py"}}
    assert len(folders & set(sources)) > 1
    # Folders in which builds leave files of their own.
    assert folders - set(sources) <= {"project", "python"}
    assert [name for name in sources if "__pycache__" in name] == []


def test_recipes_outside_a_loop_run_one_after_the_other_also_with_jobs() -> None:
    printed = make("--jobs=2", "--eval=one two: ; @echo $@; sleep 0.3; echo $@", "one", "two")
    assert printed.split() == ["one", "one", "two", "two"]


def test_a_checkout_in_a_path_with_a_space_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "my checkout"
    folder.mkdir()
    (folder / "Makefile").write_text((ROOT / "Makefile").read_text())
    assert f"make needs a path without spaces: move the checkout out of '{folder}'" in make("help", folder=folder)


@pytest.mark.parametrize("target", ["pytest-slow", "pytest-partitions", "reproducible"])
def test_a_target_that_no_summary_follows_prints_why_tests_failed(target: str) -> None:
    (command,) = (line for line in make("--dry-run", target).splitlines() if "/pytest -c" in line)
    assert "--no-summary" not in command
    assert "-rN" not in command.split()


def test_help_lists_each_described_target_as_it_is_described() -> None:
    described = re.findall(r"^([a-z-]+):.*## (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    listed = re.findall(r"^  make ([a-z-]+) +(.*)$", make("help"), re.MULTILINE)
    assert listed == described
