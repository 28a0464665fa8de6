"""The policies that `kinesis-spark iam` prints, on a server that refuses all that they don't allow."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import boto3
import pytest
from botocore.exceptions import ClientError
from click.testing import CliRunner
from patience import PATIENCE_S
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from kinesis_spark import EnhancedFanOut, KinesisOptions, LocalKinesis, StaticCredentials, read_batch, read_stream
from kinesis_spark.cli.commands import kinesis_spark
from kinesis_spark.cli.policies import USES
from kinesis_spark.write import KinesisSinkOptions, write_batch

OWNER, OTHER = "111122223333", "444455556666"
ORDERS = f"arn:aws:kinesis:us-east-1:{OWNER}:stream/orders"
TAGGED = ("--option", "efo.tags=team=data", "--option", "efo.consumerName=app")
# Each use in the owner's account, and one in another account, which the resource policies of the stream let in.
USERS = {
    "polling": (OWNER, ("--for", "polling")),
    "fan-out": (OWNER, ("--for", "fan-out", "--consumer", "app")),
    "tagging": (OWNER, ("--for", "fan-out", *TAGGED)),
    "sink": (OWNER, ("--for", "sink")),
    "aggregating-sink": (OWNER, ("--for", "aggregating-sink")),
    "guest": (OTHER, ("--for", "fan-out-none", "--consumer", "shared")),
}


def printed(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(kinesis_spark, ["iam", ORDERS, *arguments])
    assert result.exit_code == 0, result.output
    policy: dict[str, Any] = json.loads(result.stdout)
    return policy


def key_of(user: str) -> tuple[str, str]:
    return f"AKIA{user.upper().replace('-', '')}", f"secret-of-{user}"


class Server(NamedTuple):
    """A server with users, each of whom is allowed what the printed policy allows."""

    kinesis: LocalKinesis

    def client(self, user: str) -> Any:  # noqa: ANN401  (boto3 makes its classes at run time)
        key, secret = key_of(user)
        return boto3.client(
            "kinesis",
            "us-east-1",
            endpoint_url=self.kinesis.endpoint,
            aws_access_key_id=key,
            aws_secret_access_key=secret,
        )

    def source(self, user: str, **more: Any) -> KinesisOptions:  # noqa: ANN401
        return self.kinesis.options("orders", credentials=StaticCredentials(*key_of(user)), **more)

    def sink(self, user: str, **more: Any) -> KinesisSinkOptions:  # noqa: ANN401
        return self.kinesis.sink_options("orders", credentials=StaticCredentials(*key_of(user)), **more)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("policies")
    arguments = ["--realistic"]
    for account, user in ((OWNER, "owner"), (OTHER, "other")):
        arguments += ["--account", ":".join((account, *key_of(user)))]
    for user, (account, options) in USERS.items():
        file = folder / f"{user}.json"
        file.write_text(json.dumps(printed(*options)))
        arguments += ["--user", ":".join((account, user, *key_of(user), str(file)))]
    with LocalKinesis({"orders": 2}, arguments=arguments) as kinesis:
        yield Server(kinesis)


@pytest.mark.parametrize("user", USERS)
def test_the_server_refuses_what_the_policy_does_not_allow(server: Server, user: str) -> None:
    account, options = USERS[user]
    arn = f"arn:aws:iam::{account}:user/{user}"
    allowed = {action for statement in printed(*options)["Statement"] for action in statement["Action"]}
    client = server.client(user)
    tries: dict[str, Callable[[], Any]] = {
        "kinesis:DescribeStreamSummary": lambda: client.describe_stream_summary(StreamARN=ORDERS),
        "kinesis:DescribeStream": lambda: client.describe_stream(StreamARN=ORDERS),
        "kinesis:ListShards": lambda: client.list_shards(StreamARN=ORDERS),
        "kinesis:ListStreamConsumers": lambda: client.list_stream_consumers(StreamARN=ORDERS),
        "kinesis:PutRecord": lambda: client.put_record(StreamARN=ORDERS, PartitionKey="k", Data=b""),
        "kinesis:RegisterStreamConsumer": lambda: client.register_stream_consumer(
            StreamARN=ORDERS, ConsumerName=f"of-{user}"
        ),
        "kinesis:DeleteStream": lambda: client.delete_stream(StreamARN=ORDERS),
    }
    for action, call in tries.items():
        if action not in allowed or user == "guest":
            with pytest.raises(
                ClientError, match=f"{arn} is not authorized to perform: {action} on resource: {ORDERS}"
            ):
                call()
        else:
            call()


def test_queries_need_no_more_than_the_printed_policies(server: Server, spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(50).selectExpr("string(id) AS data", "string(id) AS partitionKey")
    write_batch(rows, server.sink("sink"))
    write_batch(rows, server.sink("aggregating-sink", aggregate=True))
    assert read_batch(spark, server.source("polling")).count() == 100
    assert counted(read_stream(spark, server.source("polling")), tmp_path / "polling") == 100
    for user, tags in (("fan-out", None), ("tagging", {"team": "data"})):
        source = server.source(user, record_publisher=EnhancedFanOut("app", registration="eager", tags=tags))
        assert counted(read_stream(spark, source), tmp_path / user) == 100
        consumers = server.client("owner").list_stream_consumers(StreamARN=ORDERS)["Consumers"]
        assert {c["ConsumerStatus"] for c in consumers if c["ConsumerName"] == "app"} <= {"DELETING"}


def test_another_account_reads_through_the_consumer_that_is_shared_with_it(
    server: Server, spark: SparkSession, tmp_path: Path
) -> None:
    owner = server.client("owner")
    arn = owner.register_stream_consumer(StreamARN=ORDERS, ConsumerName="shared")["Consumer"]["ConsumerARN"]
    through = EnhancedFanOut(registration="none", consumer_arns=[arn])
    by_arn = server.source("guest", stream_name=None, stream_arn=ORDERS, record_publisher=through)
    with pytest.raises(
        Py4JJavaError, match=rf"user/guest is not authorized .* on resource: {ORDERS} because no resource"
    ):
        read_batch(spark, by_arn).count()
    owner.put_records(StreamARN=ORDERS, Records=[{"PartitionKey": "k", "Data": b"shared"}])
    principal = f"arn:aws:iam::{OTHER}:user/guest"
    for shared, resource in (("stream", ORDERS), ("consumer", arn)):
        policy = printed(*USERS["guest"][1], "--principal", principal, "--of", shared)
        owner.put_resource_policy(ResourceARN=resource, Policy=json.dumps(policy))
    assert counted(read_stream(spark, by_arn), tmp_path / "guest") > 0
    assert [c["ConsumerName"] for c in owner.list_stream_consumers(StreamARN=ORDERS)["Consumers"]].count("shared") == 1


def test_a_refusal_names_principal_action_and_resource(server: Server, spark: SparkSession) -> None:
    refused = rf"user/sink is not authorized to perform: kinesis:DescribeStreamSummary on resource: {ORDERS}"
    with pytest.raises(Py4JJavaError, match=refused):
        read_batch(spark, server.source("sink")).count()
    through = EnhancedFanOut("app", tags={"team": "data"})
    with pytest.raises(Py4JJavaError, match="must allow kinesis:DescribeStreamSummary"):
        read_batch(spark, server.source("sink", record_publisher=through)).count()


def test_options_decide_which_permissions_are_printed() -> None:
    def actions(*arguments: str) -> list[str]:
        return [action for statement in printed(*arguments)["Statement"] for action in statement["Action"]]

    assert "kinesis:DeregisterStreamConsumer" in actions("--for", "fan-out")
    kept = actions("--option", "recordpublisher=efo", "--option", "efo.deregisterOnStop=false")
    assert "kinesis:DeregisterStreamConsumer" not in kept
    assert "kinesis:RegisterStreamConsumer" in kept
    assert "kinesis:TagResource" not in kept
    assert "kinesis:ListTagsForResource" not in kept
    tagged = actions("--for", "fan-out", "--option", "efo.deregisterOnStop=false", "--option", "efo.tags=team=data")
    assert "kinesis:TagResource" in tagged
    assert actions("--for", "fan-out", "--option", "efo.tags=team=data") == actions("--for", "fan-out")
    assert "kms:Decrypt" in actions("--key-arn", "arn:aws:kms:eu-west-1:111122223333:key/1")
    assert "kms:GenerateDataKey" in actions("--for", "sink", "--key-arn", "arn:aws:kms:eu-west-1:111122223333:key/1")
    role = f"arn:aws:iam::{OTHER}:role/reader"
    assert printed("--option", f"roleArn={role}")["Statement"][-1] == {
        "Effect": "Allow",
        "Action": ["sts:AssumeRole"],
        "Resource": role,
    }
    chain = printed("--option", f"roleArn={role}", "--option", f"roleChain={role}-1 ext-1", "--option", "roleTags=a=b")
    assert chain["Statement"][-1]["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    assert chain["Statement"][-1]["Resource"] == [f"{role}-1", role]
    assert "sts:AssumeRole" not in actions("--option", f"roleArn={role}", "--option", "webIdentityTokenFile=/token")
    assert all(actions("--for", use) for use in USES)


def counted(rows: DataFrame, checkpoint: Path) -> int:
    """The rows that a query reads until it has caught up."""
    target = str(checkpoint / "rows")
    writer = rows.select("sequenceNumber").writeStream.format("parquet").option("path", target)
    query = writer.option("checkpointLocation", str(checkpoint / "log")).trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE_S)
    return rows.sparkSession.read.parquet(target).count()


def test_publishing_to_cloudwatch_is_allowed_for_its_namespace_alone() -> None:
    *others, statement = printed("--for", "polling", "--option", "cloudWatch.namespace=streams")["Statement"]
    assert statement == {
        "Effect": "Allow",
        "Action": ["cloudwatch:PutMetricData"],
        "Resource": "*",
        "Condition": {"StringEquals": {"cloudwatch:namespace": "streams"}},
    }
    assert others == printed("--for", "polling")["Statement"]
