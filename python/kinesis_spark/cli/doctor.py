"""`kinesis-spark doctor`: what a query needs, tried one by one, with what to do about what is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from botocore import exceptions
from botocore.exceptions import ClientError, MissingDependencyException, NoCredentialsError
from botocore.session import Session as AwsSession

from kinesis_spark._kinds import is_stream_arn
from kinesis_spark.cli.service import Failure, Target
from kinesis_spark.errors import InvalidOptionError, JarMissingError
from kinesis_spark.jars import connector_jar

_OLDEST_JAVA = 17
_OLDEST_SPARK = (3, 5)
_SESSION_TIMEOUT_S = 180
_SESSION = """
from kinesis_spark import require_jar, session
spark = session.builder("kinesis-spark doctor", "local[1]").config("spark.ui.enabled", "false").getOrCreate()
require_jar(spark)
print(f"Spark {spark.version} with the connector")
"""
# A person has to log in anew. Old versions of botocore don't know `aws login`.
_LOGIN_OVER = tuple(
    getattr(exceptions, name) for name in ("SSOError", "TokenRetrievalError", "LoginError") if hasattr(exceptions, name)
)
# No answer has come, or half of one.
_UNREACHABLE = (exceptions.ConnectionError, exceptions.HTTPClientError)
# After these, no other call can bring anything.
_HOPELESS = (
    "ResourceNotFoundException",
    "ExpiredTokenException",
    "UnrecognizedClientException",
    "InvalidSignatureException",
)


@dataclass(frozen=True)
class Check:
    """What was found of one thing.

    Attributes:
        what: the thing.
        is_good: whether it is as a query needs it; None if it could not be tried.
        found: what was found.
        advice: what to do, if it is not good.
    """

    what: str
    is_good: bool | None
    found: str
    advice: str = ""


def examine(target: Target, *, fan_out: bool = False, session: bool = True) -> Iterator[Check]:
    """All checks, in the order in which a query needs them. A failed one stops only those that need what it found."""
    installed = [_pyspark(), _java(), _jar()]
    yield from installed
    if session:
        missing = [check.what for check in installed if not check.is_good]
        yield Check("Spark session", None, f"needs {' and '.join(missing)}") if missing else _session()
    try:
        region = target.session().region_name
    except Failure as failed:
        yield Check("region", None, "needs the AWS configuration")
        advice = "Correct --profile, AWS_PROFILE or the files of the AWS configuration."
        yield Check("credentials", is_good=False, found=str(failed), advice=advice)
        yield from _stream(target, "credentials", fan_out)
        return
    yield _region(target, region)
    if region is None:
        yield Check("credentials", None, "needs a region")
        yield from _stream(target, "a region", fan_out)
        return
    wrong = _wrong_endpoint(target)
    if wrong is not None:
        yield wrong
        yield Check("credentials", None, "needs an endpoint")
        yield from _stream(target, "an endpoint", fan_out)
        return
    credentials = _credentials(target)
    yield credentials
    yield from _stream(target, None if credentials.is_good else "credentials", fan_out)


def _pyspark() -> Check:
    try:
        version = metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        advice = "On a cluster it may come with Spark. Elsewhere: pip install pyspark."
        return Check("PySpark", None, "not installed here", advice)
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    advice = f"The connector runs on Spark {'.'.join(map(str, _OLDEST_SPARK))} and later."
    return Check("PySpark", numbers >= _OLDEST_SPARK, version, advice)


def _java() -> Check:
    advice = f"Install Java {_OLDEST_JAVA}, and set JAVA_HOME to it."
    # As Spark's launcher does: PATH counts only without JAVA_HOME.
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        found = f"no java in {home}/bin, where JAVA_HOME points" if home else "no java on PATH, and no JAVA_HOME"
        return Check("Java", is_good=False, found=found, advice=advice)
    said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    version = re.search(r'version "(\d+[^"]*)"', said)
    found = version.group(1) if version else said.strip()[:80]
    return Check("Java", version is not None and int(re.split(r"\D", found)[0]) >= _OLDEST_JAVA, found, advice)


def _jar() -> Check:
    try:
        return Check("connector JAR", is_good=True, found=str(connector_jar()))
    except JarMissingError as missing:
        return Check("connector JAR", is_good=False, found="not in this installation", advice=str(missing))


def _session() -> Check:
    """Start one in a process of its own, whose JVM and log are gone with it."""
    advice = "Read the error; `python -m kinesis_spark doctor` has to run where the query does, with the same Spark."
    try:
        done = subprocess.run(
            [sys.executable, "-c", _SESSION], capture_output=True, text=True, timeout=_SESSION_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        found = f"not ready after {_SESSION_TIMEOUT_S} s"
        advice = "Run pyspark on this machine: its log shows what it waits for."
        return Check("Spark session", is_good=False, found=found, advice=advice)
    said = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return Check("Spark session", done.returncode == 0, said[-1] if said else "no output", advice)


def _region(target: Target, region: str | None) -> Check:
    """Whether the connector finds a region, too.

    Args:
        target: the stream.
        region: what boto3 finds.
    """
    if region is None:
        advice = "Give --region, set AWS_REGION, or name the stream by its ARN."
        return Check("region", is_good=False, found="none", advice=advice)
    if target.connector_region() is None:
        advice = (
            "The connector doesn't read AWS_DEFAULT_REGION: set AWS_REGION, or the query's option region. On EC2 it "
            "takes the instance's."
        )
        return Check("region", is_good=False, found=f"{region}, from AWS_DEFAULT_REGION alone", advice=advice)
    return Check("region", is_good=True, found=region)


def _wrong_endpoint(target: Target) -> Check | None:
    """What is wrong with the endpoint of Kinesis, if it is no URL."""
    try:
        target.client()
    except InvalidOptionError as wrong:
        advice = "Correct it, or leave it out for AWS's own."
        return Check("endpoint", is_good=False, found=str(wrong), advice=advice)
    return None


def _credentials(target: Target) -> Check:
    advice = "Log in (aws sso login, aws configure), give --profile, or run where a role is attached."
    try:
        return Check("credentials", is_good=True, found=_identity(target))
    except NoCredentialsError:
        return Check("credentials", is_good=False, found="none", advice=advice)
    except MissingDependencyException as missing:
        return Check("credentials", None, str(missing))
    except _LOGIN_OVER as expired:
        return Check("credentials", is_good=False, found=str(expired), advice=_login_advice(target))
    except InvalidOptionError as wrong:
        advice = "Correct AWS_ENDPOINT_URL_STS, or endpoint_url of sts in the profile."
        return Check("credentials", is_good=False, found=str(wrong), advice=advice)
    except Failure as failed:
        return Check("credentials", is_good=False, found=str(failed), advice=advice)


def _identity(target: Target) -> str:
    """Whose credentials are found.

    Raises:
        NoCredentialsError: if there are none.
    """
    whose = "for a local server"
    if target.endpoint is None:
        try:
            return str(target.client("sts").get_caller_identity()["Arn"])
        except _UNREACHABLE:
            # As in a subnet that has a VPC endpoint of Kinesis alone. A query calls STS only to assume a role.
            whose = "identity unknown: STS is not reachable"
    found = target.session().get_credentials()
    if found is None:
        raise NoCredentialsError
    found.get_frozen_credentials()  # Asks whoever has to give them.
    return whose


def _login_advice(target: Target) -> str:
    """The command that logs in to the profile anew."""
    session = AwsSession(profile=target.profile)
    command = "aws login" if "login_session" in session.get_scoped_config() else "aws sso login"
    return f"Run: {command} --profile {session.profile or 'default'}"


class _Tries:
    """The calls of a reader, each with what those before it brought."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._client = target.client()
        self._shards: list[dict[str, Any]] = []
        self._place: str | None = None
        self._arn = target.stream if is_stream_arn(target.stream) else ""

    def describe(self) -> str:
        summary = self._client.describe_stream_summary(**self._target.name)["StreamDescriptionSummary"]
        self._arn = summary["StreamARN"]
        return f"{summary['StreamStatus']}, {summary['OpenShardCount']} open shards"

    def list_shards(self) -> str:
        self._shards = self._client.list_shards(**self._target.name)["Shards"]
        return f"{len(self._shards)} shards"

    def get_iterator(self) -> str:
        if not self._shards:
            raise _NotTried("a shard to try it on")
        oldest = {"ShardId": self._shards[0]["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        self._place = self._client.get_shard_iterator(**self._target.name, **oldest)["ShardIterator"]
        return "allowed"

    def get_records(self) -> str:
        if self._place is None:
            raise _NotTried("an iterator")
        self._client.get_records(ShardIterator=self._place, Limit=1)
        return "allowed"

    def list_consumers(self) -> str:
        if not self._arn:
            raise _NotTried("the stream's ARN")
        found = self._client.list_stream_consumers(StreamARN=self._arn)["Consumers"]
        return ", ".join(f"{c['ConsumerName']} is {c['ConsumerStatus']}" for c in found) or "no consumers"


class _NotTried(Exception):  # noqa: N818  (no error: a step that needs what another one did not bring)
    """What a step needs and hasn't got."""


def _stream(target: Target, without: str | None, fan_out: bool) -> Iterator[Check]:  # noqa: FBT001
    """The calls of a reader; none is made `without` something."""
    tries = _Tries(target) if without is None else None
    steps: list[tuple[str, Callable[[_Tries], str]]] = [
        ("DescribeStreamSummary", _Tries.describe),
        ("ListShards", _Tries.list_shards),
        ("GetShardIterator", _Tries.get_iterator),
        ("GetRecords", _Tries.get_records),
    ]
    if fan_out:
        steps.append(("ListStreamConsumers", _Tries.list_consumers))
    for action, step in steps:
        if tries is None or without is not None:
            yield Check(f"kinesis:{action}", None, f"needs {without}")
            continue
        check, without = _tried(action, step, tries, target)
        yield check


def _tried(action: str, step: Callable[[_Tries], str], tries: _Tries, target: Target) -> tuple[Check, str | None]:
    """The result of a call, and what later calls would be without, if it is no use to make them."""
    what = f"kinesis:{action}"
    try:
        return Check(what, is_good=True, found=step(tries)), None
    except _NotTried as lacking:
        return Check(what, None, f"needs {lacking}"), None
    except ClientError as refused:
        error = refused.response.get("Error", {})
        code, message = str(error.get("Code")), str(error.get("Message"))
        lost = "the stream" if code == _HOPELESS[0] else "valid credentials" if code in _HOPELESS else None
        return Check(what, is_good=False, found=f"{code}: {message}", advice=_advice(code, action, target)), lost
    except Failure as failed:
        advice = "Check the endpoint, DNS, proxies and security groups between this machine and Kinesis."
        return Check(what, is_good=False, found=str(failed), advice=advice), "an answer of Kinesis"


def _advice(code: str, action: str, target: Target) -> str:
    if code == "ResourceNotFoundException":
        return f"There is no stream {target.stream} in this region and account. Check its name, --region and --profile."
    if code.startswith("KMS"):
        return "The stream is encrypted: allow kms:Decrypt on its key."
    if "AccessDenied" in code:
        return f"Allow kinesis:{action} on the stream; `kinesis-spark iam` prints the whole policy."
    if code in ("ExpiredTokenException", "UnrecognizedClientException", "InvalidSignatureException"):
        return "The credentials are expired or unknown: log in again, or check the machine's clock."
    return "Try again; if it persists, AWS's page of the action explains the error."
