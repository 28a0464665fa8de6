"""Two subscriptions of one shard count by how long they are seen together."""

from __future__ import annotations

from .subscriptions import Overlaps, Subscription


def test_pairs_of_one_shard_are_timed_from_their_first_meeting() -> None:
    one, two, other = (Subscription(arn, "s0", shard, 10) for arn, shard in (("a", "1"), ("b", "1"), ("a", "2")))
    overlaps = Overlaps()
    overlaps.see([one, other], 1.0)
    overlaps.see([one, two, other], 2.0)
    assert overlaps.longest_s == 0.0
    overlaps.see([one, two], 2.5)
    assert overlaps.longest_s == 0.5
    # The second has left, and a third has come: another short meeting.
    overlaps.see([one, Subscription("b", "s0", "1", 2700)], 9.0)
    assert overlaps.longest_s == 0.5


def test_shards_of_two_streams_with_one_id_are_no_pair() -> None:
    overlaps = Overlaps()
    for now in (1.0, 9.0):
        overlaps.see([Subscription("a", "s0", "1", 10), Subscription("b", "s1", "1", 10)], now)
    assert overlaps.longest_s == 0.0


def test_a_time_in_which_nobody_looked_does_not_count() -> None:
    pair, overlaps = [Subscription(arn, "s0", "1", 10) for arn in ("a", "b")], Overlaps()
    overlaps.see(pair, 1.0)
    overlaps.forget()
    overlaps.see(pair, 41.0)
    overlaps.see(pair, 41.5)
    assert overlaps.longest_s == 0.5
