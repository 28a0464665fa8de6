"""The version of a tag, of any other commit, of changed sources, and of sources without a repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import versions

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOT = (f"{versions.version('project')}-SNAPSHOT", f"{versions.version('project')}.dev0")


def git(root: Path, *asked: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *asked], cwd=root, check=True, capture_output=True)


def both(root: Path) -> tuple[str, str]:
    return versions.jar(root), versions.wheel(root)


def test_sources_without_a_repository_are_a_snapshot(tmp_path: Path) -> None:
    assert both(tmp_path) == SNAPSHOT


def test_only_a_clean_tag_is_a_release(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "a").write_text("1")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "--quiet", "-m", "one")
    assert both(tmp_path) == SNAPSHOT
    git(tmp_path, "tag", "v7.1.2")
    assert both(tmp_path) == ("7.1.2", "7.1.2")
    (tmp_path / "a").write_text("2")
    assert both(tmp_path) == SNAPSHOT
    git(tmp_path, "commit", "--quiet", "-am", "two")
    assert both(tmp_path) == SNAPSHOT
    git(tmp_path, "tag", "newest")
    assert both(tmp_path) == SNAPSHOT


def test_the_locked_pyspark_is_the_one_that_the_jar_is_compiled_against() -> None:
    locked = (ROOT / "python" / "requirements-dev.txt").read_text()
    assert f"pyspark=={versions.version('spark')} " in locked
