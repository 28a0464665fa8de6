"""Two subscriptions of one shard count by how long they are seen together."""

from __future__ import annotations

from .subscriptions import Overlaps, Subscription


def test_pairs_of_one_shard_are_timed_from_their_first_meeting() -> None:
    one, two, other = (Subscription(arn, shard, 10) for arn, shard in (("a", "1"), ("b", "1"), ("a", "2")))
    overlaps = Overlaps()
    overlaps.see([one, other], 1.0)
    overlaps.see([one, two, other], 2.0)
    assert overlaps.longest_s == 0.0
    overlaps.see([one, two], 2.5)
    assert overlaps.longest_s == 0.5
    # The second has left, and a third has come: another short meeting.
    overlaps.see([one, Subscription("b", "1", 2700)], 9.0)
    assert overlaps.longest_s == 0.5
