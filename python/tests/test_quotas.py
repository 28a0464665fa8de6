"""The table of `make bench-quotas`."""

from __future__ import annotations

from typing import Any

import pytest
import quotas


def line(
    share: float, others: list[float] | None = None, beside: float = 0.0, *, has_quotas: bool = True
) -> dict[str, Any]:
    readings = [{"share": each, "refused": 3, "cpu_s_per_gb": 9.5} for each in (share, *(others or []))]
    return {
        "name": "polling, 16 shards",
        "shards": 16,
        "has_quotas": has_quotas,
        "share": share,
        "queries": readings,
        "beside_share": beside,
        "commit": "0123456789ab",
        "date": "2026-11-29T03:10:44Z",
        "machine": "2 cores, 24 GiB",
    }


@pytest.mark.parametrize(
    ("measured", "shown"),
    [
        (line(0.98), "0.98 | at least 0.97: met | 3 | 9.5 |  |"),
        (line(0.9), "0.9 | at least 0.97: **missed** | 3 | 9.5 |  |"),
        (line(0.5, others=[0.47]), "0.5 |  | 3 | 9.5 | 0.47 |"),
        (line(0.9, beside=0.05), "0.9 |  | 3 | 9.5 | 0.05 |"),
        (line(6.5, has_quotas=False), " |  | 3 | 9.5 |  |"),
    ],
)
def test_a_query_alone_has_a_goal_and_one_beside_another_poller_shows_both_shares(
    measured: dict[str, Any], shown: str
) -> None:
    assert f"| polling, 16 shards | {shown}\n" in quotas.table([measured])


def test_a_backlog_takes_as_long_as_the_fullest_shard_does_at_two_mib_a_second() -> None:
    every = sum(quotas.RECORD_BYTES + len(str(number)) for number in range(1000)) / quotas.BYTES_OF_SHARD
    assert quotas.least_seconds(1, 1000) == pytest.approx(every)
    assert every / 4 < quotas.least_seconds(4, 1000) < every / 3
