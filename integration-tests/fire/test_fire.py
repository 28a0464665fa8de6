"""A fixed seed of `make soak`, for some minutes: drivers and executors die, and each record comes once."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import report
from .__main__ import jar
from .life import Bounds, Java
from .plan import Peril, trial
from .stage import play

pytestmark = pytest.mark.jvm

# A machine that is busy with other tests may take its time: nothing here is about speed.
PATIENT = Bounds(life=300.0, drain=600.0, late=3600.0)


def test_every_record_comes_once_in_order_and_whole_though_the_query_dies_again_and_again(
    tmp_path: Path,
) -> None:
    outcome = play(trial("15.0", lives=5), tmp_path / "trial", Java(jar()), PATIENT, print)
    assert outcome.is_right, report.table([outcome])
    figures = report.figures([outcome])
    assert figures["rows"] >= figures["records"] > 0
    assert figures["executor kills"] > 0
    # Some died where they were told to die; a life may also fail before it comes there.
    assert {life.end.name for life in outcome.trial.lives if isinstance(life.end, Peril)} & figures["kills"].keys()
