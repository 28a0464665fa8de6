"""Adds up the trials of runs: `python -m chaos.totals build/chaos/trials.jsonl ...`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .report import total


def lines(files: list[str]) -> Iterator[dict[str, Any]]:
    """All trials."""
    for file in files:
        yield from map(json.loads, Path(file).read_text().splitlines())


if __name__ == "__main__":
    for name, value in total(lines(sys.argv[1:])).items():
        sys.stdout.write(f"{name:<50}  {round(value, 1)}\n")
