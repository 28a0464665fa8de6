"""What became of runs and trials: plain values, which the report adds up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from .footprint import Footprint, growth
from .history import Verdict
from .plan import Restarts, Run, Trial
from .subscriptions import OVERLAP_S


@dataclass(slots=True)
class RunOutcome:
    """A run.

    Attributes:
        died: how it ended: the name of its end, `failed` if the query failed by itself, or why it was killed before:
            `idle`, `batches` (too many) or `stuck`, by its limits.
        failures: why queries failed or committed no batch, each with the faults that were injected at the time.
        first_batch_s: from the start of the process to the first batch's commit, if there was any.
        started_s: until the query was started.
        caught_up_s: until the sink had all acknowledged records, but for a second's worth.
        backlog: records that were acknowledged and not in the sink at the start.
        starts: of the query, in this JVM.
        footprints: of the JVM, by the start after which they were taken.
        left_subscriptions: still known to the server some time after the query had stopped.
        overlap_s: for how long the server knew two subscriptions of one shard; None if nobody looked.
    """

    run: Run
    died: str = ""
    killed: bool = False
    failures: list[str] = field(default_factory=list)
    batches: int = 0
    started_s: float | None = None
    first_batch_s: float | None = None
    caught_up_s: float | None = None
    backlog: int = 0
    executors_killed: int = 0
    reshards: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    never_struck: list[str] = field(default_factory=list)
    starts: int = 0
    footprints: dict[int, Footprint] = field(default_factory=dict)
    left_subscriptions: int = 0
    overlap_s: float | None = None

    @property
    def leaks(self) -> list[str]:
        """What starts and stops of the query left behind, on the server and in the JVM.

        Two subscriptions of one shard on a cluster are no error: an executor that is stopped or loses its driver keeps
        its subscription for a while after another executor has got the shard.
        """
        left = [f"{self.left_subscriptions} subscriptions after the query stopped"] if self.left_subscriptions else []
        if self.overlap_s is not None and self.overlap_s > OVERLAP_S and not self.run.clustered:
            left.append(f"two subscriptions of one shard for {self.overlap_s:.1f} s")
        if isinstance(self.run.end, Restarts) and self.died == self.run.end.name:
            first, last = self.run.end.warm_up, self.run.end.starts
            left += growth(self.footprints[first], self.footprints[last], last - first)
        return left

    @property
    def incomplete(self) -> list[str]:
        """Why a run of `Restarts` shows nothing, if so: it ended before its last start, and nothing was compared."""
        end = self.run.end
        if not isinstance(end, Restarts) or self.died == end.name:
            return []
        return [f"the restarts ended at start {self.starts} of {end.starts} ({self.died}): no footprints were compared"]


@dataclass(slots=True)
class TrialOutcome:
    """A trial.

    Attributes:
        stuck: why not all was read, if it wasn't.
    """

    trial: Trial
    runs: list[RunOutcome]
    verdict: Verdict
    seconds: float
    stuck: str | None = None

    @property
    def is_right(self) -> bool:
        """Whether every record came once and nothing was left behind; queries may have failed under faults."""
        return not self.verdict.violations and not self.errors

    @property
    def is_strictly_right(self) -> bool:
        """Whether, besides, no query failed by itself or hung."""
        return self.is_right and not self.failures

    @property
    def errors(self) -> list[str]:
        """What is wrong besides the records."""
        stuck = [] if self.stuck is None else [self.stuck]
        return [*stuck, *(error for run in self.runs for error in run.incomplete), *self.leaks]

    @property
    def failures(self) -> list[str]:
        return [failure for run in self.runs for failure in run.failures]

    @property
    def leaks(self) -> list[str]:
        return [leak for run in self.runs for leak in run.leaks]
