"""The package uses nothing that the oldest Python of `requires-python` lacks; the tests run on a newer one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PYTHON = Path(__file__).resolve().parents[1]
# vermin takes a record's bytes for a text, which Python 3 has no such method of.
WRONG = ("--exclude", "str.decode", "--exclude", "str.decode(errors)")


def test_the_package_needs_no_newer_python_than_it_declares() -> None:
    declared = re.search(r'^requires-python = ">=([\d.]+)"$', (PYTHON / "pyproject.toml").read_text(), re.MULTILINE)
    assert declared
    vermin = str(Path(sys.executable).parent / "vermin")
    command = [vermin, "--no-config-file", "--quiet", "--violations", f"--target={declared[1]}-", *WRONG]
    found = subprocess.run([*command, str(PYTHON / "kinesis_spark")], capture_output=True, text=True, check=False)
    assert (found.stdout.strip(), found.returncode) == ("", 0), found.stderr
