"""The commands of `kinesis-spark`, thin: each asks the service and prints what it says, as a table or as JSON."""

from __future__ import annotations

import base64
import contextlib
import io
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from kinesis_spark._kinds import duration, is_stream_arn
from kinesis_spark.cli import service
from kinesis_spark.cli.doctor import examine
from kinesis_spark.cli.offsets import last_committed
from kinesis_spark.cli.policies import USES, Resources, options_of_stream, policy, resource_policy
from kinesis_spark.cli.service import Target
from kinesis_spark.errors import KinesisSparkError
from kinesis_spark.jars import connector_jar
from kinesis_spark.local.client import Record
from kinesis_spark.position import Position

_Command = TypeVar("_Command", bound=Callable[..., Any])
_ACCOUNT_OF_EXAMPLES = "111122223333"
_REGION_OF_EXAMPLES = "eu-west-1"
_TWO_PRINCIPALS = (
    "The statement with sts:AssumeRole is for the principal that assumes the role; all others are for the role."
)

_FAILED = click.ClickException.exit_code
# It is also what click exits with where an argument is wrong.
_BEHIND = click.UsageError.exit_code
_INTERRUPTED = 130
# How much of an input is read at a time.
_MOST_READ = 1 << 20
EXIT_STATUS = {
    0: "the command has done its work",
    _FAILED: "the command fails, with the reason on standard error; `doctor`: a check fails",
    _BEHIND: "an argument is unknown, missing or wrong; `lag --above`: a shard is further behind",
    _INTERRUPTED: "Ctrl-C",
}


def _of_stream(command: _Command) -> _Command:
    """The arguments of each command about a stream, which become one `Target`."""
    for option in (
        click.option("--profile", help="A profile of the AWS configuration files."),
        click.option("--endpoint", help="The URL of a service other than AWS, such as a local server's."),
        click.option("--region", help="The stream's region; left out, that of the ARN, AWS_REGION or the profile."),
        click.argument("stream"),
    ):
        command = option(command)
    return command


_OUTPUT = click.option(
    "--output", type=click.Choice(["table", "json"]), default="table", show_default=True, help="What to print."
)


