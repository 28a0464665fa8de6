"""One trial, played: the server, the producer, and one life of the query after the other on one checkpoint."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from .history import check
from .outcome import LifeOutcome, TrialOutcome
from .plan import (
    Deed,
    Drain,
    Jump,
    KillAfter,
    KillCaughtUp,
    KillExecutors,
    Life,
    Pause,
    Peril,
    Reshard,
    Rival,
    Strike,
    Trial,
)
from .processes import Program, send
from .producer import read
from .query import DIED, FAILED, Settings
from .service import Service
from .sinks import Sink, open_sink

_LOOK_S = 0.05
_LOOK_AT_SINK_S = 0.5
# How often the last life is tried again when its query fails, with nothing done to it.
_LAST_TRIES = 3
# After all is read the query goes on for so long: what came a second time would show.
_ENCORE_S = 2.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long things may take, in seconds.

    Attributes:
        life: until a life in which nothing happens any more is ended; it isn't wrong for that.
        batches: the most of a life, in number.
        drain: until the last life must have brought another record.
        late: from the service to the sink, for every record.
    """

    life: float = 90.0
    batches: int = 150
    drain: float = 180.0
    late: float = 600.0


@dataclass(frozen=True, slots=True)
class Java:
    """What drivers and executors run with: the JAR of what kills them from within, and options."""

    jar: Path
    options: str = ""


class Stage:
    """A trial's directory and processes."""

    def __init__(self, trial: Trial, directory: Path, java: Java, bounds: Bounds, say: Callable[[str], None]) -> None:
        self._trial = trial
        self._directory = directory
        self._java = java
        self._bounds = bounds
        self._say = say
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        self._acked = _LineCount(directory / "acked.jsonl", '{"acked"')
        self._sink: Sink = open_sink(trial.sink, directory)
        self._programs: list[Program] = []

    def play(self) -> TrialOutcome:
        """All lives, and the verdict."""
        began = time.time()
        with Service(self._trial, self._directory / "server.log") as service:
            try:
                lives, stuck = self._live(service)
            finally:
                for program in self._programs:
                    program.kill_all()
        acked, doubts = read(self._acked.path)
        verdict = check(acked, doubts, list(self._sink.rows()), self._bounds.late, self._sink.changed())
        return TrialOutcome(self._trial, lives, verdict, time.time() - began, stuck)

    def _live(self, service: Service) -> tuple[list[LifeOutcome], str | None]:
        streams = ",".join(name for name, _ in self._trial.streams)
        arguments = [service.endpoint, streams, str(self._trial.keys), str(self._trial.rate), str(self._acked.path)]
        producer = Program("producer", arguments, self._directory / "producer.log")
        self._programs.append(producer)
        outcomes = []
        *mortal, last = self._trial.lives
        for life in mortal:
            outcomes.append(self._life(life, service))
            self._say(_line(self._trial, outcomes))
        if producer.finish() != 0:
            raise RuntimeError(f"the producer failed, see {self._directory / 'producer.log'}")
        for _ in range(_LAST_TRIES):
            outcomes.append(self._life(last, service))
            self._say(_line(self._trial, outcomes))
            if outcomes[-1].failure is None:
                break
        missing = self._acked.count() - self._sink.count()
        stuck = None
        if outcomes[-1].failure is not None:
            stuck = f"with nothing done to it the query fails: {outcomes[-1].failure}"
        elif missing > 0 and outcomes[-1].died != Drain().name:
            stuck = f"{missing} records didn't come within {self._bounds.drain:g} s of the one before"
        return outcomes, stuck

    def _life(self, life: Life, service: Service) -> LifeOutcome:
        with ExitStack() as after:
            after.callback(service.calm)
            play = _LifePlay(self, life, service)
            try:
                return play.play()
            finally:
                play.end()


