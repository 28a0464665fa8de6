"""How runs end, without a query: what it prints and commits is given."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

from . import conduct
from .conduct import _Conductor
from .outcome import RunOutcome
from .plan import After, Drain, KillAfter, Run, SlowBatches, recoveries
from .processes import Program
from .producer import AckedCount
from .run import Java, Limits, RunExecution, Scene
from .service import Service
from .sinks import open_sink
from .subscriptions import Subscription

TRIAL = recoveries("1.0", 2)
KILLED, LAST = TRIAL.runs


@dataclass
class StubQuery:
    status: int | None = None

    def command(self, line: str) -> None:
        pass

    def kill_driver(self) -> None:
        self.status = -9

    def kill_all(self) -> None:
        self.kill_driver()


@dataclass
class StubService:
    live: list[Subscription] = field(default_factory=list)

    def subscriptions(self) -> list[Subscription]:
        return self.live

    def struck(self) -> list[int]:
        return []

    def calm(self) -> None:
        pass


@dataclass
class StubProducer:
    def finish(self) -> int:
        return 0


@dataclass(frozen=True)
class StubScene(Scene):
    """What the query prints is there when it starts; it commits a batch at each look, if it commits any."""

    commits: bool = False
    records_to_come: int = 0
    printed: tuple[dict[str, Any], ...] = ()
    looks: list[float] = field(default_factory=list)

    def lag(self) -> int:
        return self.records_to_come

    def missing(self) -> int:
        return self.records_to_come

    def batches(self) -> int:
        self.looks.append(time.time())
        return len(self.looks) if self.commits else 0

    def start(self, run: Run, said: Path) -> Program:  # noqa: ARG002
        said.write_text("".join(json.dumps(line) + "\n" for line in self.printed))
        return cast("Program", StubQuery())


def scene(directory: Path, limits: Limits) -> StubScene:
    service, producer = cast("Service", StubService()), cast("Program", StubProducer())
    acked, sink = AckedCount(directory / "acked.jsonl"), open_sink("parquet", directory)
    return StubScene(TRIAL, directory, Java(directory), limits, service, producer, acked, sink)


def test_a_run_without_a_batch_while_records_are_to_come_is_idle_and_fails(tmp_path: Path) -> None:
    outcome = RunExecution(replace(scene(tmp_path, Limits(idle=0.1)), records_to_come=1000), KILLED).execute()
    assert (outcome.died, outcome.killed) == ("idle", True)
    assert outcome.failures == ["under nothing: no batch for 0.1 s, with 1000 records to come"]


def test_a_run_without_a_batch_after_all_records_is_idle_and_does_not_fail(tmp_path: Path) -> None:
    outcome = RunExecution(scene(tmp_path, Limits(idle=0.1)), KILLED).execute()
    assert (outcome.died, outcome.failures) == ("idle", [])


def test_a_run_with_more_batches_than_the_limit_is_killed_and_does_not_fail(tmp_path: Path) -> None:
    busy = replace(scene(tmp_path, Limits(batches=3)), commits=True, records_to_come=1000)
    outcome = RunExecution(busy, KILLED).execute()
    assert (outcome.died, outcome.killed, outcome.failures) == ("batches", True, [])


@pytest.mark.parametrize(("millis", "ends"), [(100, "batches"), (2000, "caught up")])
def test_a_query_whose_batches_are_slow_has_caught_up_with_what_comes_in_two_of_them(
    tmp_path: Path, millis: int, ends: str
) -> None:
    slow = replace(KILLED, actions=(After(1, SlowBatches(millis)),))
    behind = replace(scene(tmp_path, Limits(batches=20)), commits=True, records_to_come=TRIAL.rate * 3)
    assert RunExecution(behind, slow).execute().died == ends


def test_the_last_run_is_not_repeated_when_its_query_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Execution:
        def __init__(self, _: Scene, run: Run) -> None:
            self.run, self.query = run, StubQuery()

        def execute(self) -> RunOutcome:
            fails_now = isinstance(self.run.end, Drain) and not any(o.failures for o in conductor.outcomes)
            return RunOutcome(self.run, died=self.run.end.name, failures=["under nothing: X"] if fails_now else [])

    monkeypatch.setattr(conduct, "RunExecution", Execution)
    with ExitStack() as running:
        conductor = _Conductor(scene(tmp_path, Limits()), running, lambda _: None)
        assert conductor.conduct() == "the query fails though nothing disturbs it: under nothing: X"
    assert [outcome.run for outcome in conductor.outcomes] == [KILLED, LAST]


def test_two_subscriptions_of_one_shard_are_timed_in_a_run_that_is_killed(tmp_path: Path) -> None:
    doubled = [Subscription("a", "s0", "1", since) for since in (10, 20)]
    service = cast("Service", StubService(doubled))
    outcome = RunExecution(replace(scene(tmp_path, Limits(idle=1.5)), service=service), KILLED).execute()
    assert outcome.overlap_s is not None
    assert outcome.overlap_s > 0.4


def test_a_kill_while_it_starts_is_timed_from_the_session(tmp_path: Path) -> None:
    starting, session_at = replace(KILLED, end=KillAfter(0, 200)), time.time() + 0.5
    stub = replace(scene(tmp_path, Limits(idle=5.0)), printed=({"jvm": 1, "at": session_at},))
    assert RunExecution(stub, starting).execute().died == "at the start"
    assert session_at + 0.2 < time.time() < session_at + 2.0


def test_a_run_whose_session_never_comes_is_not_killed_while_it_starts(tmp_path: Path) -> None:
    starting = replace(KILLED, end=KillAfter(0, 100))
    assert RunExecution(scene(tmp_path, Limits(idle=0.5)), starting).execute().died == "idle"
