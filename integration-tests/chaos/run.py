"""One run of the query: started, watched, disturbed as its plan says, and ended."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .footprint import Footprint
from .outcome import RunOutcome
from .plan import (
    Action,
    Burst,
    ClockJump,
    CompetingPoller,
    CrashPoint,
    Deregister,
    Drain,
    InjectFault,
    KillAfter,
    KillCaughtUp,
    KillExecutors,
    Pause,
    Paused,
    Reshard,
    Restarts,
    Run,
    SlowBatches,
    SlowCredentials,
    Trial,
)
from .processes import Program, send
from .producer import AckedCount, read
from .query import DIED, FAILED, Settings, credentials_delay
from .service import Service
from .sinks import Sink
from .subscriptions import Overlaps

_LOOK_S = 0.05
_LOOK_AT_SINK_S = 0.5
# After all is read the query runs for so long: what came a second time would show.
_ENCORE_S = 2.0
# So long after a query has stopped the server may still know its subscriptions.
_LEAVE_S = 30.0
# A silent subscription is noticed after 35 s, and a footprint waits for 90 s.
_IDLE_RESTART_S = 300.0


@dataclass(frozen=True, slots=True)
class Limits:
    """In seconds, if nothing else is said.

    Attributes:
        idle: until a run in which nothing happens any more is killed; it has failed if there are records to come.
        batches: the most of a run that isn't the last, in number.
        drain: until the last run must have brought another record.
        late: from the service to the sink, for every record, once the query is undisturbed.
        records: that are written, besides bursts.
    """

    idle: float = 180.0
    batches: int = 150
    drain: float = 180.0
    late: float = 600.0
    records: int = sys.maxsize


@dataclass(frozen=True, slots=True)
class Java:
    """What drivers and executors run with: the JAR with the crash points, and JVM options."""

    jar: Path
    options: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """What stays while runs come and go.

    Attributes:
        directory: of the trial, with its checkpoint, sink and logs.
        producer: the process that writes; it takes `burst <records>` as a line of its standard input.
        acked: how many records the service has acknowledged.
    """

    trial: Trial
    directory: Path
    java: Java
    limits: Limits
    service: Service
    producer: Program
    acked: AckedCount
    sink: Sink

    def lag(self) -> int:
        """Records that aren't in the sink yet."""
        return self.acked.count() - self.sink.count()

    def missing(self) -> int:
        """The same, once the producer has ended: rows of unconfirmed calls, which may be stored too, don't hide any."""
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

    def start(self, run: Run, said: Path) -> Program:
        """The query; its standard output goes to `said`."""
        settings = Settings(
            directory=str(self.directory),
            endpoint=self.service.endpoint,
            streams=tuple(name for name, _ in self.trial.streams),
            sink=self.trial.sink,
            trigger=self.trial.trigger,
            publisher=run.publisher,
            max_records=run.max_records,
            master=run.master,
            crash_point=str(run.end) if isinstance(run.end, CrashPoint) else None,
            jar=str(self.java.jar),
            deregister=run.deregister,
            starts_again=isinstance(run.end, Restarts),
            jvm_options=self.java.options,
        )
        with said.open("w") as output:
            return Program("query", [settings.to_json()], self.directory / "query.log", output)


