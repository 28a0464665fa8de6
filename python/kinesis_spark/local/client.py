"""The few Kinesis calls that a test needs, in the service's JSON protocol, with the standard library alone.

Requests carry a dummy signature, which local servers accept and AWS refuses: this is no client for AWS.
https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecords.html
"""

from __future__ import annotations

import base64
import http.client
import json
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from functools import partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from kinesis_spark.errors import InvalidOptionError, LocalKinesisError

# PutRecords takes 500 records and, in servers that keep the older quota, 5 MiB; in JSON, data grows by a third.
_MOST_RECORDS = 500
_MOST_BYTES = 4 * 1024 * 1024
_TIMEOUT_S = 60.0
# The embedded server closes a connection that is idle for 10 minutes.
_MOST_IDLE_S = 120.0
_POLL_S = 0.1
_OVER_QUOTA = ("LimitExceededException", "ProvisionedThroughputExceededException")

_Answer = TypeVar("_Answer")


class Record(NamedTuple):
    """A record to put.

    Attributes:
        partition_key: decides the shard, by its MD5; 1 to 256 characters.
        data: the payload.
        explicit_hash_key: decides the shard instead, as a decimal number below 2^128; None for the partition key's.
    """

    partition_key: str
    data: bytes
    explicit_hash_key: str | None = None


class Receipt(NamedTuple):
    """Where a record was put."""

    shard_id: str
    sequence_number: str


class StoredRecord(NamedTuple):
    """A record as it is in a stream.

    Attributes:
        partition_key: as it was put; None if it was put without one.
        data: the payload.
        shard_id: where it is.
        sequence_number: grows within the shard, as a number.
        arrived: when the server took it in, in UTC.
    """

    partition_key: str | None
    data: bytes
    shard_id: str
    sequence_number: str
    arrived: datetime


