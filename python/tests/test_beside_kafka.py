"""The table of `make bench-beside-kafka`."""

from __future__ import annotations

import sys
from typing import Any

import beside_kafka


def line(of: str, p50: float, missing: int = 0) -> dict[str, Any]:
    return {
        "workload": "stateless",
        "of": of,
        "records": 1234,
        "missing": missing,
        "p50": p50,
        "p99": 2 * p50,
        "p99.9": 3 * p50,
        "spark": "4.3.0",
        "commit": "0123456789ab",
        "date": "2026-11-29T03:10:44Z",
        "machine": "2 cores, 24 GiB",
    }


def test_a_workload_has_both_latencies_and_their_ratio() -> None:
    shown = beside_kafka.table([line("Kafka", 4), line("Kinesis", 6, missing=2)])
    assert "| stateless | 4 | 6 | 1.50 | 8 | 12 | 1.50 | 12 | 18 | 1.50 |\n" in shown
    assert "of 1,234 records each; 2 are missing. 0123456789ab, 2026-11-29, Spark 4.3.0;" in shown


def test_a_workload_of_one_of_both_has_no_row() -> None:
    assert "| stateless |" not in beside_kafka.table([line("Kafka", 4)])


def test_the_program_has_the_packages_that_the_build_opens_to_spark() -> None:
    first, *_, last = beside_kafka.opened()
    assert first == "--add-opens=java.base/java.lang=ALL-UNNAMED"
    assert last == "--add-opens=java.base/sun.util.calendar=ALL-UNNAMED"


def test_what_the_program_says_beside_its_figures_is_no_figure() -> None:
    said = "print('starting'); print('measured: {\"p50\": 4}'); print('not measured: {}')"
    assert list(beside_kafka.measured([sys.executable, "-c", said])) == [{"p50": 4}]