class _LifePlay:
    """A life from its start to its end."""

    def __init__(self, stage: Stage, life: Life, service: Service) -> None:
        self._stage, self._life, self._service = stage, life, service
        trial = stage._trial  # noqa: SLF001
        self._directory = stage._directory  # noqa: SLF001
        self._bounds = stage._bounds  # noqa: SLF001
        self._acked, self._sink = stage._acked, stage._sink  # noqa: SLF001
        self._commits = self._directory / "checkpoint" / "commits"
        self._batches_before = _newest(self._commits)
        self._outcome = LifeOutcome(life, backlog=self._acked.count() - self._sink.count())
        self._due = list(life.deeds)
        self._strikes: list[Strike] = []
        self._said = self._directory / "query.jsonl"
        self._said_before = self._said.stat().st_size if self._said.exists() else 0
        self._rate = trial.rate
        self._looked_at_sink = 0.0
        self._began = self._progress = self._happened = time.time()
        self._last_lag = self._seen = self._outcome.backlog
        settings = Settings(
            directory=str(self._directory),
            endpoint=service.endpoint,
            streams=tuple(name for name, _ in trial.streams),
            sink=trial.sink,
            trigger=trial.trigger,
            publisher=life.publisher,
            max_records=life.max_records,
            master=life.master,
            peril=str(life.end) if isinstance(life.end, Peril) else None,
            jar=str(stage._java.jar),  # noqa: SLF001
            deregister=life.deregister,
            jvm_options=stage._java.options,  # noqa: SLF001
        )
        with self._said.open("a") as said:
            self._query = Program("query", [settings.to_json()], self._directory / "query.log", said)
        stage._programs.append(self._query)  # noqa: SLF001

    def play(self) -> LifeOutcome:
        """Until it ends."""
        outcome = self._outcome
        while self._query.status is None:
            batches = self._batches()
            self._notice(batches)
            while self._due and self._due[0].batches <= batches and self._do(self._due[0].deed):
                self._due.pop(0)
                self._happened = time.time()
            if self._is_over(batches):
                break
            time.sleep(_LOOK_S)
        self._notice(self._batches())
        if not outcome.died:
            self._tell_end()
        return outcome

    def end(self) -> None:
        """Counts what struck, and takes down what the query said."""
        rules = self._service.struck()
        for strike in self._strikes:
            struck = (rule["struck"] for rule in rules if rule["effect"] == strike.rules[0]["effect"])
            self._outcome.struck[strike.fault] += max(struck, default=0)
        with self._said.open() as said:
            said.seek(self._said_before)
            for line in map(json.loads, filter(None, said.read().splitlines())):
                if "started" in line and self._outcome.started_s is None:
                    self._outcome.started_s = line["started"] - self._began
                if "failed" in line and self._outcome.died == "failed":
                    self._outcome.failure = line["failed"]

    def _tell_end(self) -> None:
        """It ended by itself: of its peril, or of a failure."""
        status, end = self._query.status, self._life.end
        if status in (DIED, -signal.SIGKILL) and isinstance(end, Peril) and end.kills:
            self._outcome.died, self._outcome.killed = end.name, True
        elif status == FAILED and isinstance(end, Peril) and not end.kills:
            self._outcome.died = end.name
        else:
            self._outcome.died = "failed"
            self._outcome.failure = f"the driver ended with status {status}"
        self._query.kill_driver()

    def _batches(self) -> int:
        return _newest(self._commits) - self._batches_before

    def _notice(self, batches: int) -> None:
        if batches > self._outcome.batches:
            self._happened = time.time()
        self._outcome.batches = batches
        if batches and self._outcome.first_batch_s is None:
            self._outcome.first_batch_s = time.time() - self._began

    def _is_over(self, batches: int) -> bool:
        """Whether it is time to end it, which is done then."""
        match self._life.end:
            case KillAfter(0, millis) if time.time() - self._began > millis / 1000:
                return self._kill(self._life.end.name)
            case KillAfter(after, millis) if after and batches >= after and not self._due:
                time.sleep(millis / 1000)
                return self._kill(self._life.end.name)
            case KillCaughtUp() if not self._due and self._lag() <= self._rate:
                self._outcome.caught_up_s = time.time() - self._began
                return self._kill(self._life.end.name)
            case Drain():
                return self._drained()
        if time.time() - self._happened > self._bounds.life or batches > self._bounds.batches:
            return self._kill("patience")
        return False

    def _kill(self, why: str) -> bool:
        if self._query.status is None:
            self._outcome.died, self._outcome.killed = why, True
            self._query.kill_driver()
        return True

    def _drained(self) -> bool:
        lag = self._lag()
        if lag <= 0:
            self._outcome.caught_up_s = time.time() - self._began
            time.sleep(_ENCORE_S)
            status = self._query.finish()
            self._outcome.died = self._life.end.name
            if status != 0:
                self._outcome.failure = f"the query didn't stop well: status {status}"
            return True
        if lag != self._seen:
            self._seen, self._progress = lag, time.time()
        if time.time() - self._progress > self._bounds.drain:
            return self._kill("stuck")
        return False

    def _lag(self) -> int:
        """Records that aren't in the sink. Looks at it no more often than it stands."""
        now = time.time()
        if now - self._looked_at_sink > _LOOK_AT_SINK_S:
            self._looked_at_sink = now
            self._last_lag = self._acked.count() - self._sink.count()
        return self._last_lag

    def _do(self, deed: Deed) -> bool:
        """Whether it could be done by now."""
        outcome, service = self._outcome, self._service
        match deed:
            case Strike(fault, rules):
                for rule in rules:
                    service.strike(rule)
                self._strikes.append(deed)
                outcome.deeds[f"fault {fault}"] += 1
            case Reshard(how, _):
                if service.reshard(deed):
                    outcome.reshards += 1
                    outcome.deeds[how] += 1
            case KillExecutors(every):
                executors = self._query.executors()
                if not executors:
                    return False
                victims = executors if every else executors[:1]
                send(signal.SIGKILL, victims)
                outcome.executors_killed += len(victims)
                outcome.deeds["kill executors"] += 1
            case Pause(who, seconds):
                return self._pause(who, seconds)
            case Jump(millis):
                service.jump(millis)
                outcome.deeds["clock jump"] += 1
            case Rival():
                service.let_rival_poll()
                outcome.deeds["rival poller"] += 1
        return True

    def _pause(self, who: str, seconds: float) -> bool:
        if who == "server":
            self._service.pause(seconds)
        else:
            pids = self._query.drivers() if who == "driver" else self._query.executors()[:1]
            if not pids:
                return False
            send(signal.SIGSTOP, pids)
            time.sleep(seconds)
            send(signal.SIGCONT, pids)
        self._outcome.deeds[f"pause {who}"] += 1
        return True