class RunExecution:
    """A run, from the start of its process."""

    def __init__(self, scene: Scene, run: Run) -> None:
        self._scene, self._run, self._limits = scene, run, scene.limits
        self._outcome = RunOutcome(run, backlog=scene.lag())
        self._lag = Lag(scene.missing if isinstance(run.end, Drain) else scene.lag)
        self._due = list(run.actions)
        self._injected: list[InjectFault] = []
        self._batches_before = scene.batches()
        self._said = Said(scene.directory / "said.jsonl")
        self._session_at: float | None = None
        # What each batch takes longer.
        self._slow_s = 0.0
        self._overlaps = Overlaps()
        self._overlaps_seen = 0.0
        self._began = self._happened = time.time()
        self.query = scene.start(run, self._said.path)

    def execute(self) -> RunOutcome:
        """Until it has ended."""
        try:
            if isinstance(self._run.end, Restarts):
                self._restart(self._run.end)
            else:
                while self.query.status is None and not self._is_over(self._look()):
                    self._watch_subscriptions()
                    time.sleep(_LOOK_S)
            self._look()
            if not self._outcome.died:
                self._note_end()
        finally:
            self._calm()
            self._listen()
            self._outcome.overlap_s = self._overlaps.longest_s if self._overlaps_seen else None
        return self._outcome

    def _look(self) -> int:
        """Notices batches, does what is due, and gives the number of batches."""
        outcome, batches = self._outcome, self._scene.batches() - self._batches_before
        if batches > outcome.batches:
            outcome.batches, self._happened = batches, time.time()
        if batches and outcome.first_batch_s is None:
            outcome.first_batch_s = time.time() - self._began
        while (
            self._due
            and self._due[0].batches <= batches
            and self.query.status is None
            and self._do(self._due[0].action)
        ):
            self._due.pop(0)
            self._happened = time.time()
        return batches

    def _is_over(self, batches: int) -> bool:
        """Whether it is time to end it, which is done then."""
        end, now = self._run.end, time.time()
        match end:
            case Drain():
                return self._is_drained()
            case KillAfter(0, millis):
                self._listen()
                if self._session_at is not None and now - self._session_at > millis / 1000:
                    return self._kill(end.name)
            case KillAfter(after, millis) if after <= batches and not self._due:
                time.sleep(millis / 1000)
                return self._kill(end.name)
            case KillCaughtUp() if batches and not self._due and self._is_caught_up():
                self._outcome.caught_up_s = now - self._began
                return self._kill(end.name)
        if now - self._happened > self._limits.idle:
            if (lag := self._lag.now()) > 0:
                self._fail(f"no batch for {self._limits.idle:g} s, with {lag} records to come")
            return self._kill("idle")
        return batches > self._limits.batches and self._kill("batches")

    def _is_caught_up(self) -> bool:
        """Whether it lacks no more than a second's worth, and what comes in two batches where those are slow."""
        return self._lag.now() <= self._scene.trial.rate * (1 + 2 * self._slow_s)

    def _is_drained(self) -> bool:
        if self._lag.now() <= 0:
            self._outcome.caught_up_s = time.time() - self._began
            time.sleep(_ENCORE_S)
            return self._finish()
        return self._lag.since() > self._limits.drain and self._kill("stuck")

    def _finish(self) -> bool:
        status = self.query.finish()
        self._outcome.died = self._run.end.name
        if status != 0:
            self._outcome.failures.append(f"the query's program ended with status {status} when it was stopped")
        until = time.monotonic() + _LEAVE_S
        while (left := len(self._scene.service.subscriptions())) and time.monotonic() < until:
            time.sleep(_LOOK_AT_SINK_S)
        self._outcome.left_subscriptions = left
        return True

    def _restart(self, end: Restarts) -> None:
        """All starts of the query but the first, which is the process's own; each when the query has caught up."""
        for start in range(1, end.starts + 1):
            if (action := self._run.each_start[start - 1]) is not None:
                self._do(action)
            if not self._await_caught_up(start, self._scene.batches()):
                self._kill("idle")
                return
            self._calm()
            if end.footprint_after(start) and not self._take_footprint(start):
                self._kill("idle")
                return
            if start < end.starts:
                self.query.command(f"restart {end.publisher(start + 1)}")
                self._slow_s = 0.0
        self._finish()

    def _await_caught_up(self, start: int, batches: int) -> bool:
        """Whether the query has been started so often, has committed a batch and has caught up."""
        until = time.monotonic() + _IDLE_RESTART_S
        while self.query.status is None and time.monotonic() < until:
            self._listen()
            self._look()
            self._watch_subscriptions()
            started = self._outcome.starts - len(self._outcome.failures) >= start
            if started and self._scene.batches() > batches and self._is_caught_up():
                return True
            time.sleep(_LOOK_S)
        return False

    def _take_footprint(self, start: int) -> bool:
        self.query.command("footprint")
        until = time.monotonic() + _IDLE_RESTART_S
        while self.query.status is None and time.monotonic() < until:
            if (footprint := self._listen()) is not None:
                self._outcome.footprints[start] = footprint
                return True
            time.sleep(_LOOK_S)
        return False

    def _watch_subscriptions(self) -> None:
        if time.time() - self._overlaps_seen > _LOOK_AT_SINK_S:
            self._overlaps_seen = time.time()
            self._overlaps.see(self._scene.service.subscriptions(), self._overlaps_seen)

    def _kill(self, why: str) -> bool:
        if self.query.status is None:
            self._outcome.died, self._outcome.killed = why, True
            self.query.kill_driver()
        return True

    def _note_end(self) -> None:
        """It ended by itself: at its crash point, or by a failure."""
        status, end, outcome = self.query.status, self._run.end, self._outcome
        if status in (DIED, -signal.SIGKILL) and isinstance(end, CrashPoint) and end.kills:
            outcome.died, outcome.killed = end.name, True
        elif status == FAILED and isinstance(end, CrashPoint) and not end.kills:
            outcome.died = end.name
        else:
            outcome.died = "failed"
        self._listen()
        if outcome.died == "failed" and not outcome.failures:
            outcome.failures.append(f"the driver ended with status {status}")
        self.query.kill_driver()

    def _calm(self) -> None:
        """Ends all faults, and counts how often they struck."""
        for injected, times in zip(self._injected, self._scene.service.struck(), strict=True):
            self._outcome.struck[injected.fault] += times
            if not times:
                self._outcome.never_struck.append(injected.fault)
        self._injected = []
        self._scene.service.calm()
        credentials_delay(self._scene.directory).unlink(missing_ok=True)

    def _listen(self) -> Footprint | None:
        """Takes down what the query has printed since; gives the latest footprint in it."""
        outcome, found = self._outcome, None
        for line in self._said.fresh():
            if "jvm" in line:
                self._session_at = line["at"]
            if "started" in line:
                outcome.starts += 1
                outcome.started_s = outcome.started_s or line["started"] - self._began
            if "query failed" in line:
                self._fail(line["query failed"])
            if "failed" in line and outcome.died in ("", "failed"):
                self._fail(line["failed"])
            if "footprint" in line:
                found = Footprint(**line["footprint"])
        return found

    def _fail(self, why: str) -> None:
        """A failure of the query, with what is done to it at the time."""
        done = ", ".join([f.fault for f in self._injected] or sorted(self._outcome.actions)) or "nothing"
        self._outcome.failures.append(f"under {done}: {why}")

    def _do(self, action: Action) -> bool:  # noqa: C901  (one case for each kind)
        """Whether it could be done by now."""
        outcome, service = self._outcome, self._scene.service
        match action:
            case InjectFault(fault, rule):
                service.inject(rule)
                self._injected.append(action)
                outcome.actions[f"fault {fault}"] += 1
            case Reshard(how, _):
                if service.reshard(action):
                    outcome.reshards += 1
                    outcome.actions[how] += 1
            case KillExecutors(every):
                executors = self.query.executors()
                victims = executors if every else executors[:1]
                send(signal.SIGKILL, victims)
                outcome.executors_killed += len(victims)
                outcome.actions["kill executors"] += bool(victims)
                return bool(victims)
            case Pause(who, seconds):
                done = self._pause(who, seconds)
                self._overlaps.forget()
                outcome.actions[f"pause {who}"] += done
                return done
            case ClockJump(millis):
                service.jump(millis)
                outcome.actions["clock jump"] += 1
            case CompetingPoller():
                service.start_competing_poller()
                outcome.actions["competing poller"] += 1
            case Burst(records):
                self._scene.producer.command(f"burst {records}")
                outcome.actions["burst"] += 1
            case SlowBatches(millis):
                self.query.command(f"slow {millis}")
                self._slow_s = millis / 1000
                outcome.actions["slow batches"] += 1
            case SlowCredentials(millis):
                credentials_delay(self._scene.directory).write_text(str(millis))
                outcome.actions["slow credentials"] += 1
            case Deregister():
                outcome.actions["deregister"] += service.deregister()
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


class Said:
    """The lines of JSON that the query prints."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0

    def fresh(self) -> list[dict[str, Any]]:
        """Those since the last call; a JVM's own warnings go to the standard output too."""
        with self.path.open("rb") as file:
            file.seek(self._read)
            more = file.read()
        whole = more[: more.rfind(b"\n") + 1]
        self._read += len(whole)
        return [json.loads(line) for line in whole.decode().splitlines() if line.startswith("{")]


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
