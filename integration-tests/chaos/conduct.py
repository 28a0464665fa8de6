"""One trial: the server, the producer, and one run of the query after the other on one checkpoint."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from .history import check
from .outcome import RunOutcome, TrialOutcome
from .plan import Drain, Run, Trial
from .processes import Program
from .producer import AckedCount, read
from .run import Java, Limits, RunExecution, Scene
from .service import Service
from .sinks import open_sink


def conduct(trial: Trial, directory: Path, java: Java, limits: Limits, say: Callable[[str], None]) -> TrialOutcome:
    """All runs of a trial, and the verdict. Deletes what was in its directory; calls `say` with a line for each run."""
    began = time.time()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    acked, sink = AckedCount(directory / "acked.jsonl"), open_sink(trial.sink, directory)
    with ExitStack() as running:
        service = running.enter_context(Service(trial, directory / "server.log"))
        producer = _produce(trial, service, directory, limits.records, acked.path)
        running.callback(producer.kill_all)
        conductor = _Conductor(Scene(trial, directory, java, limits, service, producer, acked, sink), running, say)
        stuck = conductor.conduct()
    confirmed, unconfirmed = read(acked.path)
    verdict = check(
        confirmed,
        unconfirmed,
        list(sink.rows()),
        late_s=limits.late,
        undisturbed_since=conductor.undisturbed_since,
        changed=sink.changed(),
    )
    return TrialOutcome(trial, conductor.outcomes, verdict, time.time() - began, stuck)


def _produce(trial: Trial, service: Service, directory: Path, most: int, log: Path) -> Program:
    streams = ",".join(name for name, _ in trial.streams)
    arguments = [service.endpoint, streams, str(trial.keys), str(trial.rate), str(log), str(most)]
    return Program("producer", arguments, directory / "producer.log")


class _Conductor:
    """The runs, and what is left of them until the trial is over: executors whose driver was killed, for one."""

    def __init__(self, scene: Scene, running: ExitStack, say: Callable[[str], None]) -> None:
        self._scene, self._running, self._say = scene, running, say
        self.outcomes: list[RunOutcome] = []
        self.undisturbed_since = 0.0

    def conduct(self) -> str | None:
        """One run after the other; why not all was read in the last, if so."""
        *disturbed, last = self._scene.trial.runs
        for run in disturbed:
            self._execute(run)
        if self._scene.producer.finish() != 0:
            raise RuntimeError(f"the producer failed; its log is in {self._scene.directory}")
        began = time.time()
        outcome = self._execute(last)
        # What a process takes to its first query is the machine's.
        self.undisturbed_since = began + (outcome.started_s or 0)
        if outcome.failures:
            return f"the query fails though nothing disturbs it: {outcome.failures[-1]}"
        if outcome.died != Drain().name:
            return (
                f"{self._scene.missing()} records didn't come within {self._scene.limits.drain:g} s of the one before"
            )
        return None

    def _execute(self, run: Run) -> RunOutcome:
        execution = RunExecution(self._scene, run)
        self._running.callback(execution.query.kill_all)
        outcome = execution.execute()
        self.outcomes.append(outcome)
        self._say(self._line(outcome))
        return outcome

    def _line(self, o: RunOutcome) -> str:
        trial, number = self._scene.trial, f"{len(self.outcomes)}/{len(self._scene.trial.runs)}"
        first = "none" if o.first_batch_s is None else f"{o.first_batch_s:.1f} s"
        actions = ", ".join(f"{n}x {name}" if n > 1 else name for name, n in o.actions.items()) or "nothing else"
        findings = "".join(f"; {finding!r}" for finding in (*o.failures, *o.incomplete, *o.leaks))
        return (
            f"{trial.seed} {trial.sink}/{trial.trigger} run {number} {o.run.publisher} "
            f"{o.run.master}: {o.died} after {o.batches} batches, first after {first}; {actions}{findings}"
        )