class _LineCount:
    """Counts lines of a file that grows, without reading it again."""

    def __init__(self, path: Path, prefix: str) -> None:
        self.path = path
        self._prefix = prefix
        self._read = 0
        self._count = 0

    def count(self) -> int:
        if self.path.exists():
            with self.path.open() as file:
                file.seek(self._read)
                text = file.read()
            whole = text[: text.rfind("\n") + 1]
            self._read += len(whole.encode())
            self._count += sum(line.startswith(self._prefix) for line in whole.splitlines())
        return self._count


def _newest(log: Path) -> int:
    """The number of batches that a log of Spark's has."""
    try:
        return max((int(file.name) + 1 for file in log.iterdir() if file.name.isdigit()), default=0)
    except FileNotFoundError:
        return 0


def _line(trial: Trial, outcomes: list[LifeOutcome]) -> str:
    """A life in a line."""
    o = outcomes[-1]
    first = "none" if o.first_batch_s is None else f"{o.first_batch_s:.1f} s"
    deeds = ", ".join(f"{n}x {name}" if n > 1 else name for name, n in o.deeds.items()) or "nothing else"
    failure = f"; {o.failure[:200]!r}" if o.failure else ""
    return (
        f"{trial.seed} {trial.sink}/{trial.trigger} life {len(outcomes)}/{len(trial.lives)} {o.life.publisher} "
        f"{o.life.master}: {o.died} after {o.batches} batches, first after {first}; {deeds}{failure}"
    )
