"""Puts flights into the stream at a steady pace, in a process of its own; prints how many it has put so far.

    python producer.py <endpoint> <stream> <count> <events a second>

Each line of output is JSON: `{"time": <seconds since 1970>, "sent": <events so far>}`.
"""

from __future__ import annotations

import json
import sys
import time

import flights

from kinesis_spark.local import KinesisClient

TICK_S = 0.1
# At most so many at once, when the server has made it fall behind: one PutRecords call.
BURST = 500


def main(endpoint: str, stream: str, count: int, rate: int) -> None:
    """Put `count` flights, `rate` a second."""
    records = [flight.record() for flight in flights.load(count)]
    client = KinesisClient(endpoint)
    started = time.monotonic()
    sent = 0
    while sent < count:
        due = min(count, sent + BURST, int((time.monotonic() - started + TICK_S) * rate))
        client.put_records(stream, records[sent:due])
        sent = due
        print(json.dumps({"time": time.time(), "sent": sent}), flush=True)
        time.sleep(max(0.0, started + sent / rate - time.monotonic()))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
