"""docs/reference/command-line.md has each command of `kinesis-spark`, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from kinesis_spark.cli.commands import kinesis_spark

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "command-line.md"


def test_the_page_has_each_command() -> None:
    listed = set(re.findall(r"^\| `kinesis-spark ([a-z-]+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert listed == set(kinesis_spark.commands)
