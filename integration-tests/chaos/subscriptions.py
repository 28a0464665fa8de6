"""Who is subscribed: nobody may be once the query has stopped, and no shard twice for long while it runs. Pure.

The server knows a subscription that its client has left until it writes to it, so two of one shard count by how long
they are seen together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

# Within that time the server notices that a client has left.
OVERLAP_S = 4.0


class Subscription(NamedTuple):
    """A subscription, as the server lists it, without what changes while it lives."""

    consumer_arn: str
    stream: str
    shard: str
    since_millis: int


class Overlaps:
    """Pairs of subscriptions of one shard that are seen together, and for how long."""

    def __init__(self) -> None:
        self._since: dict[frozenset[Subscription], float] = {}
        self.longest_s = 0.0

    def see(self, live: Iterable[Subscription], now: float) -> None:
        by_shard: dict[tuple[str, str], list[Subscription]] = defaultdict(list)
        for each in live:
            by_shard[each.stream, each.shard].append(each)
        pairs = (frozenset(pair) for several in by_shard.values() for pair in combinations(several, 2))
        self._since = {pair: self._since.get(pair, now) for pair in pairs}
        self.longest_s = max([self.longest_s, *(now - since for since in self._since.values())])

    def forget(self) -> None:
        """Pairs seen before count anew: nobody has looked meanwhile, or the server couldn't close any."""
        self._since = {}
