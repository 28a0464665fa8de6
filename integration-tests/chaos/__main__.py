"""Kills and disturbs a query, and checks that every record came once: `python -m chaos --minutes 30 [--seed N]`.

`make chaos` runs it. Trials follow each other, each decided by `<seed>.<number>`; `--seed 7.3` replays that one. With
`--starts 500` the query is stopped and started so many times in one JVM instead, in which nothing may be left behind.
Exit status: 0 if every record of every trial came once, in order, whole and in time, and nothing was left behind. A
query that fails or hangs under a fault is counted and reported, and started again by the next run; with `--strict` it
is wrong.
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
from typing import Any

from . import archive, report
from .conduct import conduct
from .outcome import TrialOutcome
from .plan import PUBLISHERS, Trial, recoveries, restarts, trial, trials
from .query import Publisher
from .run import Java, Limits
from .stamp import stamp

ROOT = Path(__file__).resolve().parents[2]
# For all that is written.
DIRECTORY = ROOT / "build" / "chaos"
_ONLY: dict[str, tuple[Publisher, ...]] = {"polling": ("polling",), "fan-out": ("efo",)}


def jar() -> Path:
    """The JAR with the crash points.

    Raises:
        FileNotFoundError: if it hasn't been built.
    """
    found = ROOT / "build" / "chaos.jar"
    if not found.exists():
        raise FileNotFoundError(f"{found} is missing: run `make {found.relative_to(ROOT)}`")
    return found


def play(planned: Iterator[Trial], minutes: float, java: Java, stamped: dict[str, Any]) -> list[TrialOutcome]:
    """Trials, until the time is over; prints each run and trial as it ends."""
    until = time.monotonic() + minutes * 60
    outcomes: list[TrialOutcome] = []
    for each in planned:
        outcome = conduct(each, DIRECTORY / each.seed, java, Limits(), _say)
        outcomes.append(outcome)
        with (DIRECTORY / "trials.jsonl").open("a") as lines:
            lines.write(json.dumps({**stamped, **report.line(outcome)}) + "\n")
        failures = f", {len(outcome.failures)} query failures" if outcome.failures else ""
        _say(f"{each.seed} {'right' if outcome.is_right else 'WRONG'}{failures} after {outcome.seconds:.0f} s")
        if time.monotonic() > until:
            break
    return outcomes


def main() -> int:
    """Read the command line, play, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30, help="for how long trials are begun (30)")
    parser.add_argument("--seed", help="decides all faults: of all trials, as 7, or of one of them, as 7.3")
    parser.add_argument(
        "--runs", type=int, default=10, help="of the query, in a trial (10); other numbers, other seeds"
    )
    parser.add_argument("--starts", type=int, help="stop and start the query so many times in one JVM")
    parser.add_argument("--only", choices=sorted(_ONLY), help="one record publisher instead of both")
    parser.add_argument("--strict", action="store_true", help="a query that fails or hangs under a fault is wrong, too")
    parser.add_argument("--recovery", action="store_true", help="kill it whenever it has caught up, and take times")
    asked = parser.parse_args()
    # SIGTERM ends what it has started, as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    seed = str(random.SystemRandom().randrange(2**31)) if asked.seed is None else str(asked.seed)
    stamped = stamp(seed, sys.argv[1:])
    _say(json.dumps(stamped))
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    java = Java(jar(), archive.options(DIRECTORY, jar()))
    outcomes = play(_planned(seed, asked), asked.minutes, java, stamped)
    _say(report.table(outcomes))
    right = all(o.is_strictly_right if asked.strict else o.is_right for o in outcomes)
    _say(
        "RIGHT: every record came once, in order and whole"
        if right
        else "WRONG: make chaos with SEED=<the trial's> replays it"
    )
    with (DIRECTORY / "summaries.jsonl").open("a") as lines:
        lines.write(json.dumps({**stamped, "right": right, **report.figures(outcomes)}) + "\n")
    return 0 if right else 1


def _planned(seed: str, asked: argparse.Namespace) -> Iterator[Trial]:
    """The trials of a seed, or the one that is asked for."""
    publishers = _ONLY.get(asked.only, PUBLISHERS)
    if asked.starts:
        return iter([restarts(seed if "." in seed else f"{seed}.0", asked.starts, publishers)])
    if asked.recovery:
        return iter([recoveries(f"{seed}.0", asked.runs, publishers)])
    return iter([trial(seed, asked.runs, publishers)]) if "." in seed else trials(int(seed), asked.runs, publishers)


def _say(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
