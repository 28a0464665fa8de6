"""Tries to break "exactly once" for some minutes: `python -m fire --minutes 30 [--seed N]`, which `make soak` does.

Trials come one after the other, each decided by `<seed>.<number>`; `--seed 7.3` replays the one that failed. Exit
status: 0 if every record of every trial came once, in order, whole and in time.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from . import archive, report
from .life import Bounds, Java
from .outcome import TrialOutcome
from .plan import Trial, recoveries, trial, trials
from .stage import play

ROOT = Path(__file__).resolve().parents[2]


def jar() -> Path:
    """What has the classes that kill the driver where it is told to die.

    Raises:
        FileNotFoundError: if it hasn't been built.
    """
    found = ROOT / "build" / "fire.jar"
    if not found.exists():
        raise FileNotFoundError(f"{found} isn't there: run `make {found.relative_to(ROOT)}`")
    return found


def run(planned: Iterator[Trial], minutes: float, directory: Path, java: Java, bounds: Bounds) -> list[TrialOutcome]:
    """Trials, until the time is over; tells of each life and trial as it ends."""
    until = time.monotonic() + minutes * 60
    outcomes: list[TrialOutcome] = []
    for each in planned:
        outcome = play(each, directory / each.seed, java, bounds, _say)
        outcomes.append(outcome)
        with (directory / "trials.jsonl").open("a") as lines:
            lines.write(json.dumps(report.line(outcome)) + "\n")
        _say(f"{each.seed} {'right' if outcome.is_right else 'WRONG'} after {outcome.seconds:.0f} s")
        if time.monotonic() > until:
            break
    return outcomes


def main() -> int:
    """Read the command line, run, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30, help="for how long trials are begun (30)")
    parser.add_argument("--seed", help="decides all that is done: of a run, as 7, or of one trial of it, as 7.3")
    parser.add_argument("--lives", type=int, default=10, help="of the query, in a trial (10); others for other seeds")
    parser.add_argument(
        "--recovery", action="store_true", help="only kill it whenever it has caught up, and take times"
    )
    parser.add_argument("--directory", type=Path, default=ROOT / "build" / "fire", help="for all that is written")
    asked = parser.parse_args()
    # Told to end, it ends what it has started, as on Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    seed = str(random.SystemRandom().randrange(2**31)) if asked.seed is None else str(asked.seed)
    _say(f"seed {seed}, in {asked.directory}")
    asked.directory.mkdir(parents=True, exist_ok=True)
    java = Java(jar(), archive.options(asked.directory, jar()))
    outcomes = run(_planned(seed, asked.lives, recovery=asked.recovery), asked.minutes, asked.directory, java, Bounds())
    _say(report.table(outcomes))
    right = all(outcome.is_right for outcome in outcomes)
    _say(
        "RIGHT: every record came once, in order and whole"
        if right
        else "WRONG: make soak SEED=<the trial's> replays it"
    )
    with (asked.directory / "runs.jsonl").open("a") as lines:
        lines.write(json.dumps({"run": seed, "right": right, **report.figures(outcomes)}) + "\n")
    return 0 if right else 1


def _planned(seed: str, lives: int, *, recovery: bool) -> Iterator[Trial]:
    """The trials of a run, or the one that is asked for."""
    if recovery:
        return iter([recoveries(f"{seed}.0", lives)])
    return iter([trial(seed, lives)]) if "." in seed else trials(int(seed), lives)


def _say(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
