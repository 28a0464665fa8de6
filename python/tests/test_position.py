"""Tests Position: its text in the connector's format, and the values that it refuses."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from kinesis_spark import InvalidOptionError, Position


@pytest.mark.parametrize(
    ("position", "text"),
    [
        (Position.latest(), "LATEST"),
        (Position.trim_horizon(), "TRIM_HORIZON"),
        (Position.at(datetime(2026, 1, 31, 8, tzinfo=timezone.utc)), "AT_TIMESTAMP:2026-01-31T08:00:00.000Z"),
        (
            Position.at(datetime(2026, 1, 31, 8, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2)))),
            "AT_TIMESTAMP:2026-01-31T06:00:00.123Z",
        ),
    ],
)
def test_a_position_is_written_in_the_connector_s_format(position: Position, text: str) -> None:
    assert str(position) == text


@pytest.mark.parametrize(
    "position",
    [Position.latest(), Position.trim_horizon(), Position.at(datetime(2026, 1, 31, 8, 0, 0, 5000, timezone.utc))],
    ids=str,
)
def test_a_position_is_read_from_its_own_text(position: Position) -> None:
    assert Position.parse(str(position)) == position
    assert Position.parse(str(position).lower()) == position


@pytest.mark.parametrize(
    ("time", "microseconds"),
    [("08:00:00.5Z", 500_000), ("08:00:00.123456789Z", 123_456), ("10:00:00.25+02:00", 250_000), ("08:00:00Z", 0)],
)
def test_a_fraction_of_a_second_has_one_to_nine_digits(time: str, microseconds: int) -> None:
    expected = datetime(2026, 1, 31, 8, 0, 0, microseconds, timezone.utc)
    assert Position.parse(f"AT_TIMESTAMP:2026-01-31T{time}").timestamp == expected


@pytest.mark.parametrize(
    "text", ["", "NOW", "LATEST:1", "AT_TIMESTAMP:", "AT_TIMESTAMP:yesterday", "AT_TIMESTAMP:" + "9" * 30]
)
def test_a_text_that_is_no_position_is_refused_with_those_that_are(text: str) -> None:
    with pytest.raises(InvalidOptionError, match="LATEST, TRIM_HORIZON or AT_TIMESTAMP:<time>"):
        Position.parse(text)


def test_a_datetime_without_time_zone_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match="time zone"):
        Position.at(datetime(2026, 1, 31))  # noqa: DTZ001


def test_a_timestamp_before_1970_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match="1970 or later"):
        Position.at(datetime(1969, 12, 31, 23, 59, 59, 999_999, timezone.utc))
    assert Position.at(datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))) == Position.parse("AT_TIMESTAMP:0")


def test_a_text_is_refused_as_a_timestamp() -> None:
    with pytest.raises(InvalidOptionError, match="expected a datetime"):
        Position.at("2026-01-31")  # type: ignore[arg-type]


def test_a_timestamp_is_refused_for_other_positions_than_at_timestamp() -> None:
    with pytest.raises(InvalidOptionError, match="none, for a position LATEST"):
        Position("LATEST", datetime.now(timezone.utc))


def test_an_unknown_position_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidOptionError, match="LATEST, TRIM_HORIZON, AT_TIMESTAMP"):
        Position("EARLIEST")  # type: ignore[arg-type]
