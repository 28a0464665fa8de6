"""A seed alone decides a plan, and plans leave nothing untried."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

from .faults import BY_NAME, EFFECTS, FAULTS
from .plan import (
    POINTS,
    Burst,
    ClockJump,
    CompetingPoller,
    CrashPoint,
    Deregister,
    Drain,
    InjectFault,
    KillExecutors,
    Pause,
    Reshard,
    Restarts,
    SlowBatches,
    SlowCredentials,
    restarts,
    trial,
    trials,
)

RUNS = 12
LOGS = ("offsets", "commits")


def test_a_seed_gives_the_same_trial_again_and_another_seed_another() -> None:
    assert trial("7.3", RUNS) == trial("7.3", RUNS)
    assert trial("7.3", RUNS) != trial("8.3", RUNS)
    assert next(islice(trials(7, RUNS), 3, None)) == trial("7.3", RUNS)


def test_four_trials_have_both_sinks_with_both_triggers() -> None:
    assert {(t.sink, t.trigger) for t in islice(trials(1, RUNS), 4)} == {
        (sink, trigger) for sink in ("parquet", "sqlite") for trigger in ("processing", "availableNow")
    }


def test_every_third_trial_has_a_realistic_server_with_either_sink_and_trigger() -> None:
    realistic = [t for t in islice(trials(1, RUNS), 12) if t.realistic]
    assert len(realistic) == 4
    assert len({(t.sink, t.trigger) for t in realistic}) == 4


def test_only_the_last_run_is_undisturbed_and_ends_when_all_is_read() -> None:
    for each in islice(trials(2, RUNS), 10):
        *killed_runs, last = each.runs
        assert len(each.runs) == RUNS
        assert last.end == Drain()
        assert last.actions == ()
        assert not any(isinstance(run.end, Drain) for run in killed_runs)


def test_a_run_ends_after_all_kills_of_its_executors() -> None:
    for each in islice(trials(3, RUNS), 10):
        for run in each.runs:
            deaths = [after.batches for after in run.actions if isinstance(after.action, KillExecutors)]
            assert bool(deaths) == run.clustered
            if deaths and isinstance(run.end, CrashPoint):
                assert run.end.number > max(deaths)


def test_a_hundred_trials_have_every_end_action_and_fault_with_either_publisher() -> None:
    runs = [(each, run) for each in islice(trials(4, RUNS), 100) for run in each.runs]
    actions = [after.action for _, run in runs for after in run.actions]
    assert {type(action) for action in actions} == {
        InjectFault,
        Reshard,
        KillExecutors,
        Pause,
        ClockJump,
        CompetingPoller,
        Burst,
        SlowBatches,
        SlowCredentials,
        Deregister,
    }
    assert {action.who for action in actions if isinstance(action, Pause)} == {"driver", "executor", "server"}
    assert {action.how for action in actions if isinstance(action, Reshard)} == {"split", "merge", "rescale"}
    assert {action.every for action in actions if isinstance(action, KillExecutors)} == {True, False}
    assert {action.fault for action in actions if isinstance(action, InjectFault)} == set(BY_NAME)
    for publisher in ("polling", "efo"):
        ends = {(each.sink, run.end.name) for each, run in runs if run.publisher == publisher}
        wanted = {(sink, f"{what} {where}") for sink, points in POINTS.items() for what, where in points}
        wanted |= {(sink, name) for sink in POINTS for name in ("at random", "at the start", "caught up", "drained")}
        wanted |= {(sink, f"{what} {log}") for sink in POINTS for what in ("full", "readonly") for log in LOGS}
        assert wanted <= ends


def test_faults_have_distinct_names_and_all_effects_of_the_server() -> None:
    assert len(BY_NAME) == len(FAULTS)
    testkit = Path(__file__).parents[2] / "testkit/src/main/scala/io/github/kinesisspark/testkit"
    known = re.findall(r"case object (\w+)|final case class (\w+)", (testkit / "FaultEffect.scala").read_text())
    names = {name[0].lower() + name[1:] for pair in known for name in pair if name}
    assert names - {"beforeCall", "afterCall", "insideBody"} == EFFECTS


def test_only_one_publisher_is_used_if_asked_for() -> None:
    assert {run.publisher for run in trial("7.3", RUNS, ("efo",)).runs} == {"efo"}


def test_restarts_take_publishers_in_turn_and_disturb_no_start_that_is_compared() -> None:
    planned = restarts("7.0", 60)
    first, last = planned.runs
    assert planned == restarts("7.0", 60)
    assert isinstance(first.end, Restarts)
    assert first.publisher == first.end.publisher(1) != first.end.publisher(2)
    assert len(first.each_start) == first.end.starts == 60
    assert [a for a in (*first.each_start[: first.end.warm_up], first.each_start[-1]) if a is not None] == []
    assert sum(action is not None for action in first.each_start) > 15
    assert first.end.footprint_after(first.end.warm_up)
    assert first.end.footprint_after(60)
    assert last.end == Drain()


def test_restarts_are_undisturbed_if_asked_for() -> None:
    assert set(restarts("7.0", 60, disturbed=False).runs[0].each_start) == {None}
