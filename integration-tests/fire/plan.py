"""What is done to a query, decided by a seed alone. Pure.

A trial is a query on one checkpoint that lives several times. Each life has its way to read, its cluster and limits;
deeds are done to it after so many of its batches; and it ends in a way of its own, the last one when all is read. It
goes by batches and not by the clock, so that a slow machine does the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from .faults import FAULTS, Rule
from .query import Publisher, Trigger
from .sinks import SinkKind

T = TypeVar("T")
Paused = Literal["driver", "executor", "server"]

_JUMP_MS = 6 * 60 * 1000
_KEYS = 200
_EXECUTOR_DEATHS = 8
_ALL_OF_THEM = 0.4


class Peril(NamedTuple):
    """What befalls the driver at a point that it comes to itself.

    Attributes:
        what: death `before`, `within` or `after` it, or a disk that is `full` or `readonly` from there on.
        where: `offsets`, `commits`, `_spark_metadata` (the file sink's commit), `tasks` (one that has written ends),
            `sink` (the database's transaction).
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
        """Whether the driver dies of it at once, by SIGKILL."""
        return self.what not in ("full", "readonly")

    def __str__(self) -> str:
        return f"{self.name} {self.number}"


class KillAfter(NamedTuple):
    """The driver is killed some time after a batch, wherever it then is; after no batch: while it starts."""

    batches: int
    millis: int

    @property
    def name(self) -> str:
        return "at random" if self.batches else "at the start"


class KillCaughtUp(NamedTuple):
    """The driver is killed when it has caught up with the producer."""

    name: str = "caught up"


class Drain(NamedTuple):
    """The producer ends, all is read, and the query is stopped."""

    name: str = "drained"


End: TypeAlias = Peril | KillAfter | KillCaughtUp | Drain


class Strike(NamedTuple):
    """A fault of the server, until the life ends."""

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
    """SIGSTOP, and after longer than anybody waits SIGCONT."""

    who: Paused
    seconds: float


class Jump(NamedTuple):
    """The service's clock goes forward at once: iterators expire, subscriptions end."""

    millis: int


class Rival(NamedTuple):
    """Another poller, until the life ends."""


Deed: TypeAlias = Strike | Reshard | KillExecutors | Pause | Jump | Rival


class After(NamedTuple):
    """A deed, after so many batches of the life."""

    batches: int
    deed: Deed


@dataclass(frozen=True, slots=True)
class Life:
    """A driver from its start to its end.

    Attributes:
        deregister: whether a query that stops deregisters its consumer.
    """

    publisher: Publisher
    master: str
    max_records: int
    deregister: bool
    deeds: tuple[After, ...]
    end: End

    @property
    def clustered(self) -> bool:
        return self.master.startswith("local-cluster")


@dataclass(frozen=True, slots=True)
class Trial:
    """A query on one checkpoint."""

    seed: str
    streams: tuple[tuple[str, int], ...]
    sink: SinkKind
    trigger: Trigger
    keys: int
    rate: int
    lives: tuple[Life, ...]


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


class Deck(Generic[T]):
    """Deals each card once before any comes again."""

    def __init__(self, cards: list[T], chance: random.Random) -> None:
        self._cards, self._chance = cards, chance
        self._left: list[T] = []

    def deal(self) -> T:
        if not self._left:
            self._left = self._chance.sample(self._cards, len(self._cards))
        return self._left.pop()


def trials(seed: int, lives: int) -> Iterator[Trial]:
    """One trial after the other: both sinks, both triggers, one to three streams."""
    number = 0
    while True:
        yield trial(f"{seed}.{number}", lives)
        number += 1


def trial(seed: str, lives: int) -> Trial:
    """The trial of a seed: `<seed of the run>.<number of the trial>`."""
    number = int(seed.rpartition(".")[2])
    chance = random.Random(seed)
    sink: SinkKind = "parquet" if number % 2 else "sqlite"
    trigger: Trigger = "availableNow" if number % 4 >= 2 else "processing"  # noqa: PLR2004
    streams = tuple((f"s{i}", chance.randint(1, 4)) for i in range(chance.randint(1, 3)))
    planner = _Planner(chance, sink)
    mortal = [planner.mortal() for _ in range(lives - 1)]
    return Trial(seed, streams, sink, trigger, _KEYS, chance.choice((100, 300)), (*mortal, planner.last()))


def recoveries(seed: str, lives: int) -> Trial:
    """Nothing is done to the query but that it is killed whenever it has caught up: with either publisher in turn."""
    publishers: tuple[Publisher, ...] = ("polling", "efo")
    mortal = [
        Life(publishers[i % 2], "local[2]", 5000, deregister=False, deeds=(), end=KillCaughtUp())
        for i in range(lives - 1)
    ]
    last = Life(publishers[lives % 2], "local[2]", 5000, deregister=True, deeds=(), end=Drain())
    return Trial(seed, (("s0", 4),), "sqlite", "processing", _KEYS, 300, (*mortal, last))


class _Planner:
    """Deals lives."""

    def __init__(self, chance: random.Random, sink: SinkKind) -> None:
        self._chance = chance
        self._points = Deck(
            [*POINTS[sink], *POINTS[sink], *_FAILING[chance.randrange(2) :: 2], None, None, None, "up"], chance
        )
        self._faults = {
            who: Deck([f for f in FAULTS if f.reader in (who, "any")], chance) for who in ("polling", "efo")
        }
        self._others = Deck(["pause", "jump", "rival", "split", "merge", "rescale", "split", "merge"], chance)
        self._masters = Deck(["local"] * 4 + ["cluster"], chance)
        self._pauses: Deck[Paused] = Deck(["driver", "executor", "server"], chance)

    def mortal(self) -> Life:
        chance = self._chance
        publisher: Publisher = chance.choice(("polling", "efo"))
        clustered = self._masters.deal() == "cluster"
        victims = range(1, _EXECUTOR_DEATHS + 1) if clustered else ()
        kills = [After(n, KillExecutors(every=chance.random() < _ALL_OF_THEM)) for n in victims]
        deeds: list[After] = [*self._strikes(publisher), *self._other(clustered=clustered), *kills]
        batches = max((after.batches for after in deeds), default=0)
        end = self._end(max(batches, 1) if clustered else chance.randint(0, 2))
        return Life(
            publisher,
            f"local-cluster[2,{chance.randint(1, 2)},1024]" if clustered else f"local[{chance.randint(1, 3)}]",
            # Few at once never catch up.
            5000 if isinstance(end, KillCaughtUp) else chance.choice((50, 200, 500, 2000)),
            chance.random() < 0.5,  # noqa: PLR2004
            tuple(sorted(deeds, key=lambda after: after.batches)),
            end,
        )

    def last(self) -> Life:
        publisher: Publisher = self._chance.choice(("polling", "efo"))
        return Life(publisher, "local[2]", 5000, deregister=True, deeds=(), end=Drain())

    def _strikes(self, publisher: Publisher) -> Iterator[After]:
        for _ in range(self._chance.randint(0, 2)):
            fault = self._faults[publisher].deal()
            batches = self._chance.randint(0, 1)
            yield After(batches, Strike(fault.name, fault.rule(self._chance)))
            if fault.needs_end:
                yield After(batches, Reshard("split", self._chance.random()))
                yield After(batches, Reshard("merge", self._chance.random()))

    def _other(self, *, clustered: bool) -> Iterator[After]:
        chance = self._chance
        batches = chance.randint(0, 2)
        match self._others.deal():
            case "pause":
                who = self._pauses.deal()
                if who == "executor" and not clustered:
                    who = "driver"
                # The server's silence is noticed after 35 s, that of executors after 8 s.
                yield After(max(batches, 1), Pause(who, 40.0 if who == "server" else 12.0))
            case "jump":
                yield After(batches, Jump(_JUMP_MS))
            case "rival":
                yield After(batches, Rival())
            case ("split" | "merge" | "rescale") as how:
                yield After(batches, Reshard(how, chance.random()))

    def _end(self, after: int) -> End:
        chance = self._chance
        match self._points.deal():
            case None if after == 0:
                return KillAfter(0, chance.randint(1000, 9000))
            case None:
                return KillAfter(after, chance.randint(0, 1500))
            case "up":
                return KillCaughtUp()
            case (what, where):
                return Peril(what, where, after + chance.randint(1, 2))
            case other:
                raise AssertionError(other)
