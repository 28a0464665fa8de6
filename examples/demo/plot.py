"""The run as a picture and as numbers."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import asdict
from pathlib import Path

import matplotlib as mpl
from measurements import Run, rates_read, rates_sent

mpl.use("Agg")  # before pyplot is imported: there need be no screen

from matplotlib import pyplot as plt


def summary(run: Run, killed: float) -> dict[str, float]:
    """The run in a few numbers, in events a second and seconds."""
    lags = sorted(b.lag for b in run.batches if b.lag is not None)
    restarted = next((b.time for b in run.batches if b.time > killed and b.rows), killed)
    return {
        "sent_per_second": statistics.median(rate for _, rate in rates_sent(run.sent)),
        "lag_median_s": statistics.median(lags),
        "lag_max_s": lags[-1],
        "batches": len(run.batches),
        "batch_median_s": statistics.median(b.duration for b in run.batches),
        "outage_s": restarted - killed,
    }


def write_numbers(path: Path, run: Run, killed: float, outcome: dict[str, object]) -> None:
    """Everything that was measured, as JSON."""
    numbers = {
        "outcome": outcome,
        "summary": summary(run, killed),
        "killed_at": killed,
        "query_started_at": run.starts,
        "sent": [asdict(s) for s in run.sent],
        "batches": [asdict(b) for b in run.batches],
    }
    path.write_text(json.dumps(numbers, indent=1) + "\n")


def write_plot(path: Path, run: Run, killed: float, title: str) -> None:
    """Rates above, lag below, over the seconds since the first event."""
    start = run.sent[0].time
    figure, (rate, lag) = plt.subplots(2, 1, sharex=True, figsize=(10, 6), layout="constrained")
    for label, points in (("sent", rates_sent(run.sent)), ("counted", _broken(rates_read(run.batches), killed))):
        rate.plot([t - start for t, _ in points], [r for _, r in points], label=label, linewidth=1.2)
    rate.set_ylabel("events a second")
    lags = _broken([(b.time, b.lag) for b in run.batches if b.lag is not None], killed)
    lag.plot([t - start for t, _ in lags], [s for _, s in lags], color="tab:red", marker=".", linewidth=1.2)
    lag.set_ylabel("lag (s): arrival of a batch's\noldest event to its commit")
    lag.set_xlabel("seconds since the first event")
    lag.set_yscale("log")
    for axes in (rate, lag):
        axes.axvline(killed - start, color="black", linestyle="--", linewidth=1, label="query killed")
        for again in run.starts[1:]:
            axes.axvline(again - start, color="grey", linestyle=":", linewidth=1, label="query started again")
        axes.grid(visible=True, alpha=0.3)
    rate.legend(loc="lower right", fontsize="small")
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _broken(points: list[tuple[float, float]], moment: float) -> list[tuple[float, float]]:
    """The points with a gap at a moment: no line may be drawn over the time when nothing ran."""
    return [p for p in points if p[0] <= moment] + [(moment, math.nan)] + [p for p in points if p[0] > moment]
