"""One trial, played: the server, the producer, and one life of the query after the other on one checkpoint."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from .history import check
from .life import Bounds, Java, Play, Scene
from .outcome import LifeOutcome, TrialOutcome
from .plan import Drain, Life, Trial
from .processes import Program
from .producer import AckedCount, read
from .service import Service
from .sinks import open_sink

# How often the last life is tried again when its query fails, with nothing done to it.
_LAST_TRIES = 3


def play(trial: Trial, directory: Path, java: Java, bounds: Bounds, say: Callable[[str], None]) -> TrialOutcome:
    """All lives of a trial, and the verdict. What was in its directory is deleted; `say` is told of each life."""
    began = time.time()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    acked, sink = AckedCount(directory / "acked.jsonl"), open_sink(trial.sink, directory)
    with ExitStack() as running:
        service = running.enter_context(Service(trial, directory / "server.log"))
        stage = _Stage(Scene(trial, directory, java, bounds, service, acked, sink), running, say)
        stuck = stage.live()
    confirmed, doubts = read(acked.path)
    verdict = check(
        confirmed,
        doubts,
        list(sink.rows()),
        late_s=bounds.late,
        left_alone=stage.left_alone,
        changed=sink.changed(),
    )
    return TrialOutcome(trial, stage.outcomes, verdict, time.time() - began, stuck)


class _Stage:
    """The lives, and what is left of them until the trial is over: executors whose driver was killed, for one."""

    def __init__(self, scene: Scene, running: ExitStack, say: Callable[[str], None]) -> None:
        self._scene, self._running, self._say = scene, running, say
        self.outcomes: list[LifeOutcome] = []
        self.left_alone = 0.0

    def live(self) -> str | None:
        """One life after the other; why not all was read in the last, if so."""
        producer = self._produce()
        *mortal, last = self._scene.trial.lives
        for life in mortal:
            self._live(life)
        if producer.finish() != 0:
            raise RuntimeError(f"the producer failed; its log is in {self._scene.directory}")
        self.left_alone = time.time()
        for _ in range(_LAST_TRIES):
            outcome = self._live(last)
            if outcome.failure is None:
                break
        if outcome.failure is not None:
            return f"the query fails, with nothing done to it: {outcome.failure}"
        if outcome.died != Drain().name:
            return (
                f"{self._scene.missing()} records didn't come within {self._scene.bounds.drain:g} s of the one before"
            )
        return None

    def _produce(self) -> Program:
        scene, trial = self._scene, self._scene.trial
        streams = ",".join(name for name, _ in trial.streams)
        arguments = [scene.service.endpoint, streams, str(trial.keys), str(trial.rate), str(scene.acked.path)]
        producer = Program("producer", arguments, scene.directory / "producer.log")
        self._running.callback(producer.kill_all)
        return producer

    def _live(self, life: Life) -> LifeOutcome:
        play = Play(self._scene, life)
        self._running.callback(play.query.kill_all)
        outcome = play.run()
        self.outcomes.append(outcome)
        self._say(self._line(outcome))
        return outcome

    def _line(self, o: LifeOutcome) -> str:
        trial, number = self._scene.trial, f"{len(self.outcomes)}/{len(self._scene.trial.lives)}"
        first = "none" if o.first_batch_s is None else f"{o.first_batch_s:.1f} s"
        deeds = ", ".join(f"{n}x {name}" if n > 1 else name for name, n in o.deeds.items()) or "nothing else"
        failure = f"; {o.failure!r}" if o.failure else ""
        return (
            f"{trial.seed} {trial.sink}/{trial.trigger} life {number} {o.life.publisher} "
            f"{o.life.master}: {o.died} after {o.batches} batches, first after {first}; {deeds}{failure}"
        )
