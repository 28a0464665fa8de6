"""Lines of benches, and what they say of the connector that is measured."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import bench
import pytest


def test_a_line_takes_the_place_of_an_earlier_one_of_the_same_setting(tmp_path: Path) -> None:
    file = tmp_path / "2026-01-02-abc-beside-sdk.jsonl"
    for name, commit in (("polling-tls", "abc"), ("fan-out-tls", "abc"), ("polling-tls", "def")):
        bench.keep({"name": name, "commit": commit}, file)
    assert [json.loads(line)["commit"] for line in file.read_text().splitlines()] == ["abc", "def"]


def test_the_commit_is_that_of_the_measured_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "connector_jar", lambda: tmp_path / "connector.jar")
    for suffix, shown in (("", "0123456789ab"), ("\r\n -changed", "0123456789ab-changed")):
        with ZipFile(tmp_path / "connector.jar", "w") as jar:
            jar.writestr("META-INF/MANIFEST.MF", f"A: b\r\nImplementation-Commit: {'0123456789ab':0<40}{suffix}\r\n")
        assert bench.connector_commit() == shown
