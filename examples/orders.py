"""What the examples share: the Kinesis that they use, and the orders in it.

Each example reads a stream of yours, `--stream orders --region eu-west-1 --checkpoint s3a://bucket/orders`, or one of
any server, `--endpoint http://...`. Without `--stream` it starts a Kinesis server of its own with some orders in it.
All run with `python` and with
`spark-submit --jars "$(python -c 'from kinesis_spark import jars; print(jars.connector_jar())')"`, on any master.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.query import StreamingQuery

from kinesis_spark import (
    DefaultCredentials,
    KinesisOptions,
    KinesisSinkOptions,
    LocalKinesis,
    Record,
    StaticCredentials,
)
from kinesis_spark.local import KinesisClient

SCHEMA = "order int, customer string, total double"


def order(number: int) -> Record:
    """An order, as a producer would put it: of one of three customers, whose orders keep their sequence."""
    customer = f"customer-{number % 3}"
    return Record(customer, json.dumps({"order": number, "customer": customer, "total": number / 2}).encode())


def parsed() -> Column:
    """The order in a record's data."""
    return F.from_json(F.col("data").cast("string"), SCHEMA).alias("order")


class Service:
    """The Kinesis that an example uses, and the folder of what it keeps from one run to the next: its `state`."""

    def __init__(self, stream: str, region: str | None, endpoint: str | None, state: str) -> None:
        self.state = state
        self._stream = stream
        self._region = "us-east-1" if endpoint is not None and region is None else region
        self._endpoint = endpoint

    @property
    def source(self) -> KinesisOptions:
        """Options to read the stream with, from its oldest record on."""
        return KinesisOptions(
            stream_name=self._stream,
            region=self._region,
            endpoint=self._endpoint,
            credentials=self._credentials(),
            starting_position="TRIM_HORIZON",
        )

    def sink(self, stream: str) -> KinesisSinkOptions:
        """Options to write to a stream with."""
        return KinesisSinkOptions(
            stream_name=stream, region=self._region, endpoint=self._endpoint, credentials=self._credentials()
        )

    def put(self, records: Sequence[Record]) -> None:
        """More records come to the stream of a local server. Nothing is put into a stream on AWS."""
        if self._endpoint is not None:
            client = KinesisClient(self._endpoint)
            client.put_records(self._stream, records)
            client.close()

    def _credentials(self) -> StaticCredentials | DefaultCredentials:
        return DefaultCredentials() if self._endpoint is None else StaticCredentials("local", "local")


class Arguments(argparse.ArgumentParser):
    """The arguments of all examples; some add their own."""

    def __init__(self, description: str | None, state: str = "--checkpoint") -> None:
        """Of a program.

        Args:
            description: its docstring.
            state: the argument that names the folder of its state.
        """
        super().__init__(description=(description or "").splitlines()[0])
        self._state = state
        self.add_argument("--stream", help="the stream to read; without it, one of a local server with some orders")
        self.add_argument("--region", help="the stream's region, like eu-west-1")
        self.add_argument("--endpoint", help="the URL of a service other than AWS, such as http://127.0.0.1:4567")
        kept = "a folder for the checkpoint and what else is kept from one run to the next; needed with --stream"
        self.add_argument(state, dest="state", help=kept)

    def parse(self) -> argparse.Namespace:
        """What is given. A run without the checkpoint of the one before would read the whole stream again."""
        given = self.parse_args()
        if given.stream is not None and given.state is None:
            self.error(f"--stream needs {self._state}, the folder of the checkpoint: the next run continues from there")
        return given


@contextmanager
def service(given: argparse.Namespace, *others: str) -> Iterator[Service]:
    """The service that the command line names, or a local server with 20 orders.

    Args:
        given: the command line's arguments.
        others: further streams that a local server needs.
    """
    if given.stream is not None:
        yield Service(given.stream, given.region, given.endpoint, given.state)
        return
    with LocalKinesis({"orders": 2, **dict.fromkeys(others, 1)}) as kinesis, TemporaryDirectory() as folder:
        kinesis.put_records("orders", [order(number) for number in range(20)])
        yield Service("orders", kinesis.region, kinesis.endpoint, given.state or folder)


def show_metrics(query: StreamingQuery, *names: str) -> None:
    """Print what the source reported of each micro-batch that had records."""
    for progress in query.recentProgress:
        if progress["numInputRows"] > 0:
            metrics = progress["sources"][0]["metrics"]
            print(f"metrics {progress['batchId']}:", *(f"{name}={metrics[name]}" for name in names))
