"""What is done to a query, decided by a seed alone. Pure.

A trial is a query on one checkpoint that is started several times. Each run of it has a record publisher, a cluster and
limits of its own; actions follow after so many of its batches; and it ends in a way of its own, the last one when all
records are read. Batches trigger actions, not the clock, so that a slow machine does the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from .faults import FAULTS, Rule
from .query import Publisher, Trigger
from .sinks import SinkKind

T = TypeVar("T")
Paused = Literal["driver", "executor", "server"]

PUBLISHERS: tuple[Publisher, ...] = ("polling", "efo")

_JUMP_MS = 6 * 60 * 1000
_KEYS = 200
_EXECUTOR_KILLS = 8
_ALL_OF_THEM = 0.4
_BURSTS = (2000, 8000)
_SLOW_MS = (1000, 12000)
_CREDENTIALS_MS = (5000, 30000)
# From Spark's session: the query starts after 2 s, and its first batch is committed after 6 s.
_START_MS = (0, 6000)
# Starts until everything that is made once has been made.
_WARM_UP = 4


class CrashPoint(NamedTuple):
    """A point in the driver's own work at which it is killed or its disk fails.

    Attributes:
        what: death `before`, `within` or `after` it, or a disk that is `full` or `readonly` from there on.
        where: `offsets`, `commits`, `_spark_metadata` (the file sink's commit), `tasks` (the end of a task that has
            written), `sink` (the database's transaction).
        number: which time the driver comes there, from 1.
    """

    what: str
    where: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.what} {self.where}"

    @property
    def kills(self) -> bool:
        """Whether the driver dies at once, by SIGKILL."""
        return self.what not in ("full", "readonly")

    def __str__(self) -> str:
        return f"{self.name} {self.number}"


class KillAfter(NamedTuple):
    """SIGKILL to the driver some time after a batch, wherever it then is; after no batch: after the session's start."""

    batches: int
    millis: int

    @property
    def name(self) -> str:
        return "at random" if self.batches else "at the start"


class KillCaughtUp(NamedTuple):
    """SIGKILL to the driver when it has caught up with the producer."""

    name: str = "caught up"


class Restarts(NamedTuple):
    """The query is stopped and started in the same JVM whenever it has caught up, by either publisher in turn.

    Attributes:
        starts: how many there are in all.
        warm_up: the start after which the JVM's footprint is taken, for comparison with the last one's.
        every: a footprint is taken after so many starts.
        publishers: of the starts, in turn.
    """

    starts: int
    warm_up: int
    every: int
    publishers: tuple[Publisher, ...]
    name: str = "restarted"

    def publisher(self, start: int) -> Publisher:
        """Of a start, counted from 1."""
        return self.publishers[start % len(self.publishers)]

    def footprint_after(self, start: int) -> bool:
        """Whether the JVM's footprint is taken after this start, counted from 1."""
        return start in (self.warm_up, self.starts) or (start > self.warm_up and start % self.every == 0)


class Drain(NamedTuple):
    """The producer ends, all is read, and the query is stopped."""

    name: str = "drained"


End: TypeAlias = CrashPoint | KillAfter | KillCaughtUp | Restarts | Drain


class InjectFault(NamedTuple):
    """A fault of the server, until the run ends or the query is restarted."""

    fault: str
    rule: Rule


class Reshard(NamedTuple):
    """A split or a merge at a place among the open shards, or another number of shards; places are fractions."""

    how: Literal["split", "merge", "rescale"]
    place: float


class KillExecutors(NamedTuple):
    """SIGKILL to one executor, or to all."""

    every: bool


class Pause(NamedTuple):
    """SIGSTOP, and SIGCONT after longer than any peer waits."""

    who: Paused
    seconds: float


class ClockJump(NamedTuple):
    """The service's clock goes forward at once: iterators expire, subscriptions end."""

    millis: int


class CompetingPoller(NamedTuple):
    """Another poller, until the run ends or the query is restarted."""


class Burst(NamedTuple):
    """The producer writes so many records at once."""

    records: int


class SlowBatches(NamedTuple):
    """Each batch takes longer by so much, until the run ends or the query is restarted."""

    millis: int


class SlowCredentials(NamedTuple):
    """The query's credentials take so long each time they are asked for, until the run ends or the query restarts."""

    millis: int


class Deregister(NamedTuple):
    """Somebody else deregisters the query's stream consumer."""


Action: TypeAlias = (
    InjectFault
    | Reshard
    | KillExecutors
    | Pause
    | ClockJump
    | CompetingPoller
    | Burst
    | SlowBatches
    | SlowCredentials
    | Deregister
)


class After(NamedTuple):
    """An action, after so many batches of the run."""

    batches: int
    action: Action


@dataclass(frozen=True, slots=True)
class Run:
    """A driver from its start to its end.

    Attributes:
        deregister: whether a query that stops deregisters its consumer.
        each_start: with `Restarts`, the action that each start of the query begins with, if any.
    """

    publisher: Publisher
    master: str
    max_records: int
    deregister: bool
    actions: tuple[After, ...]
    end: End
    each_start: tuple[Action | None, ...] = ()

    @property
    def clustered(self) -> bool:
        return self.master.startswith("local-cluster")


@dataclass(frozen=True, slots=True)
class Trial:
    """A query on one checkpoint.

    Attributes:
        realistic: whether the server has the testkit's realistic profile, and not only the service's quotas.
    """

    seed: str
    streams: tuple[tuple[str, int], ...]
    sink: SinkKind
    trigger: Trigger
    keys: int
    rate: int
    runs: tuple[Run, ...]
    realistic: bool = False


POINTS: dict[SinkKind, tuple[tuple[str, str], ...]] = {
    "parquet": (
        ("before", "offsets"),
        ("after", "offsets"),
        ("after", "tasks"),
        ("before", "_spark_metadata"),
        ("after", "_spark_metadata"),
        ("before", "commits"),
        ("after", "commits"),
    ),
    "sqlite": (
        ("before", "offsets"),
        ("after", "offsets"),
        ("before", "sink"),
        ("within", "sink"),
        ("after", "sink"),
        ("before", "commits"),
        ("after", "commits"),
    ),
}
_FAILING = (("full", "offsets"), ("full", "commits"), ("readonly", "offsets"), ("readonly", "commits"))


class ShuffledDeck(Generic[T]):
    """Deals each card once before any comes again."""

    def __init__(self, cards: list[T], chance: random.Random) -> None:
        self._cards, self._chance = cards, chance
        self._left: list[T] = []

    def deal(self) -> T:
        if not self._left:
            self._left = self._chance.sample(self._cards, len(self._cards))
        return self._left.pop()


def trials(seed: int, runs: int, publishers: Sequence[Publisher] = PUBLISHERS) -> Iterator[Trial]:
    """One trial after the other: both sinks, both triggers, one to three streams, two kinds of server."""
    number = 0
    while True:
        yield trial(f"{seed}.{number}", runs, publishers)
        number += 1


def trial(
    seed: str, runs: int, publishers: Sequence[Publisher] = PUBLISHERS, executor_kills: int = _EXECUTOR_KILLS
) -> Trial:
    """The trial of a seed: `<seed of the whole>.<number of the trial>`.

    Args:
        seed: of the trial.
        runs: how often the query is started.
        publishers: the ways of reading to choose from.
        executor_kills: in each run on a cluster.
    """
    number = int(seed.rpartition(".")[2])
    chance = random.Random(seed)
    sink: SinkKind = "parquet" if number % 2 else "sqlite"
    trigger: Trigger = "availableNow" if number % 4 >= 2 else "processing"  # noqa: PLR2004
    streams = tuple((f"s{i}", chance.randint(1, 4)) for i in range(chance.randint(1, 3)))
    planner = _Planner(chance, sink, publishers, executor_kills)
    killed = [planner.killed_run() for _ in range(runs - 1)]
    rate, every = chance.choice((100, 300)), (*killed, planner.last_run())
    return Trial(seed, streams, sink, trigger, _KEYS, rate, every, realistic=number % 3 == 2)  # noqa: PLR2004


def recoveries(seed: str, runs: int, publishers: Sequence[Publisher] = PUBLISHERS) -> Trial:
    """The driver is killed whenever it has caught up, and nothing else is done: by the publishers in turn."""
    killed = [
        Run(publishers[i % len(publishers)], "local[2]", 5000, deregister=False, actions=(), end=KillCaughtUp())
        for i in range(runs - 1)
    ]
    last = Run(publishers[runs % len(publishers)], "local[2]", 5000, deregister=True, actions=(), end=Drain())
    return Trial(seed, (("s0", 4),), "sqlite", "processing", _KEYS, 300, (*killed, last))


def restarts(seed: str, starts: int, publishers: Sequence[Publisher] = PUBLISHERS, *, disturbed: bool = True) -> Trial:
    """One JVM in which the query is stopped and started so many times; half of the starts are disturbed, if asked.

    The starts before the first footprint and the last one are left undisturbed, as they are what is compared.
    """
    chance = random.Random(seed)
    planner = _Planner(chance, "sqlite", publishers, executor_kills=0)
    end = Restarts(starts, min(_WARM_UP, max(starts // 3, 1)), max(starts // 20, 5), tuple(publishers))
    each = tuple(
        planner.in_session(end.publisher(start))
        if disturbed and end.warm_up < start < starts and chance.random() < 0.5  # noqa: PLR2004
        else None
        for start in range(1, starts + 1)
    )
    first = Run(end.publisher(1), "local[2]", 5000, deregister=False, actions=(), end=end, each_start=each)
    last = Run(publishers[0], "local[2]", 5000, deregister=True, actions=(), end=Drain())
    return Trial(seed, (("s0", 4),), "sqlite", "processing", _KEYS, 100, (first, last))


class _Planner:
    """Deals runs."""

    def __init__(
        self, chance: random.Random, sink: SinkKind, publishers: Sequence[Publisher], executor_kills: int
    ) -> None:
        self._chance, self._sink, self._publishers = chance, sink, publishers
        self._executor_kills = executor_kills
        self._points = ShuffledDeck(
            [*POINTS[sink], *POINTS[sink], *_FAILING[chance.randrange(2) :: 2], None, None, None, "up"], chance
        )
        self._faults = {
            who: ShuffledDeck([f for f in FAULTS if f.reader in (who, "any")], chance) for who in PUBLISHERS
        }
        others = [
            "pause",
            "jump",
            "rival",
            "split",
            "merge",
            "rescale",
            "split",
            "merge",
            "burst",
            "deregister",
            "credentials",
        ]
        # Only foreachBatch can be slowed.
        self._others = ShuffledDeck([*others, "slow"] if sink == "sqlite" else others, chance)
        self._in_session = ShuffledDeck(
            ["fault"] * 6 + ["jump", "rival", "split", "merge", "burst", "slow", "credentials", "deregister"], chance
        )
        self._masters = ShuffledDeck(["local"] * 4 + ["cluster"], chance)
        self._pauses: ShuffledDeck[Paused] = ShuffledDeck(["driver", "executor", "server"], chance)

    def killed_run(self) -> Run:
        chance = self._chance
        publisher = chance.choice(self._publishers)
        clustered = self._masters.deal() == "cluster"
        victims = range(1, self._executor_kills + 1) if clustered else ()
        kills = [After(n, KillExecutors(every=chance.random() < _ALL_OF_THEM)) for n in victims]
        actions: list[After] = [*self._injected(publisher), *self._other(clustered=clustered), *kills]
        batches = max((after.batches for after in actions), default=0)
        end = self._end(max(batches, 1) if clustered else chance.randint(0, 2))
        return Run(
            publisher,
            f"local-cluster[2,{chance.randint(1, 2)},1024]" if clustered else f"local[{chance.randint(1, 3)}]",
            # Few at once never catch up.
            5000 if isinstance(end, KillCaughtUp) else chance.choice((50, 200, 500, 2000)),
            chance.random() < 0.5,  # noqa: PLR2004
            tuple(sorted(actions, key=lambda after: after.batches)),
            end,
        )

    def last_run(self) -> Run:
        publisher = self._chance.choice(self._publishers)
        return Run(publisher, "local[2]", 5000, deregister=True, actions=(), end=Drain())

    def in_session(self, publisher: Publisher) -> Action:
        """What a start is disturbed by whose JVM lives on."""
        match self._in_session.deal():
            case "fault":
                fault = self._faults[publisher].deal()
                return InjectFault(fault.name, fault.rule(self._chance))
            case other:
                return self._disturbance(other)

    def _injected(self, publisher: Publisher) -> Iterator[After]:
        for _ in range(self._chance.randint(0, 2)):
            fault = self._faults[publisher].deal()
            batches = self._chance.randint(0, 1)
            yield After(batches, InjectFault(fault.name, fault.rule(self._chance)))
            if fault.needs_end:
                yield After(batches, Reshard("split", self._chance.random()))
                yield After(batches, Reshard("merge", self._chance.random()))

    def _other(self, *, clustered: bool) -> Iterator[After]:
        batches = self._chance.randint(0, 2)
        match self._others.deal():
            case "pause":
                who = self._pauses.deal()
                if who == "executor" and not clustered:
                    who = "driver"
                # A silent server is noticed after 35 s, silent executors after 8 s.
                yield After(max(batches, 1), Pause(who, 40.0 if who == "server" else 12.0))
            case other:
                yield After(batches, self._disturbance(other))

    def _disturbance(self, name: str) -> Action:  # noqa: PLR0911  (one case for each kind)
        chance = self._chance
        match name:
            case "jump":
                return ClockJump(_JUMP_MS)
            case "rival":
                return CompetingPoller()
            case "burst":
                return Burst(chance.randint(*_BURSTS))
            case "slow":
                return SlowBatches(chance.randint(*_SLOW_MS))
            case "credentials":
                return SlowCredentials(chance.randint(*_CREDENTIALS_MS))
            case "deregister":
                return Deregister()
            case ("split" | "merge" | "rescale") as how:
                return Reshard(how, chance.random())
            case other:
                raise AssertionError(other)

    def _end(self, after: int) -> End:
        chance = self._chance
        match self._points.deal():
            case None if after == 0:
                return KillAfter(0, chance.randint(*_START_MS))
            case None:
                return KillAfter(after, chance.randint(0, 1500))
            case "up":
                return KillCaughtUp()
            case (what, where):
                return CrashPoint(what, where, after + chance.randint(1, 2))
            case other:
                raise AssertionError(other)
