"""A life of the query, played: started, watched, done to what its plan says, and ended."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .outcome import LifeOutcome
from .plan import (
    Deed,
    Drain,
    Jump,
    KillAfter,
    KillCaughtUp,
    KillExecutors,
    Life,
    Pause,
    Paused,
    Peril,
    Reshard,
    Rival,
    Strike,
    Trial,
)
from .processes import Program, send
from .producer import AckedCount, read
from .query import DIED, FAILED, Settings
from .service import Service
from .sinks import Sink

_LOOK_S = 0.05
_LOOK_AT_SINK_S = 0.5
# After all is read the query goes on for so long: what came a second time would show.
_ENCORE_S = 2.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may be, in seconds where nothing else is said.

    Attributes:
        life: until a life in which nothing happens any more is ended; it isn't wrong for that.
        batches: the most of a life that isn't the last, in number.
        drain: until the last life must have brought another record.
        late: from the service to the sink, for every record, once the query is left alone.
    """

    life: float = 180.0
    batches: int = 150
    drain: float = 180.0
    late: float = 600.0


@dataclass(frozen=True, slots=True)
class Java:
    """What drivers and executors run with: the JAR of what kills them from within, and options."""

    jar: Path
    options: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """What stays while lives come and go.

    Attributes:
        directory: of the trial, with its checkpoint, sink and logs.
        acked: how many records the service has acknowledged.
    """

    trial: Trial
    directory: Path
    java: Java
    bounds: Bounds
    service: Service
    acked: AckedCount
    sink: Sink

    def lag(self) -> int:
        """Records that aren't in the sink yet."""
        return self.acked.count() - self.sink.count()

    def missing(self) -> int:
        """The same, once the producer has ended: rows of calls in doubt, which may be stored too, don't hide any."""
        if (lag := self.lag()) > 0:
            return lag
        confirmed, _ = read(self.acked.path)
        return len({acked.place for acked in confirmed} - {row.place for row in self.sink.rows()})

    def batches(self) -> int:
        """Batches that are committed."""
        with suppress(FileNotFoundError):
            logged = (self.directory / "checkpoint" / "commits").iterdir()
            return max((int(file.name) + 1 for file in logged if file.name.isdigit()), default=0)
        return 0

    def start(self, life: Life, said: Path) -> Program:
        """The query; what it says of itself goes to `said`."""
        settings = Settings(
            directory=str(self.directory),
            endpoint=self.service.endpoint,
            streams=tuple(name for name, _ in self.trial.streams),
            sink=self.trial.sink,
            trigger=self.trial.trigger,
            publisher=life.publisher,
            max_records=life.max_records,
            master=life.master,
            peril=str(life.end) if isinstance(life.end, Peril) else None,
            jar=str(self.java.jar),
            deregister=life.deregister,
            jvm_options=self.java.options,
        )
        with said.open("w") as output:
            return Program("query", [settings.to_json()], self.directory / "query.log", output)


