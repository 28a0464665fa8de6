"""Kinesis for the command line: what it asks of the service, by boto3, as plain values."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import Session as AwsSession

from kinesis_spark._kinds import is_stream_arn
from kinesis_spark.errors import InvalidOptionError, KinesisCallError
from kinesis_spark.local.client import Record, batches
from kinesis_spark.position import Position

# How long a call may be refused, as by its shard's limits.
_MOST_REFUSED_S = 60.0

_PASSING = ("ExpiredIteratorException", "ProvisionedThroughputExceededException")

# GetRecords of a shard in a second is 5 calls, from all who poll it; a tail takes one.
_POLL_S = 1.0

Failure: tuple[type[Exception], type[Exception]] = (BotoCoreError, ClientError)


@dataclass(frozen=True)
class Target:
    """Which stream, where and in whose name."""

    stream: str
    region: str | None
    endpoint: str | None
    profile: str | None

    @property
    def name(self) -> dict[str, str]:
        """The stream as calls take it."""
        return {"StreamARN" if is_stream_arn(self.stream) else "StreamName": self.stream}

    def connector_region(self) -> str | None:
        """The region that the connector finds, too: it reads AWS_REGION and the profile, but not AWS_DEFAULT_REGION."""
        of_arn = self.stream.split(":")[3] if is_stream_arn(self.stream) else None
        region = self.region or of_arn or os.environ.get("AWS_REGION")
        return region or AwsSession(profile=self.profile).get_scoped_config().get("region")

    def session(self) -> Any:  # noqa: ANN401  (boto3 makes its classes at run time)
        """The session of AWS whose credentials and region are used; the region is the connector's, else boto3's."""
        return boto3.Session(profile_name=self.profile, region_name=self.connector_region())

    def client(self, service: str = "kinesis") -> Any:  # noqa: ANN401
        """A client that gives up within a minute.

        Raises:
            InvalidOptionError: where an endpoint is no URL.
        """
        config = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 3})
        endpoint = self.endpoint if service == "kinesis" else None
        try:
            return self.session().client(service, endpoint_url=endpoint, config=config)
        except Failure:
            raise
        except ValueError as wrong:
            expected = "expected a URL of scheme, host and perhaps port, like http://127.0.0.1:4567"
            where = "in --endpoint, AWS_ENDPOINT_URL or the profile"
            raise InvalidOptionError(f"{wrong}: {expected}, {where}") from wrong


@dataclass(frozen=True)
class ShardLag:
    """How far a query is behind the newest record of a shard; None if there is no such shard any more."""

    shard: str
    position: str
    millis_behind: int | None


def all_shards(client: Any, target: Target) -> list[dict[str, Any]]:  # noqa: ANN401
    """The stream's shards, by id; closed ones included."""
    shards: list[dict[str, Any]] = []
    # Not by boto3's paginator: it names the stream beside the token, which Kinesis refuses.
    request: dict[str, str] = target.name
    while request:
        page = client.list_shards(**request)
        shards += page["Shards"]
        request = {"NextToken": page["NextToken"]} if page.get("NextToken") else {}
    return sorted(shards, key=lambda shard: str(shard["ShardId"]))


def stream_arn(client: Any, target: Target) -> str:  # noqa: ANN401
    """The stream's ARN, which calls about consumers need."""
    if is_stream_arn(target.stream):
        return target.stream
    return str(client.describe_stream_summary(**target.name)["StreamDescriptionSummary"]["StreamARN"])


def all_consumers(client: Any, target: Target) -> list[dict[str, Any]]:  # noqa: ANN401
    """The stream's consumers."""
    pages = client.get_paginator("list_stream_consumers").paginate(StreamARN=stream_arn(client, target))
    return [consumer for page in pages for consumer in page["Consumers"]]


def old_consumers(client: Any, target: Target, prefix: str, age: timedelta) -> list[dict[str, Any]]:  # noqa: ANN401
    """The stream's consumers whose names begin with a prefix and that were registered longer ago than an age."""
    before = datetime.now(timezone.utc) - age
    return [
        consumer
        for consumer in all_consumers(client, target)
        if consumer["ConsumerName"].startswith(prefix) and consumer["ConsumerCreationTimestamp"] <= before
    ]


