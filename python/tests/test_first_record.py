"""The table of `make bench-first-record`."""

from __future__ import annotations

import first_record


def test_the_first_query_of_a_jvm_has_a_goal_and_later_ones_stand_beside_it() -> None:
    def line(name: str, first: float) -> dict[str, object]:
        return {
            "name": name,
            "first_of_jvm_s": [first, 0.7, 3.0],
            "later_s": [0.4, 0.3, 0.5],
            "commit": "0123456789ab",
            "date": "2026-12-01T03:10:44Z",
            "machine": "2 cores, 24 GiB",
        }

    shown = first_record.table([line("polling", 1.0), line("fan-out", 1.6), line(first_record.SPARKS_OWN, 2.0)])
    assert "| polling | 1 (0.7 to 3) | at most 1: met | 0.4 (0.3 to 0.5) |" in shown
    assert "| fan-out | 1.6 (0.7 to 3) | at most 1.5: **missed** | 0.4 (0.3 to 0.5) |" in shown
    assert "| Spark's rate-micro-batch | 2 (0.7 to 3) |  | 0.4 (0.3 to 0.5) |" in shown
