"""Fixed seeds of `make chaos`: drivers and executors are killed, queries restarted, and each record comes once."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import report
from .__main__ import jar
from .conduct import conduct
from .outcome import TrialOutcome
from .plan import CrashPoint, Restarts, Trial, restarts, trial
from .run import Java, Limits

pytestmark = pytest.mark.jvm

# These tests share the machine with others, which slow them down. `idle` and `drain` allow for that: where all
# cores were taken, the first batch of a cluster came after five minutes. `late` is what a record may take once
# nothing disturbs the query any more; it takes far less, also where the machine is busy.
PATIENT = Limits(idle=600.0, drain=600.0, late=180.0, records=20_000)


def conducted(planned: Trial, directory: Path, said: list[str] | None = None) -> TrialOutcome:
    return conduct(planned, directory / "trial", Java(jar()), PATIENT, print if said is None else said.append)


def test_every_record_comes_once_and_in_order_when_drivers_and_executors_are_killed(tmp_path: Path) -> None:
    runs: list[str] = []
    outcome = conducted(trial("1409.0", runs=3, executor_kills=3), tmp_path, runs)
    told = " | ".join([outcome.stuck or "not stuck", *runs])
    assert outcome.is_right, f"{told}\n{report.table([outcome])}"
    figures = report.figures([outcome])
    assert figures["rows"] >= figures["records"] > 0, told
    assert figures["executor kills"] > 0, told
    # Some drivers died at their crash points; a run may also fail before it comes there.
    points = {run.end.name for run in outcome.trial.runs if isinstance(run.end, CrashPoint)}
    assert points & figures["kills"].keys(), told


@pytest.mark.slow
def test_no_query_fails_under_faults_at_the_default_options(tmp_path: Path) -> None:
    outcome = conducted(trial("4880.0", runs=3, publishers=("efo",)), tmp_path)
    assert report.figures([outcome])["struck"].get("subscribe-outage", 0) > 0
    assert outcome.is_strictly_right, report.table([outcome])


def nothing_is_left_behind(outcome: TrialOutcome, starts: int) -> None:
    assert outcome.is_right, report.table([outcome])
    restarted = outcome.runs[0]
    assert isinstance(restarted.run.end, Restarts)
    assert restarted.died == restarted.run.end.name
    # A query that failed is started again.
    assert restarted.starts == starts + len(restarted.failures)
    # A histogram that knows none of our classes would find no leak.
    assert all(footprint.objects for footprint in restarted.footprints.values())


@pytest.mark.slow
def test_a_query_that_starts_and_stops_in_one_jvm_leaves_nothing_behind(tmp_path: Path) -> None:
    nothing_is_left_behind(conducted(restarts("1.0", 12, disturbed=False), tmp_path), 12)


@pytest.mark.slow
def test_a_query_that_is_disturbed_and_restarted_in_one_jvm_leaves_nothing_behind(tmp_path: Path) -> None:
    nothing_is_left_behind(conducted(restarts("1.0", 60), tmp_path), 60)