def deregister(client: Any, consumers: Sequence[dict[str, Any]]) -> None:  # noqa: ANN401
    """Deregister consumers; those that are being deregistered already stay so."""
    for consumer in consumers:
        if consumer["ConsumerStatus"] != "DELETING":
            client.deregister_stream_consumer(ConsumerARN=consumer["ConsumerARN"])


def put(client: Any, target: Target, records: Sequence[Record]) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """Put records by their partition keys. A record that is refused is put again after the others of its call.

    Yields:
        Shard and sequence number of each record, as records are put.

    Raises:
        KinesisCallError: if a record is refused for a minute.
    """
    for batch in batches(records):
        wanted = [records[i] for i in batch]
        deadline = time.monotonic() + _MOST_REFUSED_S
        while wanted:
            entries = [{"PartitionKey": record.partition_key, "Data": record.data} for record in wanted]
            answers = client.put_records(**target.name, Records=entries)["Records"]
            yield from ((a["ShardId"], a["SequenceNumber"]) for a in answers if not a.get("ErrorCode"))
            wanted = [record for record, answer in zip(wanted, answers) if answer.get("ErrorCode")]
            if wanted:
                if time.monotonic() > deadline:
                    raise _still_refused(target, answers)
                time.sleep(0.2)


def _still_refused(target: Target, answers: Sequence[dict[str, Any]]) -> KinesisCallError:
    refused = [f"{answer['ErrorCode']}: {answer.get('ErrorMessage')}" for answer in answers if answer.get("ErrorCode")]
    count = "1 record is" if len(refused) == 1 else f"{len(refused)} records are"
    return KinesisCallError(
        f"PutRecords into {target.stream}: {count} still refused after {_MOST_REFUSED_S:g} s, the first with "
        f"{refused[0]}. Later records were not put.",
        "KINESIS_WRITE_TIMED_OUT",
    )


def tail(client: Any, target: Target, start: Position, *, follow: bool) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401
    """The records of all shards from a position on, as they come.

    A throttled shard is read again after a while, and one whose iterator has expired after its last record.

    Args:
        client: of Kinesis.
        target: the stream.
        start: where to begin.
        follow: whether to wait for more at the end.

    Yields:
        The shard's id, and the record as GetRecords has it.
    """
    seen = {shard["ShardId"] for shard in _first(client, target, start)}
    # A later LATEST would skip records. The time is this machine's.
    again = Position.at(datetime.now(timezone.utc)) if start.kind == "LATEST" else start
    places = {shard: _iterator_if_given(client, target, shard, str(start)) for shard in seen}
    # Where a shard is read from if its iterator expires, or was refused.
    reached = dict.fromkeys(seen, str(again))
    while places:
        for shard in sorted(places):
            try:
                answer = _records(client, target, shard, places[shard], reached[shard])
            except ClientError as refused:
                _raise_unless_passing(refused)
                continue
            for record in answer["Records"]:
                reached[shard] = record["SequenceNumber"]
                yield shard, record
            following = answer.get("NextShardIterator")
            done = not follow and not answer["Records"] and answer["MillisBehindLatest"] == 0
            if following is not None and not done:
                places[shard] = following
                continue
            places.pop(shard)
            children = {child["ShardId"] for child in answer.get("ChildShards") or ()} - seen
            seen |= children
            reached.update(dict.fromkeys(children, str(_of_child(start))))
            places.update(dict.fromkeys(children))
        if places:
            time.sleep(_POLL_S)


def _records(client: Any, target: Target, shard: str, place: str | None, reached: str) -> dict[str, Any]:  # noqa: ANN401
    """An answer from a place, or from what was reached if that iterator has expired: a turn of many shards is long."""
    if place is not None:
        with suppress(client.exceptions.ExpiredIteratorException):
            return dict(client.get_records(ShardIterator=place))
    return dict(client.get_records(ShardIterator=_iterator(client, target, shard, reached)))