class KinesisClient:
    """A client of one local server. Holds one connection, so it belongs to one thread at a time.

    Attributes:
        clock_moved: whether the server's clock was moved through this client.
    """

    def __init__(self, endpoint: str, region: str = "us-east-1") -> None:
        """Connect to nothing yet.

        Args:
            endpoint: `http://<host>:<port>`; TLS is not spoken.
            region: what the dummy signature names.
        """
        url = urlsplit(endpoint)
        if url.scheme != "http" or url.hostname is None:
            raise InvalidOptionError(f"endpoint={endpoint!r} is not valid: expected http://<host>:<port>")
        self.endpoint = endpoint
        self._region = region
        self._connection = http.client.HTTPConnection(url.hostname, url.port or 80, timeout=_TIMEOUT_S)
        self._used = time.monotonic()
        self.clock_moved = False

    def call(self, operation: str, **request: object) -> dict[str, Any]:
        """One call of the Kinesis API, like `call("ListShards", StreamName="events")`.

        Raises:
            LocalKinesisError: if the server can't be reached or answers with an error, which is quoted.
        """
        headers = {
            "Content-Type": "application/x-amz-json-1.1",
            "X-Amz-Target": f"Kinesis_20131202.{operation}",
            "X-Amz-Date": "20240101T000000Z",
            "Authorization": (
                f"AWS4-HMAC-SHA256 Credential=local/20240101/{self._region}/kinesis/aws4_request, "
                "SignedHeaders=host;x-amz-date, Signature=0"
            ),
        }
        return self._send(operation, "POST", "/", json.dumps(request).encode(), headers)

    def create_stream(self, stream: str, shards: int = 1, *, timeout_s: float = 30.0) -> None:
        """Create a stream and wait until it is active.

        Raises:
            LocalKinesisError: if the server refuses, or the stream isn't active in time.
        """
        self.call("CreateStream", StreamName=stream, ShardCount=shards)
        deadline = time.monotonic() + timeout_s
        while (status := self._status(stream)) != "ACTIVE":
            if time.monotonic() > deadline:
                raise LocalKinesisError(f"Stream {stream} at {self.endpoint} is {status} after {timeout_s:g} s")
            time.sleep(0.05)

    def delete_stream(self, stream: str) -> None:
        """Delete a stream, its records and its consumers.

        Raises:
            LocalKinesisError: if there is no such stream.
        """
        self.call("DeleteStream", StreamName=stream, EnforceConsumerDeletion=True)

    def shards(self, stream: str) -> list[dict[str, Any]]:
        """The shards of a stream, closed ones included, as ListShards describes them.

        Raises:
            LocalKinesisError: if there is no such stream.
        """
        found: list[dict[str, Any]] = []
        request: dict[str, object] = {"StreamName": stream}
        while request:
            page = self.call("ListShards", **request)
            found += page["Shards"]
            request = {"NextToken": page["NextToken"]} if page.get("NextToken") else {}
        return found

    def split(self, stream: str, shard: str) -> None:
        """Split a shard in the middle of its hash keys.

        Raises:
            LocalKinesisError: if the server refuses.
        """
        keys = next((s["HashKeyRange"] for s in self.shards(stream) if s["ShardId"] == shard), None)
        if keys is None:
            raise LocalKinesisError(f"Splitting {shard} of stream {stream} at {self.endpoint}: there is no such shard")
        middle = (int(keys["StartingHashKey"]) + int(keys["EndingHashKey"]) + 1) // 2
        self.call("SplitShard", StreamName=stream, ShardToSplit=shard, NewStartingHashKey=str(middle))

    def merge(self, stream: str, shard: str, adjacent: str) -> None:
        """Merge a shard with the one beside it.

        Raises:
            LocalKinesisError: if the server refuses.
        """
        self.call("MergeShards", StreamName=stream, ShardToMerge=shard, AdjacentShardToMerge=adjacent)

    def read_records(self, stream: str, count: int | None = None, *, timeout_s: float = 30.0) -> list[StoredRecord]:
        """All records of a stream from its oldest on, by shard, in each shard in order.

        Args:
            stream: the stream's name.
            count: how many records to wait for; None takes what is there.
            timeout_s: how long `count` records are waited for, calls above the service's quotas are repeated, and
                a shard may bring nothing though it has more.

        Raises:
            LocalKinesisError: if there is no such stream, or fewer records when the time is over.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            shards = until_allowed(partial(self.shards, stream), deadline)
            records = [record for shard in shards for record in self._read(stream, shard["ShardId"], timeout_s)]
            if count is None or len(records) >= count:
                return records
            if time.monotonic() > deadline:
                raise LocalKinesisError(
                    f"Reading {count} records of stream {stream} at {self.endpoint}: it has {len(records)} after "
                    f"{timeout_s:g} s"
                )
            time.sleep(_POLL_S)

    def put_records(self, stream: str, records: Sequence[Record], *, timeout_s: float = 60.0) -> list[Receipt]:
        """Put records, each once: those that the server throttles are sent again, the others are not.

        Args:
            stream: the stream's name.
            records: any number; they go out in calls of a size that the service takes.
            timeout_s: how long throttled records are tried again.

        Returns:
            A receipt for each record, in order.

        Raises:
            LocalKinesisError: if a call fails, or records are still refused when the time is over.
        """
        receipts: dict[int, Receipt] = {}
        deadline = time.monotonic() + timeout_s
        for batch in batches(records):
            wanted = list(batch)
            while wanted:
                results = self._put(stream, [records[i] for i in wanted])
                refused = [(i, r) for i, r in zip(wanted, results) if r.get("ErrorCode")]
                for i, result in zip(wanted, results):
                    if not result.get("ErrorCode"):
                        receipts[i] = Receipt(result["ShardId"], result["SequenceNumber"])
                wanted = [i for i, _ in refused]
                if refused:
                    if time.monotonic() > deadline:
                        raise LocalKinesisError(
                            f"PutRecords into {stream} at {self.endpoint}: {len(refused)} records are still refused "
                            f"after {timeout_s:g} s, the first with {refused[0][1]}"
                        )
                    time.sleep(0.1)
        return [receipts[i] for i in range(len(records))]

    def close(self) -> None:
        """Close the connection; a later call opens it again."""
        self._connection.close()

    def control(self, method: str, what: str, body: dict[str, object] | None = None) -> dict[str, Any]:
        """One call of the embedded server's own controls, such as `control("POST", "clock", {"advanceMillis": 1000})`.

        Raises:
            LocalKinesisError: if the server can't be reached or refuses the call.
        """
        answer = self._send(
            f"{method} /_testkit/{what}", method, f"/_testkit/{what}", json.dumps(body or {}).encode(), {}
        )
        self.clock_moved |= what == "clock"
        return answer

    def _read(self, stream: str, shard: str, timeout_s: float) -> Iterator[StoredRecord]:
        deadline = time.monotonic() + timeout_s
        least_behind = float("inf")
        start = {"StreamName": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
        iterator = until_allowed(partial(self.call, "GetShardIterator", **start), deadline)["ShardIterator"]
        while iterator:
            answer = until_allowed(partial(self.call, "GetRecords", ShardIterator=iterator), deadline)
            for record in answer["Records"]:
                arrived = datetime.fromtimestamp(record["ApproximateArrivalTimestamp"], timezone.utc)
                data = base64.b64decode(record["Data"])
                yield StoredRecord(record.get("PartitionKey"), data, shard, record["SequenceNumber"], arrived)
            behind = answer.get("MillisBehindLatest", 0)
            iterator = None if not answer["Records"] and behind == 0 else answer.get("NextShardIterator")
            if not iterator:
                return
            if answer["Records"] or behind < least_behind:
                deadline = time.monotonic() + timeout_s
                least_behind = min(least_behind, behind)
            elif time.monotonic() > deadline:
                raise LocalKinesisError(
                    f"Reading shard {shard} of stream {stream} at {self.endpoint}: nothing came for {timeout_s:g} s, "
                    f"though there is more ({behind} ms behind)"
                )
            else:
                time.sleep(_POLL_S)

    def _send(self, what: str, method: str, path: str, body: bytes, headers: dict[str, str]) -> dict[str, Any]:
        if time.monotonic() - self._used > _MOST_IDLE_S:
            self._connection.close()  # the request opens it again
        self._used = time.monotonic()
        try:
            self._connection.request(method, path, body, headers)
            response = self._connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as fault:
            self._connection.close()  # the next call starts on a new connection
            raise LocalKinesisError(f"{what} at {self.endpoint}: no answer ({fault!r}); is it running?") from fault
        if response.status != http.client.OK:
            text = answer.decode(errors="replace").strip()
            raise LocalKinesisError(f"{what} at {self.endpoint}: HTTP {response.status}: {text}")
        found: dict[str, Any] = json.loads(answer) if answer.strip() else {}
        return found

    def _status(self, stream: str) -> str:
        summary = self.call("DescribeStreamSummary", StreamName=stream)
        return str(summary["StreamDescriptionSummary"]["StreamStatus"])

    def _put(self, stream: str, records: Sequence[Record]) -> list[dict[str, Any]]:
        entries = [
            {"PartitionKey": r.partition_key, "Data": base64.b64encode(r.data).decode()}
            | ({} if r.explicit_hash_key is None else {"ExplicitHashKey": r.explicit_hash_key})
            for r in records
        ]
        results: list[dict[str, Any]] = self.call("PutRecords", StreamName=stream, Records=entries)["Records"]
        return results


def until_allowed(call: Callable[[], _Answer], deadline: float | None = None) -> _Answer:
    """The answer to a call, which is repeated while the server refuses it because of a quota.

    Args:
        call: raises LocalKinesisError where it is refused.
        deadline: of `time.monotonic`, from which on a refusal is raised; None for no deadline.
    """
    while True:
        try:
            return call()
        except LocalKinesisError as error:
            is_late = deadline is not None and time.monotonic() > deadline
            if is_late or not any(code in str(error) for code in _OVER_QUOTA):
                raise
        time.sleep(_POLL_S)


def batches(records: Sequence[Record]) -> Iterator[range]:
    """Index ranges that each fit one PutRecords call."""
    start, size = 0, 0
    for i, record in enumerate(records):
        length = len(record.data) + len(record.partition_key.encode())
        if i > start and (i - start == _MOST_RECORDS or size + length > _MOST_BYTES):
            yield range(start, i)
            start, size = i, 0
        size += length
    if start < len(records):
        yield range(start, len(records))
