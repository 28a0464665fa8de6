"""Runs one step of a loop and records how long it took: `python step.py NAME COMMAND...`.

Each step adds a line of JSON to build/steps.jsonl, which the summary reads. The exit status is the command's.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Step:
    """What ran.

    Attributes:
        started: in seconds since 1970.
        cpu: seconds of all its processes that have ended, on all cores.
    """

    name: str
    started: float
    seconds: float
    cpu: float
    status: int


def steps(root: Path) -> list[Step]:
    """Those of the last run, by their beginning."""
    recorded = root / "build" / "steps.jsonl"
    lines = recorded.read_text().splitlines() if recorded.exists() else []
    return sorted((Step(**json.loads(line)) for line in lines), key=lambda step: step.started)


def run(name: str, command: list[str], root: Path) -> Step:
    """Run and record it."""
    started, clock = time.time(), time.monotonic()
    # Line by line, because other steps print at the same time.
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as running:
        for line in running.stdout or ():
            print(line, end="", flush=True)
    status = running.returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    step = Step(name, started, time.monotonic() - clock, used.ru_utime + used.ru_stime, status)
    recorded = root / "build" / "steps.jsonl"
    recorded.parent.mkdir(exist_ok=True)
    # One write, so that steps side by side don't mix their lines.
    with recorded.open("a") as lines:
        lines.write(json.dumps(asdict(step)) + "\n")
    return step


if __name__ == "__main__":
    ran = run(sys.argv[1], sys.argv[2:], Path(os.environ.get("STEP_ROOT", ROOT)))
    print(f"== {ran.name}: {'done' if ran.status == 0 else f'FAILED with status {ran.status}'} in {ran.seconds:.0f} s")
    sys.exit(ran.status if ran.status >= 0 else 1)
