"""A connector JAR of another version than the Python package is refused; one that differs as snapshot alone isn't."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinesis_spark import JarMissingError, jars


@pytest.mark.parametrize(
    ("bundled", "loaded"),
    [
        ("0.1.0", "kinesis-spark-4_2.13-0.1.0"),
        ("0.1.0", "kinesis-spark-3.5_2.13-0.1.0"),
        ("0.1.0-SNAPSHOT", "kinesis-spark-4_2.13-0.1.0-SNAPSHOT of commit 1f2e-dirty-3d4c"),
        ("0.1.0-SNAPSHOT", "kinesis-spark-4_2.13-0.1.0"),
        ("0.1.0", "kinesis-spark-4_2.13-0.1.0-SNAPSHOT of commit 1f2e"),
    ],
)
def test_a_jar_of_the_package_s_version_is_taken(
    bundled: str, loaded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for line in ("3.5_2.12", "4_2.13"):
        (tmp_path / f"kinesis-spark-{line}-{bundled}.jar").touch()
    monkeypatch.setattr(jars, "_JARS", tmp_path)
    jars._require_version(loaded)


def test_a_source_tree_takes_a_jar_of_any_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_JARS", tmp_path)
    jars._require_version("kinesis-spark-4_2.13-0.2.0")


def test_a_jar_of_another_version_is_refused_with_both_versions_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kinesis-spark-4_2.13-0.1.0.jar").touch()
    monkeypatch.setattr(jars, "_JARS", tmp_path)
    with pytest.raises(JarMissingError) as refused:
        jars._require_version("kinesis-spark-4_2.13-0.2.0")
    for part in ("kinesis-spark-4_2.13-0.2.0", "version 0.1.0", "wheel of version 0.2.0", "--packages", ":0.1.0`"):
        assert part in str(refused.value)


def test_a_wheel_on_py_files_takes_the_jar_of_its_own_version_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = Path("spark/kinesis_spark-0.1.0.dev0-py3-none-any.whl")
    monkeypatch.setattr(jars, "_JARS", wheel / "kinesis_spark" / "jars")
    monkeypatch.setattr(jars, "version", lambda _: "0.1.0.dev0")
    jars._require_version("kinesis-spark-4_2.13-0.1.0-SNAPSHOT")
    with pytest.raises(JarMissingError, match=r"this Python package is version 0\.1\.0\. Take both"):
        jars._require_version("kinesis-spark-4_2.13-0.2.0")


def test_advice_names_a_jar_only_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_JARS", tmp_path)
    monkeypatch.setattr(jars, "_artifact", lambda: "kinesis-spark-4_2.13")
    packages = "`--packages io.github.kinesisspark:kinesis-spark-4_2.13:<version>`"
    assert jars.how_to_add() == packages
    (jar := tmp_path / "kinesis-spark-4_2.13-0.1.0.jar").touch()
    assert jars.how_to_add() == f"`--jars {jar}` or {packages}"
