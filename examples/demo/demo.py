"""The demo: a stream of real events, a PySpark query that is killed on the way, and proof that all events counted once.

    python demo.py [--server testkit | kinesis-local | localstack] [--events N] [--rate N]

Four processes run: the Kinesis server, a producer, the query (twice), and this one, which starts and watches them. All
that they write is in `build/demo/<server>/`. Exit status: 0 if every count is exact, 1 if not.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import flights
import plot
import servers
import sink
from display import Display
from measurements import Run
from processes import Process
from rich.console import Console
from servers import Load

STREAM = "departures"
TICK_S = 0.2
# The query is killed when so much of the stream is sent: what follows shows it catch up and continue.
KILL_AT = 0.4
SHORTEST_S = 5
# From the last event on: what a slow machine may need to catch up.
PATIENCE_S = 60.0
START_S = 90.0
# After all are counted, the query continues for so long: an event that came a second time would show.
ENCORE_S = 1.5
BUILD = Path(__file__).resolve().parents[2] / "build" / "demo"


class Demo:
    """One run, in the order of its methods."""

    def __init__(self, server: str, load: Load) -> None:
        self.server = server
        self.shards, self.events, self.rate = load.shards, load.events, load.rate
        self.directory = BUILD / server
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self.result = self.directory / "result.db"
        sink.create(self.result)
        self.measured = Run(self.directory / "producer.jsonl", self.directory / "progress.jsonl")
        self.display = Display(Console(), self.measured, self.events)
        self.killed_at = 0.0

    def run(self) -> bool:
        """Run it all; true if every count is exact."""
        with self.display:
            self.display.say(f"starting {self.server}, with stream {STREAM} of {self.shards} shards")
            with servers.running(self.server, STREAM, self.shards, self.directory / "server.log") as endpoint:
                self._stream(endpoint)
        return self._report()

    def _stream(self, endpoint: str) -> None:
        with self._query(endpoint) as query:
            self._await_start(query)
            producer = self._producer(endpoint)
            with producer:
                self._watch("running", int(self.events * KILL_AT), query, producer)
                query.kill()
                self.killed_at = time.time()
                self.display.say(f"killed the query (SIGKILL) after {self.measured.total_sent:,} events")
                with self._query(endpoint) as second:
                    self._watch("restarted", self.events, second, producer)
                    self._await_count(second)
                    second.finish()

    def _query(self, endpoint: str) -> Process:
        return Process("query.py", endpoint, STREAM, self.directory, log=self.directory / "query.log")

    def _producer(self, endpoint: str) -> Process:
        output = self.directory / "producer.jsonl"
        log = self.directory / "producer.log"
        self.display.say(f"replaying {self.events:,} flights at {self.rate:,} a second")
        return Process("producer.py", endpoint, STREAM, self.events, self.rate, log=log, output=output)

    def _await_start(self, query: Process) -> None:
        deadline = time.time() + START_S
        while not self.measured.starts:
            if time.time() > deadline:
                raise RuntimeError(f"The query didn't start in {START_S:g} s; its log is {query.log}")
            self._tick("starting", query)

    def _watch(self, state: str, until_sent: int, query: Process, producer: Process) -> None:
        """Show progress until so many events are sent."""
        while self.measured.total_sent < until_sent:
            self._tick(state, query, producer)

    def _await_count(self, query: Process) -> None:
        """Let the query catch up, and continue a little."""
        deadline = time.time() + PATIENCE_S
        while sink.flights_counted(self.result) < self.events and time.time() < deadline:
            self._tick("catching up", query)
        encore = time.time() + ENCORE_S
        while time.time() < encore:
            self._tick("all counted", query)

    def _tick(self, state: str, *processes: Process) -> None:
        for process in processes:
            process.check()
        self.measured.update()
        self.display.show(state, sink.flights_counted(self.result))
        time.sleep(TICK_S)

    def _report(self) -> bool:
        self.measured.update()
        expected = flights.totals(flights.load(self.events))
        found = sink.totals(self.result)
        wrong = sorted(group for group in expected.keys() | found.keys() if expected.get(group) != found.get(group))
        exact = not wrong
        late = sum(batch.late_rows for batch in self.measured.batches)
        outcome: dict[str, object] = {
            "exact": exact,
            "events": self.events,
            "events_counted": sum(totals.flights for totals in found.values()),
            "groups": len(expected),
            "groups_wrong": len(wrong),
            "rows_dropped_as_late": late,
        }
        numbers, picture = self.directory / "demo.json", self.directory / "demo.png"
        plot.write_numbers(numbers, self.measured, self.killed_at, outcome)
        plot.write_plot(picture, self.measured, self.killed_at, f"{self.events:,} events on {self.server}")
        facts = plot.summary(self.measured, self.killed_at)
        say = self.display.say
        say(
            f"lag {facts['lag_median_s']:.2f} s in the median, {facts['lag_max_s']:.1f} s at most; "
            f"{facts['batches']:.0f} micro-batches; first batch {facts['outage_s']:.1f} s after the kill"
        )
        say(f"plot {picture}, numbers {numbers}")
        if exact:
            say(
                f"EXACT: {self.events:,} events in {len(expected):,} groups, each counted once, over a kill and restart"
            )
        else:
            say(f"WRONG: {len(wrong)} of {len(expected):,} groups differ; {late} rows came too late. The first:")
            for group in wrong[:5]:
                say(f"  {group}: expected {expected.get(group)}, found {found.get(group)}")
        return exact


def main() -> int:
    """Read the command line, run the demo."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", choices=servers.LOADS, default="testkit", help="what plays Kinesis (testkit)")
    parser.add_argument("--events", type=int, help="how many, if not what the server is known to take")
    parser.add_argument("--rate", type=int, help="events a second, likewise")
    asked = parser.parse_args()
    load = servers.LOADS[asked.server]
    load = replace(load, events=asked.events or load.events, rate=asked.rate or load.rate)
    if load.events < SHORTEST_S * load.rate:
        parser.error(
            f"{load.events} events at {load.rate} a second are over in less than {SHORTEST_S} s: too short to measure"
        )
    # On SIGTERM it ends what it has started, as on Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return 0 if Demo(asked.server, load).run() else 1


if __name__ == "__main__":
    sys.exit(main())