class Play:
    """A life, from the start of its process."""

    def __init__(self, scene: Scene, life: Life) -> None:
        self._scene, self._life, self._bounds = scene, life, scene.bounds
        self._outcome = LifeOutcome(life, backlog=scene.lag())
        self._lag = Lag(scene.missing if isinstance(life.end, Drain) else scene.lag)
        self._due = list(life.deeds)
        self._strikes: list[Strike] = []
        self._batches_before = scene.batches()
        self._said = scene.directory / "said.jsonl"
        self._began = self._happened = time.time()
        self.query = scene.start(life, self._said)

    def run(self) -> LifeOutcome:
        """Until it has ended."""
        try:
            while self.query.status is None and not self._is_over(self._look()):
                time.sleep(_LOOK_S)
            self._look()
            if not self._outcome.died:
                self._tell_end()
        finally:
            self._take_down()
            self._scene.service.calm()
        return self._outcome

    def _look(self) -> int:
        """Notices batches, and does what is due; gives the number of batches."""
        outcome, batches = self._outcome, self._scene.batches() - self._batches_before
        if batches > outcome.batches:
            outcome.batches, self._happened = batches, time.time()
        if batches and outcome.first_batch_s is None:
            outcome.first_batch_s = time.time() - self._began
        while (
            self._due and self._due[0].batches <= batches and self.query.status is None and self._do(self._due[0].deed)
        ):
            self._due.pop(0)
            self._happened = time.time()
        return batches

    def _is_over(self, batches: int) -> bool:
        """Whether it is time to end it, which is done then."""
        end, now = self._life.end, time.time()
        match end:
            case Drain():
                return self._is_drained()
            case KillAfter(0, millis) if now - self._began > millis / 1000:
                return self._kill(end.name)
            case KillAfter(after, millis) if 0 < after <= batches and not self._due:
                time.sleep(millis / 1000)
                return self._kill(end.name)
            case KillCaughtUp() if batches and not self._due and self._lag.now() <= self._scene.trial.rate:
                self._outcome.caught_up_s = now - self._began
                return self._kill(end.name)
        if now - self._happened > self._bounds.life or batches > self._bounds.batches:
            return self._kill("patience")
        return False

    def _is_drained(self) -> bool:
        if self._lag.now() <= 0:
            self._outcome.caught_up_s = time.time() - self._began
            time.sleep(_ENCORE_S)
            status = self.query.finish()
            self._outcome.died = self._life.end.name
            if status != 0:
                self._outcome.failure = f"the query didn't stop well: status {status}"
            return True
        return self._lag.since() > self._bounds.drain and self._kill("stuck")

    def _kill(self, why: str) -> bool:
        if self.query.status is None:
            self._outcome.died, self._outcome.killed = why, True
            self.query.kill_driver()
        return True

    def _tell_end(self) -> None:
        """It ended by itself: of its peril, or of a failure."""
        status, end, outcome = self.query.status, self._life.end, self._outcome
        if status in (DIED, -signal.SIGKILL) and isinstance(end, Peril) and end.kills:
            outcome.died, outcome.killed = end.name, True
        elif status == FAILED and isinstance(end, Peril) and not end.kills:
            outcome.died = end.name
        else:
            outcome.died, outcome.failure = "failed", f"the driver ended with status {status}"
        self.query.kill_driver()

    def _take_down(self) -> None:
        """What struck, and what the query said."""
        for strike, times in zip(self._strikes, self._scene.service.struck(), strict=True):
            self._outcome.struck[strike.fault] += times
        # A JVM's own warnings go to the standard output too.
        for line in (json.loads(text) for text in self._said.read_text().splitlines() if text.startswith("{")):
            if "started" in line and self._outcome.started_s is None:
                self._outcome.started_s = line["started"] - self._began
            if "failed" in line and self._outcome.died == "failed":
                self._outcome.failure = line["failed"]

    def _do(self, deed: Deed) -> bool:
        """Whether it could be done by now."""
        outcome, service = self._outcome, self._scene.service
        match deed:
            case Strike(fault, rule):
                service.strike(rule)
                self._strikes.append(deed)
                outcome.deeds[f"fault {fault}"] += 1
            case Reshard(how, _):
                if service.reshard(deed):
                    outcome.reshards += 1
                    outcome.deeds[how] += 1
            case KillExecutors(every):
                executors = self.query.executors()
                victims = executors if every else executors[:1]
                send(signal.SIGKILL, victims)
                outcome.executors_killed += len(victims)
                outcome.deeds["kill executors"] += bool(victims)
                return bool(victims)
            case Pause(who, seconds):
                done = self._pause(who, seconds)
                outcome.deeds[f"pause {who}"] += done
                return done
            case Jump(millis):
                service.jump(millis)
                outcome.deeds["clock jump"] += 1
            case Rival():
                service.let_rival_poll()
                outcome.deeds["rival poller"] += 1
        return True

    def _pause(self, who: Paused, seconds: float) -> bool:
        if who == "server":
            self._scene.service.pause(seconds)
            return True
        pids = self.query.drivers() if who == "driver" else self.query.executors()[:1]
        send(signal.SIGSTOP, pids)
        time.sleep(seconds if pids else 0)
        send(signal.SIGCONT, pids)
        return bool(pids)


class Lag:
    """How many records are to come, looked at now and then only, and since when that is so."""

    def __init__(self, look: Callable[[], int]) -> None:
        self._look = look
        self._last = look()
        self._changed = self._looked = time.time()

    def now(self) -> int:
        """As it was a moment ago."""
        if time.time() - self._looked > _LOOK_AT_SINK_S:
            self._looked = time.time()
            lag = self._look()
            if lag != self._last:
                self._last, self._changed = lag, self._looked
        return self._last

    def since(self) -> float:
        """Seconds for which nothing has changed."""
        return time.time() - self._changed