def lags(client: Any, target: Target, positions: dict[str, str]) -> Iterator[ShardLag]:  # noqa: ANN401
    """How far a query is behind in the shards of its offset, and in those that it would begin next.

    As the connector, it begins a shard once all parents have been read to their ends or are gone. One record of each
    shard is read.

    Args:
        client: of Kinesis.
        target: the stream.
        positions: by shard, as the offset has them.
    """
    # Ids count up, so a shard's parents come before it.
    parents = {
        shard["ShardId"]: {shard.get("ParentShardId"), shard.get("AdjacentParentShardId")}
        for shard in all_shards(client, target)
    }
    # Of the offset's shards, their ancestors were read before them.
    begun: set[str | None] = set(positions)
    for shard in reversed(parents):
        if shard in begun:
            begun |= parents[shard]
    unfinished: set[str] = set()
    for shard in sorted({*positions, *parents.keys() - begun}):
        if shard not in positions and parents[shard] & unfinished:
            unfinished.add(shard)
            continue
        position = positions.get(shard, "TRIM_HORIZON")
        behind, is_at_end = _behind(client, target, shard, position)
        if not is_at_end:
            unfinished.add(shard)
        yield ShardLag(shard, position, behind)


def _behind(client: Any, target: Target, shard: str, position: str) -> tuple[int | None, bool]:  # noqa: ANN401
    """How far a position is behind, or None if its shard is gone, and whether no record will ever come after it."""
    if position == "SHARD_END":
        return 0, True
    until = time.monotonic() + _MOST_REFUSED_S
    while True:
        try:
            answer = client.get_records(ShardIterator=_iterator(client, target, shard, position), Limit=1)
            break
        except client.exceptions.ResourceNotFoundException:
            return None, True
        except client.exceptions.ProvisionedThroughputExceededException:
            if time.monotonic() > until:
                raise
            time.sleep(_POLL_S)
    return _millis_behind(answer), not answer["Records"] and answer.get("NextShardIterator") is None


def _millis_behind(answer: dict[str, Any]) -> int:
    """How far a position is behind, by GetRecords from there, which reports 0 if it returns the last record."""
    now, behind = datetime.now(timezone.utc), timedelta(milliseconds=answer["MillisBehindLatest"])
    lag: timedelta = max([behind, *(now - record["ApproximateArrivalTimestamp"] for record in answer["Records"])])
    return lag // timedelta(milliseconds=1)


def _first(client: Any, target: Target, start: Position) -> list[dict[str, Any]]:  # noqa: ANN401
    """The shards to begin with; all others are reached as their children."""
    shards = all_shards(client, target)
    if start.kind == "LATEST":
        return [shard for shard in shards if "EndingSequenceNumber" not in shard["SequenceNumberRange"]]
    listed = {shard["ShardId"] for shard in shards}
    return [shard for shard in shards if not listed & {shard.get("ParentShardId"), shard.get("AdjacentParentShardId")}]


def _of_child(start: Position) -> Position:
    """A child may have records from before a time, if its parent ended before it."""
    return start if start.kind == "AT_TIMESTAMP" else Position.trim_horizon()


def _iterator(client: Any, target: Target, shard: str, position: str) -> str:  # noqa: ANN401
    """A shard's iterator at a position, as an offset has it."""
    return str(client.get_shard_iterator(**target.name, ShardId=shard, **_start(position))["ShardIterator"])


def _iterator_if_given(client: Any, target: Target, shard: str, position: str) -> str | None:  # noqa: ANN401
    """The same, or None while others ask too much of the shard."""
    try:
        return _iterator(client, target, shard, position)
    except ClientError as refused:
        _raise_unless_passing(refused)
        return None


def _raise_unless_passing(refused: ClientError) -> None:
    if refused.response.get("Error", {}).get("Code") not in _PASSING:
        raise refused


def _start(position: str) -> dict[str, object]:
    if position.isdigit():
        return {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": position}
    if position.startswith(("AT_SEQUENCE_NUMBER:", "WITHIN:")):
        number = position.split(":")[1]
        return {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": number}
    parsed = Position.parse(position)
    moment: datetime | None = parsed.timestamp
    return {"ShardIteratorType": parsed.kind, **({} if moment is None else {"Timestamp": moment})}
