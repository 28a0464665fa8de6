"""What became of lives and trials: plain values, which the report adds up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from .history import Verdict
from .plan import Life, Trial


@dataclass(slots=True)
class LifeOutcome:
    """A life.

    Attributes:
        died: how it ended in the end: the name of its end, `failed` if the query did, `patience` if it was killed
            because nothing else ended it.
        first_batch_s: from the start of the process to the first batch's commit, if there was any.
        started_s: until the query was started.
        caught_up_s: until the sink had all that was acknowledged, but for a second's worth.
        backlog: records that were acknowledged and not in the sink at the start.
    """

    life: Life
    died: str = ""
    killed: bool = False
    failure: str | None = None
    batches: int = 0
    started_s: float | None = None
    first_batch_s: float | None = None
    caught_up_s: float | None = None
    backlog: int = 0
    executors_killed: int = 0
    reshards: int = 0
    deeds: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class TrialOutcome:
    """A trial.

    Attributes:
        stuck: why not all was read, if it wasn't.
    """

    trial: Trial
    lives: list[LifeOutcome]
    verdict: Verdict
    seconds: float
    stuck: str | None = None

    @property
    def is_right(self) -> bool:
        return not self.verdict.wrongs and self.stuck is None
