"""StartingPosition: the texts that the connector reads, and what it refuses."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from kinesis_spark import InvalidOptionError, StartingPosition


@pytest.mark.parametrize(
    ("position", "text"),
    [
        (StartingPosition.latest(), "LATEST"),
        (StartingPosition.trim_horizon(), "TRIM_HORIZON"),
        (StartingPosition.at(datetime(2026, 1, 31, 8, tzinfo=timezone.utc)), "AT_TIMESTAMP:2026-01-31T08:00:00.000Z"),
        (
            StartingPosition.at(datetime(2026, 1, 31, 8, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2)))),
            "AT_TIMESTAMP:2026-01-31T06:00:00.123Z",
        ),
    ],
)
def test_positions_are_written_as_the_connector_reads_them(position: StartingPosition, text: str) -> None:
    assert str(position) == text


def test_a_naive_datetime_is_refused_because_it_is_another_moment_on_each_machine() -> None:
    with pytest.raises(InvalidOptionError, match="time zone"):
        StartingPosition.at(datetime(2026, 1, 31))  # noqa: DTZ001


def test_a_date_text_is_refused_as_a_moment() -> None:
    with pytest.raises(InvalidOptionError, match="expected a datetime"):
        StartingPosition.at("2026-01-31")  # type: ignore[arg-type]


def test_a_timestamp_belongs_to_at_timestamp_alone() -> None:
    with pytest.raises(InvalidOptionError, match="none, for a position LATEST"):
        StartingPosition("LATEST", datetime.now(timezone.utc))


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidOptionError, match="LATEST, TRIM_HORIZON, AT_TIMESTAMP"):
        StartingPosition("EARLIEST")  # type: ignore[arg-type]