class _Commands(click.Group):
    """Exits with the status of Ctrl-C, which click makes an `Abort` where it asks a question."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  (as click's)
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise SystemExit(_INTERRUPTED) from None
        except click.Abort as aborted:
            # An answer of no is one, too.
            if isinstance(aborted.__context__, KeyboardInterrupt):
                raise SystemExit(_INTERRUPTED) from None
            raise


@click.group(cls=_Commands)
@click.version_option(package_name="kinesis-spark")
def kinesis_spark() -> None:
    """Look at Kinesis streams as the connector for Spark does. STREAM is a name or an ARN."""


@kinesis_spark.command()
@_of_stream
@click.option("--from", "start", default="LATEST", show_default=True, help="LATEST, TRIM_HORIZON, AT_TIMESTAMP:<time>.")
@click.option("--follow/--no-follow", default=True, show_default=True, help="Wait for more records at the end.")
@click.option("--count", type=click.IntRange(min=1), help="End after so many records.")
@_OUTPUT
def tail(start: str, count: int | None, output: str, *, follow: bool, **of: str | None) -> None:
    """Print the records of a stream as they come.

    As JSON, data that isn't UTF-8 is base64 in dataBase64.
    """
    with _failures():
        target = Target(**of)  # type: ignore[arg-type]
        records = service.tail(target.client(), target, Position.parse(start, "--from"), follow=follow)
        for number, (shard, record) in enumerate(records, start=1):
            print(_json_of(shard, record) if output == "json" else _line_of(shard, record), flush=True)  # noqa: T201
            if number == count:
                return


@kinesis_spark.command()
@_of_stream
@click.option("--key", help="The partition key of all records; left out, each has one of its own.")
@click.option("--file", "source", type=click.File("rb"), default="-", help="Where to read; - for standard input.")
@_OUTPUT
def put(key: str | None, source: io.BufferedReader, output: str, **of: str | None) -> None:
    """Put each line of a file or of standard input as a record.

    Lines are put as they come. A record that Kinesis refuses is put again after the others of its call, for a minute at
    most, so records of one key may change their order. JSON is printed as records are put, the table at the end.
    """
    names = ("shardId", "sequenceNumber")
    numbers = itertools.count()
    receipts: list[tuple[str, str]] = []
    try:
        with _failures():
            target = Target(**of)  # type: ignore[arg-type]
            client = target.client()
            for lines in _lines_as_they_come(source):
                records = [Record(key or f"line-{number}", line) for line, number in zip(lines, numbers)]
                for receipt in service.put(client, target, records):
                    if output == "json":
                        _show(output, names, [receipt])
                    else:
                        receipts.append(receipt)
    finally:
        # Also after a failure, as these records are in the stream.
        _show(output, names, receipts)


def _lines_as_they_come(source: io.BufferedReader) -> Iterator[list[bytes]]:
    """The lines of an input without their ends, those together that are there without a wait. The last needs no end."""
    begun: list[bytes] = []
    while piece := source.read1(_MOST_READ):
        first, *others = piece.split(b"\n")
        begun.append(first)
        if others:
            yield [line.rstrip(b"\r") for line in (b"".join(begun), *others[:-1])]
            begun = others[-1:]
    if last := b"".join(begun):
        yield [last.rstrip(b"\r")]


@kinesis_spark.command()
@_of_stream
@_OUTPUT
def shards(output: str, **of: str | None) -> None:
    """List the shards of a stream, closed ones included."""
    with _failures():
        target = Target(**of)  # type: ignore[arg-type]
        found = service.all_shards(target.client(), target)
    rows = [
        (
            shard["ShardId"],
            [shard[parent] for parent in ("ParentShardId", "AdjacentParentShardId") if shard.get(parent)],
            "EndingSequenceNumber" not in shard["SequenceNumberRange"],
            shard["HashKeyRange"]["StartingHashKey"],
            shard["HashKeyRange"]["EndingHashKey"],
        )
        for shard in found
    ]
    _show(output, ("shardId", "parents", "open", "startingHashKey", "endingHashKey"), rows)


@kinesis_spark.command()
@_of_stream
@click.option("--prefix", default="", help="Only those whose names begin so.")
@click.option("--older-than", help="Only those registered longer ago, such as 12h or 7d.")
@click.option("--deregister", is_flag=True, help="Deregister them, after a question. Needs --prefix.")
@click.option("--yes", is_flag=True, help="Deregister without a question. Needs --older-than.")
@_OUTPUT
def consumers(
    prefix: str, older_than: str | None, output: str, *, deregister: bool, yes: bool, **of: str | None
) -> None:
    """List or deregister the stream consumers of fan-out.

    Each is charged for while it is registered. Kinesis doesn't say whether one is in use: a query whose consumer is
    deregistered registers it again, or fails if it was given the ARN.
    """
    if deregister and not prefix:
        raise click.UsageError("--deregister needs --prefix: no name, no deregistration.")
    if yes and older_than is None:
        raise click.UsageError("--yes needs --older-than: without an age, consumers of running queries are found too.")
    with _failures():
        target = Target(**of)  # type: ignore[arg-type]
        client = target.client()
        age = duration().read("--older-than", older_than or "0s")
        found = service.old_consumers(client, target, prefix, age)
        if deregister and found:
            names = ", ".join(c["ConsumerName"] for c in found)
            if not yes:
                click.confirm(
                    f"Deregister {names} of {target.stream}? Running queries may use them.", abort=True, err=True
                )
            service.deregister(client, found)
    rows = [
        (c["ConsumerName"], c["ConsumerStatus"], c["ConsumerCreationTimestamp"].isoformat(), c["ConsumerARN"])
        for c in found
    ]
    _show(output, ("name", "status", "created", "arn"), rows, empty="There is no such stream consumer.")


@kinesis_spark.command()
@_of_stream
@click.option(
    "--checkpoint",
    required=True,
    help="The query's checkpointLocation: a folder of this machine, or a URL that Spark reads, such as s3a://...",
)
@click.option("--source", help="The query's source, by name or number, if several of them read the stream.")
@click.option("--above", type=click.IntRange(min=0), help="Exit with 2 if a shard is more ms behind, or gone.")
@_OUTPUT
def lag(checkpoint: str, source: str | None, above: int | None, output: str, **of: str | None) -> None:
    """Show how far a query is behind in each shard.

    The query's position comes from its checkpoint. A shard that it has not begun since a reshard counts from its
    TRIM_HORIZON. The command reads one record of each shard, which is one of the five reads a second of the shard.
    Spark is started only for a checkpoint on another file system.
    """
    with _failures():
        target = Target(**of)  # type: ignore[arg-type]
        committed = last_committed(checkpoint, source)
        client = target.client()
        arn = service.stream_arn(client, target)
        if arn not in committed:
            raise click.ClickException(f"The checkpoint doesn't have {arn}; it has {', '.join(committed)}.")
        found = list(service.lags(client, target, committed[arn]))
    _show(
        output, ("shardId", "position", "millisBehindLatest"), [(s.shard, s.position, s.millis_behind) for s in found]
    )
    if above is not None and any(s.millis_behind is None or s.millis_behind > above for s in found):
        raise SystemExit(_BEHIND)


@kinesis_spark.command()
@_of_stream
@click.option(
    "--for", "use", type=click.Choice(list(USES)), default="polling", show_default=True, help="What the query does."
)
@click.option(
    "--option",
    "given",
    multiple=True,
    help="An option of the query, such as efo.deregisterOnStop=false or stream.orders.roleArn=...",
)
@click.option(
    "--consumer",
    help="The stream consumer's name, for fan-out; left out, that of efo.consumerArn or efo.consumerName, or any.",
)
@click.option("--key-arn", help="The KMS key's ARN, for an encrypted stream.")
@click.option(
    "--principal", help="The account or role to share with: prints the policy of the stream or consumer itself."
)
@click.option(
    "--of",
    "shared",
    type=click.Choice(["stream", "consumer"]),
    default="stream",
    show_default=True,
    help="What is shared with --principal.",
)
def iam(  # noqa: PLR0913  (one for each of its options)
    *,
    use: Any,  # noqa: ANN401  (one of the choices)
    given: Sequence[str],
    consumer: str | None,
    key_arn: str | None,
    principal: str | None,
    shared: Any,  # noqa: ANN401
    **of: str | None,
) -> None:
    """Print the IAM policy that a query needs.

    Nothing is called for a stream that is named by its ARN.
    """
    side, presets = USES[use]
    with _failures():
        target = Target(**of)  # type: ignore[arg-type]
        arn = target.stream
        if not is_stream_arn(arn):
            arn = _arn_with_placeholders(target)
        options = options_of_stream(side, {**presets, **dict(_name_and_value(text) for text in given)}, arn)
    named = (*options.get("rolechain", "").split(","), options.get("rolearn", ""))
    # In a chain an external ID may follow the role.
    roles = [role.split()[0] for role in named if role.strip()]
    if "webidentitytokenfile" in options:
        # The first is assumed with a token, which needs no permission.
        roles = roles[1:]
    consumer = consumer or options.get("efo.consumerarn") or options.get("efo.consumername", "*")
    resources = Resources(arn, consumer, key_arn, roles)
    if principal is None:
        found = policy(side, options, resources)
        if roles:
            click.echo(_TWO_PRINCIPALS, err=True)
    else:
        found = resource_policy(side, options, resources, shared, principal)
    click.echo(json.dumps(found, indent=2))


def _arn_with_placeholders(target: Target) -> str:
    """The ARN of a stream that is given by name, which says on standard error what of it the user has to replace."""
    session = target.session()
    region = session.region_name
    placeholders = f"account {_ACCOUNT_OF_EXAMPLES} is a placeholder"
    if region is None:
        region = _REGION_OF_EXAMPLES
        placeholders = f"account {_ACCOUNT_OF_EXAMPLES} and the region {region} are placeholders"
    partition = session.get_partition_for_region(region)
    click.echo(f"The {placeholders}; name the stream by its ARN.", err=True)
    return f"arn:{partition}:kinesis:{region}:{_ACCOUNT_OF_EXAMPLES}:stream/{target.stream}"


def _name_and_value(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE.", param_hint="--option")
    return name.strip(), value.strip()


@kinesis_spark.command()
@_of_stream
@click.option("--fan-out", is_flag=True, help="Also try ListStreamConsumers, which enhanced fan-out calls.")
@click.option("--session/--no-session", default=True, show_default=True, help="Start a Spark session, too.")
@_OUTPUT
def doctor(output: str, *, fan_out: bool, session: bool, **of: str | None) -> None:
    """Check what a query needs, one by one, with advice.

    Exits with 1 if a check fails. The checks that don't depend on it are made all the same.
    """
    with _failures():
        checks = list(examine(Target(**of), fan_out=fan_out, session=session))  # type: ignore[arg-type]
    words = {True: "ok", False: "failed", None: "not tried"}
    rows = [(c.what, words[c.is_good], c.found, "" if c.is_good else c.advice) for c in checks]
    _show(output, ("check", "result", "found", "advice"), rows)
    if any(check.is_good is False for check in checks):
        raise SystemExit(_FAILED)


@kinesis_spark.command()
def jar() -> None:
    """Print the path of the connector's JAR, for spark-submit --jars."""
    with _failures():
        click.echo(str(connector_jar()))


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    """A failure of the service or of an option is one line, not a traceback."""
    try:
        yield
    except service.Failure as failed:
        hint = "`kinesis-spark doctor` with the same stream, region, endpoint and profile says what to do."
        raise click.ClickException(f"{failed}\n{hint}") from failed
    except KinesisSparkError as failed:
        raise click.ClickException(str(failed)) from failed


