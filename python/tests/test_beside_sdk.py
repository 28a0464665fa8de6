"""Tests of the comparison with the SDK alone."""

from __future__ import annotations

import beside_sdk
import pytest


def turn(query: float, loop: float) -> dict[str, dict[str, float]]:
    return {
        "query": {"mb_per_s": query, "cpu_s_per_gb": 1000 / query},
        "loop": {"mb_per_s": loop, "cpu_s_per_gb": 1000 / loop},
    }


def test_ratios_are_those_of_medians_and_the_first_turn_counts() -> None:
    line = beside_sdk.summary([turn(100, 200), turn(190, 200), turn(210, 200)])
    assert (line["query_mb_per_s"], line["loop_mb_per_s"], line["throughput_to_loop"]) == (190, 200, 0.95)
    assert (line["throughput_first"], line["throughput_last"]) == (0.5, 1.05)
    assert (line["cpu_first"], line["cpu_last"]) == (2, 0.952)


def test_the_interval_is_students_of_the_paired_ratios() -> None:
    # exp(ln 2 / 2 +- 12.706 * stdev(0, ln 2) / sqrt 2)
    least, most = beside_sdk.interval([1, 2]) or (0, 0)
    assert (round(least, 4), round(most, 1)) == (0.0173, 115.6)
    assert beside_sdk.interval([0.5, 0.5, 0.5]) == pytest.approx((0.5, 0.5))
    assert beside_sdk.interval([0.5]) is None


def test_there_is_a_quantile_for_each_number_of_turns() -> None:
    assert len(beside_sdk.T_95) >= beside_sdk.COLD_TURNS - 1


def test_each_form_of_the_loop_is_tried_once() -> None:
    limits = {
        setting.name: [(form.get("http"), form.get("limit") or form.get("window")) for form in setting.forms()]
        for setting in beside_sdk.SETTINGS
    }
    all_limits = [(http, limit) for http in ("1.1", "2") for limit in ("1000", "4000", "10000")]
    assert limits["polling-16-shards"] == all_limits
    assert limits["polling-100B"] == [("1.1", "10000"), ("2", "10000")]
    assert limits["sink-100B"] == [("1.1", None), ("2", None)]
    assert limits["fan-out-16-shards"] == [(None, "524288"), (None, "4194304")]
