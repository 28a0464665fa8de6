"""Plans are a matter of their seed alone, and leave nothing untried."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

from .faults import BY_NAME, EFFECTS, FAULTS
from .plan import POINTS, Drain, Jump, KillExecutors, Pause, Peril, Reshard, Rival, Strike, trial, trials

LIVES = 12
LOGS = ("offsets", "commits")


def test_a_seed_gives_the_same_trial_again_and_another_seed_another() -> None:
    assert trial("7.3", LIVES) == trial("7.3", LIVES)
    assert trial("7.3", LIVES) != trial("8.3", LIVES)
    assert next(islice(trials(7, LIVES), 3, None)) == trial("7.3", LIVES)


def test_four_trials_have_both_sinks_with_both_triggers() -> None:
    assert {(t.sink, t.trigger) for t in islice(trials(1, LIVES), 4)} == {
        (sink, trigger) for sink in ("parquet", "sqlite") for trigger in ("processing", "availableNow")
    }


def test_only_the_last_life_ends_with_all_read_and_nothing_is_done_to_it() -> None:
    for each in islice(trials(2, LIVES), 10):
        *mortal, last = each.lives
        assert len(each.lives) == LIVES
        assert last.end == Drain()
        assert last.deeds == ()
        assert not any(isinstance(life.end, Drain) for life in mortal)


def test_a_life_lives_on_until_all_that_is_to_be_done_to_its_executors_is_done() -> None:
    for each in islice(trials(3, LIVES), 10):
        for life in each.lives:
            deaths = [after.batches for after in life.deeds if isinstance(after.deed, KillExecutors)]
            assert bool(deaths) == life.clustered
            if deaths and isinstance(life.end, Peril):
                assert life.end.number > max(deaths)


def test_a_run_has_every_kind_of_end_deed_and_fault_with_either_publisher() -> None:
    lives = [(each, life) for each in islice(trials(4, LIVES), 100) for life in each.lives]
    deeds = [after.deed for _, life in lives for after in life.deeds]
    assert {type(deed) for deed in deeds} == {Strike, Reshard, KillExecutors, Pause, Jump, Rival}
    assert {deed.who for deed in deeds if isinstance(deed, Pause)} == {"driver", "executor", "server"}
    assert {deed.how for deed in deeds if isinstance(deed, Reshard)} == {"split", "merge", "rescale"}
    assert {deed.every for deed in deeds if isinstance(deed, KillExecutors)} == {True, False}
    assert {deed.fault for deed in deeds if isinstance(deed, Strike)} == set(BY_NAME)
    for publisher in ("polling", "efo"):
        ends = {(each.sink, life.end.name) for each, life in lives if life.publisher == publisher}
        wanted = {(sink, f"{what} {where}") for sink, points in POINTS.items() for what, where in points}
        wanted |= {(sink, name) for sink in POINTS for name in ("at random", "at the start", "caught up", "drained")}
        wanted |= {(sink, f"{what} {log}") for sink in POINTS for what in ("full", "readonly") for log in LOGS}
        assert wanted <= ends


def test_faults_have_names_of_their_own_and_all_effects_that_the_server_knows() -> None:
    assert len(BY_NAME) == len(FAULTS)
    testkit = Path(__file__).parents[2] / "testkit/src/main/scala/io/github/kinesisspark/testkit"
    known = re.findall(r"case object (\w+)|final case class (\w+)", (testkit / "FaultEffect.scala").read_text())
    names = {name[0].lower() + name[1:] for pair in known for name in pair if name}
    assert names - {"beforeCall", "afterCall", "insideBody"} == EFFECTS