def _show(output: str, names: Sequence[str], rows: Sequence[Sequence[Any]], *, empty: str = "") -> None:
    if output == "json":
        for row in rows:
            click.echo(json.dumps(dict(zip(names, row))))
        return
    if empty and not rows:
        click.echo(empty)
        return
    table = Table(*(Column(name, overflow="fold") for name in names))
    for row in rows:
        texts = ["" if cell is None else ", ".join(cell) if isinstance(cell, list) else str(cell) for cell in row]
        # Not as str, in which rich takes [...] for markup.
        table.add_row(*map(Text, texts))
    # In a pipe there is no width to fit into.
    Console(width=None if sys.stdout.isatty() else 400).print(table)


def _json_of(shard: str, record: dict[str, Any]) -> str:
    data: bytes = record["Data"]
    try:
        payload = {"data": data.decode()}
    except UnicodeDecodeError:
        payload = {"dataBase64": base64.b64encode(data).decode()}
    arrived = record["ApproximateArrivalTimestamp"].isoformat()
    known = {"shardId": shard, "sequenceNumber": record["SequenceNumber"], "partitionKey": record.get("PartitionKey")}
    return json.dumps({**known, "approximateArrivalTimestamp": arrived, **payload})


def _line_of(shard: str, record: dict[str, Any]) -> str:
    arrived = record["ApproximateArrivalTimestamp"].isoformat(timespec="milliseconds")
    number = shard.rpartition("-")[2].lstrip("0") or "0"
    key, data = _on_one_line(str(record.get("PartitionKey"))), _on_one_line(record["Data"].decode(errors="replace"))
    return f"{arrived} {number:>4} {key} {data}"


def _on_one_line(text: str) -> str:
    """Without what a terminal would obey, or take for another line: producers put what they want."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
