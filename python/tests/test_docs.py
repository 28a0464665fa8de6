"""The page about polling and fan-out says what the code does: names exist, permissions and metrics are a query's."""

from __future__ import annotations

import http.client
import json
import re
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import marked
import pyspark
import pytest
from patience import PATIENCE_S
from pyspark.sql import SparkSession

import kinesis_spark
from kinesis_spark import EnhancedFanOut, LocalKinesis, Polling, StreamConsumers, read_stream
from kinesis_spark.fan_out import RecordPublisher
from kinesis_spark.local import Record

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "how-to" / "polling-or-fan-out.md").read_text()
IAM = (ROOT / "docs" / "reference" / "iam.md").read_text()
METRICS = marked.get(ROOT / "docs" / "reference" / "metrics.md", "metrics")
# Spark's, and CloudWatch's.
NAMES_OF_OTHERS = {
    "availableNow",
    "processingTime",
    "ReadProvisionedThroughputExceeded",
    "io.github.kinesisspark.StreamConsumers",
    "spark.executor.memoryOverhead",
}


def in_code_font(text: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)))


def chapter(text: str, title: str) -> str:
    """What is under a heading, up to the next."""
    _, found, rest = text.partition(f"# {title}\n")
    assert found, f"no heading {title!r}"
    return re.split(r"^#+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def first_cells(text: str) -> list[tuple[set[str], str]]:
    """The rows of a table: the names in the first cell, and the second cell."""
    rows = [line.split("|")[1:3] for line in text.splitlines() if line.startswith("| `")]
    return [(in_code_font(names), meaning.strip()) for names, meaning in rows]


def test_python_examples_of_the_fan_out_page_run(spark: SparkSession) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(example, {**vars(kinesis_spark), "spark": spark})  # noqa: S102


def test_examples_show_metrics_of_spark_3_5_whose_progress_is_a_plain_dictionary(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = {"batchId": 0, "numInputRows": 1, "sources": [{"metrics": {"records": "1"}}]}
    show_metrics = runpy.run_path(str(ROOT / "examples" / "orders.py"))["show_metrics"]
    show_metrics(SimpleNamespace(recentProgress=[progress]), "records")
    assert capsys.readouterr().out == "metrics 0: records=1\n"


def test_options_named_on_the_fan_out_page_exist(spark: SparkSession) -> None:
    assert spark._jvm is not None
    options = json.loads(spark._jvm.io.github.kinesisspark.config.OptionDocs.json())
    known = {option["name"] for option in options} | NAMES_OF_OTHERS
    known |= {name for names, _ in first_cells(METRICS) for name in names}
    named = {name for name in in_code_font(TEXT) if re.fullmatch(r"[A-Za-z]+(\.?[A-Z]?[a-z]+)*(\.<stream>)?", name)}
    camel = {name for name in named if re.search(r"[a-z][A-Z]|\.", name)} - {"StreamConsumers", "KinesisMonitor"}
    assert "efo.consumerArn.<stream>" in camel
    assert sorted(camel - known) == []


def test_error_classes_named_on_the_fan_out_page_exist() -> None:
    code = "".join(file.read_text() for file in (ROOT / "connector/src/main/scala").rglob("*.scala"))
    classes = {name for names, _ in first_cells(chapter(TEXT, "Errors and logs")) for name in names}
    assert set(re.findall(r"KINESIS_\w+", TEXT)) == classes
    assert sorted(name for name in classes if f'"{name}"' not in code) == []


def test_the_fan_out_page_lists_all_methods_of_stream_consumers() -> None:
    (listed,) = re.findall(r"`StreamConsumers\(spark, options\)` looks after .*?: (.*?)\.\n", TEXT, re.DOTALL)
    assert in_code_font(listed) == {name for name in vars(StreamConsumers) if not name.startswith("_")}


@dataclass(frozen=True)
class Seen:
    """What a query did: the calls that it made, and the metrics that it showed."""

    actions: frozenset[str]
    metrics: frozenset[str]


def control(kinesis: LocalKinesis, method: str, what: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    connection = http.client.HTTPConnection(kinesis.endpoint.removeprefix("http://"))
    connection.request(method, f"/_testkit/{what}", json.dumps(body or {}))
    answer: dict[str, Any] = json.load(connection.getresponse())
    connection.close()
    return answer


def watch(spark: SparkSession, kinesis: LocalKinesis, publisher: RecordPublisher, checkpoint: Path) -> Seen:
    """Runs a query to its end, loses the commit of its only batch, and runs it again, which reads the batch again."""
    kinesis.put_records("events", [Record(f"key-{i}", b"data") for i in range(10)])
    refusal = {"type": "serviceCode", "code": "LimitExceededException", "message": "too many", "status": 400}
    control(kinesis, "POST", "faults", {"action": "RegisterStreamConsumer", "first": 1, "effect": refusal})
    control(kinesis, "DELETE", "calls")
    options = kinesis.options("events").replace(record_publisher=publisher)
    metrics: set[str] = set()
    for _ in range(2):
        query = (
            read_stream(spark, options)
            .writeStream.format("noop")
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(PATIENCE_S)
        metrics |= {name for progress in query.recentProgress for name in progress.sources[0].metrics}
        for commit in (checkpoint / "commits").glob("*0*"):
            commit.unlink()
    counts = control(kinesis, "GET", "calls")["counts"]
    return Seen(frozenset(count["action"] for count in counts), frozenset(metrics))


def registered(spark: SparkSession, kinesis: LocalKinesis) -> RecordPublisher:
    (consumer,) = StreamConsumers(spark, kinesis.options("events")).register("app")
    return EnhancedFanOut(registration="none", consumer_arns=(consumer.arn,))


@pytest.mark.parametrize(
    ("title", "publisher"),
    [
        ("Polling", lambda *_: Polling()),
        ("Fan-out, lazy or eager", lambda *_: EnhancedFanOut("app")),
        ("Fan-out, lazy or eager", lambda *_: EnhancedFanOut("app", registration="eager")),
        ("Fan-out, none", registered),
    ],
    ids=["polling", "lazy", "eager", "none"],
)
def test_a_query_uses_the_permissions_and_reports_the_metrics_of_the_fan_out_page(
    spark: SparkSession,
    kinesis: LocalKinesis,
    tmp_path: Path,
    title: str,
    publisher: Callable[[SparkSession, LocalKinesis], RecordPublisher],
) -> None:
    seen = watch(spark, kinesis, publisher(spark, kinesis), tmp_path / "checkpoint")
    (policy,) = re.findall(r"```json\n(.*?)```", chapter(IAM, title), re.DOTALL)
    allowed = [action for statement in json.loads(policy)["Statement"] for action in statement["Action"]]
    called = {f"kinesis:{action}" for action in seen.actions}
    # Not calls of every run: tags are set by RegisterStreamConsumer too, and asked for where a consumer was found.
    assert called <= set(allowed) <= called | {"kinesis:TagResource", "kinesis:ListTagsForResource"}
    listed = first_cells(METRICS)
    expected = {
        name for names, meaning in listed for name in names if title != "Polling" or not meaning.startswith("Fan-out:")
    }
    assert sorted(seen.metrics) == sorted(expected)


@pytest.mark.parametrize("page", ["declarative-pipelines.md", "spark-connect.md"])
def test_a_spark_connect_server_starts_with_commands_that_pip_installs(page: str) -> None:
    text = (ROOT / "docs" / "how-to" / page).read_text()
    commands = set(re.findall(r"\b(spark-submit|spark-pipelines|[\w-]+\.sh)\b", text))
    installed = {path.name for path in (Path(pyspark.__file__).parent / "bin").iterdir()}
    assert "spark-submit" in commands
    # spark-pipelines came with Spark 4.1.
    assert commands - installed <= {"spark-pipelines"}
    assert "whl[cli]" in text
