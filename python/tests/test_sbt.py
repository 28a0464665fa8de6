"""The script `sbt`: which Java it starts, and with what."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_sbt_starts_the_java_of_java_home_with_sbt_opts_and_without_plugins_of_the_user(tmp_path: Path) -> None:
    checkout, java, programs = tmp_path / "checkout", tmp_path / "jdk" / "bin" / "java", tmp_path / "bin"
    for folder in (checkout / "project", checkout / ".cache", java.parent, programs):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / "sbt", checkout)
    (checkout / "project" / "build.properties").write_text("sbt.version=1.2.3")
    (checkout / ".cache" / "sbt-launch-1.2.3.jar").touch()
    java.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    java.chmod(0o755)
    # An sbt of the machine would be taken in place of the launcher.
    for program in ("dirname", "sed"):
        (programs / program).symlink_to(shutil.which(program) or "")
    printed = subprocess.run(
        [shutil.which("bash") or "bash", checkout / "sbt", "test"],
        env={"PATH": str(programs), "JAVA_HOME": str(java.parents[1]), "SBT_OPTS": "-Xmx5g -Da=b"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert printed[-5:] == ["-Xmx5g", "-Da=b", "-jar", f"{checkout}/.cache/sbt-launch-1.2.3.jar", "test"]
    assert f"-Dsbt.global.plugins={checkout}/.sbt/plugins" in printed
