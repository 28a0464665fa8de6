"""The figures of trials, as a table and as JSON lines. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from .history import Changed, Corrupted, Doubled, Late, Lost, Reordered, Stray, Violation
from .outcome import RunOutcome, TrialOutcome
from .plan import Restarts
from .wording import describe

_KINDS: dict[str, type[Violation]] = {
    "lost": Lost,
    "doubled": Doubled,
    "reordered": Reordered,
    "corrupted": Corrupted,
    "stray": Stray,
    "late": Late,
    "changed": Changed,
}
_SHOWN = 20
_LONGEST = ("slowest recovery s", "latest record s", "longest overlap s", "longest overlap on clusters s")
_REASON = 160


def figures(trials: Sequence[TrialOutcome]) -> dict[str, Any]:
    """All trials together."""
    runs = [run for trial in trials for run in trial.runs]
    kills = Counter(run.died for run in runs if run.killed)
    return {
        "trials": len(trials),
        "minutes": round(sum(trial.seconds for trial in trials) / 60, 1),
        "records": sum(trial.verdict.acked for trial in trials),
        "rows": sum(trial.verdict.rows for trial in trials),
        "batches": sum(run.batches for run in runs),
        "restarts": len(runs) - len(trials),
        "driver kills": sum(kills.values()),
        "executor kills": sum(run.executors_killed for run in runs),
        "faults": sum(_sum(run.struck for run in runs).values()),
        "reshards": sum(run.reshards for run in runs),
        **{name: sum(trial.verdict.count(kind) for trial in trials) for name, kind in _KINDS.items()},
        "stuck": sum(trial.stuck is not None for trial in trials),
        "incomplete": sum(len(run.incomplete) for run in runs),
        "leaks": sum(len(trial.leaks) for trial in trials),
        "query failures": sum(len(trial.failures) for trial in trials),
        "query starts": sum(run.starts for run in runs),
        "longest overlap s": _longest_overlap(runs, clustered=False),
        "longest overlap on clusters s": _longest_overlap(runs, clustered=True),
        "slowest recovery s": _most(_firsts(runs)),
        "latest record s": round(max((trial.verdict.latest_s for trial in trials), default=0.0), 1),
        "kills": dict(sorted(kills.items())),
        "actions": dict(sorted(_sum(run.actions for run in runs).items())),
        "struck": dict(sorted(_sum(run.struck for run in runs).items())),
        "never struck": dict(sorted(Counter(name for run in runs for name in run.never_struck).items())),
        "failures": dict(Counter(failure[:_REASON] for trial in trials for failure in trial.failures)),
        "recovery": recovery(runs),
    }


def recovery(runs: Iterable[RunOutcome]) -> list[dict[str, Any]]:
    """From the start of a driver's process to its first batch and to no lag, where nothing was done to it meanwhile."""
    rows = []
    runs = [run for run in runs if not run.actions and not isinstance(run.run.end, Restarts)]
    for publisher in ("polling", "efo"):
        for cluster in (False, True):
            some = [o for o in runs if o.run.publisher == publisher and o.run.clustered == cluster]
            to_query = [o.started_s for o in some if o.started_s is not None]
            to_batch = [o.first_batch_s - o.started_s for o in some if o.first_batch_s and o.started_s]
            to_no_lag = [o.caught_up_s - o.started_s for o in some if o.caught_up_s and o.started_s]
            if to_batch:
                rows.append(
                    {
                        "publisher": publisher,
                        "master": "local-cluster" if cluster else "local",
                        "runs": len(to_batch),
                        "session s": _spread(to_query),
                        "first batch s": _spread(to_batch),
                        "no lag s": _spread(to_no_lag),
                        "caught up": len(to_no_lag),
                    }
                )
    return rows


def total(lines: Iterable[dict[str, Any]]) -> dict[str, float]:
    """What lines of trials come to together, be they of one run or of several."""
    sums: dict[str, float] = defaultdict(float)
    for each in lines:
        sums["trials that were right"] += each["right"]
        sums["trials that were strictly right"] += each["strictly right"]
        for name, value in each.items():
            if name in _LONGEST:
                sums[name] = max(sums[name], value or 0)
            elif isinstance(value, dict):
                for what, count in value.items():
                    sums[f"{name}: {what}"] += count
            elif isinstance(value, int | float) and not isinstance(value, bool):
                sums[name] += value
    return dict(sums)


def line(trial: TrialOutcome) -> dict[str, Any]:
    """A trial, for a line of JSON: its figures and all that is wrong."""
    return {
        "trial": trial.trial.seed,
        "right": trial.is_right,
        "strictly right": trial.is_strictly_right,
        "sink": trial.trial.sink,
        "trigger": trial.trial.trigger,
        "streams": len(trial.trial.streams),
        "realistic server": trial.trial.realistic,
        **figures([trial]),
        "violations": [describe(wrong) for wrong in trial.verdict.violations[:_SHOWN]],
        "errors": trial.errors[:_SHOWN],
        "footprints": [
            {"start": start, **footprint.summary()} for run in trial.runs for start, footprint in run.footprints.items()
        ],
    }


def table(trials: Sequence[TrialOutcome]) -> str:
    """All trials together, to be read."""
    everything = figures(trials)
    single = {name: value for name, value in everything.items() if not isinstance(value, dict | list)}
    rows = [(name, "-" if value is None else str(value)) for name, value in single.items()]
    for name in ("kills", "actions", "struck", "never struck", "failures"):
        rows += [(f"{name}: {what}", str(count)) for what, count in everything[name].items()]
    for row in everything["recovery"]:
        what = f"recovery: {row['publisher']}, {row['master']}"
        session, first, lag = (_words(row[name]) for name in ("session s", "first batch s", "no lag s"))
        rows.append(
            (what, f"query after {session} s; first batch {first} s after it, no lag {lag} s ({row['runs']} runs)")
        )
    width = max(len(name) for name, _ in rows)
    wrong = [
        f"WRONG {trial.trial.seed}: {text}"
        for trial in trials
        for text in [*trial.errors[:_SHOWN], *map(describe, trial.verdict.violations[:_SHOWN])]
    ]
    return "\n".join([*(f"{name:<{width}}  {value}" for name, value in rows), *wrong])


def _firsts(runs: Iterable[RunOutcome]) -> list[float]:
    return [run.first_batch_s for run in runs if run.first_batch_s is not None]


def _longest_overlap(runs: Iterable[RunOutcome], *, clustered: bool) -> float | None:
    some = (run for run in runs if run.run.clustered == clustered)
    return _most([run.overlap_s for run in some if run.overlap_s is not None])


def _most(values: Sequence[float]) -> float | None:
    return round(max(values), 1) if values else None


def _spread(values: Sequence[float]) -> dict[str, float] | None:
    return {"median": round(median(values), 1), "most": round(max(values), 1)} if values else None


def _words(spread: dict[str, float] | None) -> str:
    return "-" if spread is None else f"{spread['median']} (at most {spread['most']})"


def _sum(counters: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for counter in counters:
        total.update(counter)
    return total
