"""Spark's metrics system shows a query's lag; the page, the dashboard and the alert rules name real metrics."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import marked
import pytest

from kinesis_spark import KinesisMonitor, LocalKinesis, Record

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs" / "how-to"
PAGE = (DOCS / "monitoring.md").read_text()
METRICS = marked.get(ROOT / "docs" / "reference" / "metrics.md", "metrics")

# Follows the stream by fan-out, with a sink that stands still from its second batch on, and scrapes as Prometheus does.
QUERY = """
    import json, sys, time, urllib.request
    from kinesis_spark import EnhancedFanOut, KinesisSourceOptions, Record, StaticCredentials, read_stream, session
    from kinesis_spark.local import KinesisClient

    endpoint, checkpoint = sys.argv[1:]
    servlet = "spark.metrics.conf.*.sink.prometheusServlet"
    spark = (
        session.builder("metrics", "local[2]")
        .config("spark.ui.port", "0")
        .config("spark.metrics.namespace", "orders-app")
        .config(f"{servlet}.class", "org.apache.spark.metrics.sink.PrometheusServlet")
        .config(f"{servlet}.path", "/metrics/prometheus")
        .getOrCreate()
    )
    url = f"{spark.sparkContext.uiWebUrl}/metrics/prometheus"

    def scrape():
        text = urllib.request.urlopen(url, timeout=20).read().decode()
        lines = [line.split() for line in text.splitlines() if "_driver_kinesis_" in line and "_Value{" in line]
        return {name.partition("{")[0]: int(float(value)) for name, value in lines}

    options = KinesisSourceOptions(
        stream_name="events", region="us-east-1", endpoint=endpoint, starting_position="TRIM_HORIZON",
        credentials=StaticCredentials("local", "local"), record_publisher=EnhancedFanOut("metrics"),
    )
    stands_still = []

    def sink(batch, number):
        batch.count()
        while stands_still:
            time.sleep(0.2)

    query = read_stream(spark, options).writeStream.foreachBatch(sink)
    query = query.option("checkpointLocation", checkpoint).start()
    lag = "metrics_orders_app_driver_kinesis_events_maxMillisBehindLatest_Value"

    def wait(condition):
        end = time.monotonic() + 120
        while not condition(scrape()):
            assert time.monotonic() < end and query.isActive, (scrape(), query.exception())
            time.sleep(0.2)

    wait(lambda found: found.get("metrics_orders_app_driver_kinesis_events_userRecords_Value", 0) >= 10)
    running = scrape()
    stands_still.append(True)
    client = KinesisClient(endpoint)
    client.put_records("events", [Record(f"key-{n}", b"late") for n in range(10)])
    begun = time.monotonic()
    wait(lambda found: found[lag] > 10_000)
    seconds = time.monotonic() - begun
    stands_still.clear()
    query.stop()
    print(json.dumps({"running": running, "seconds": seconds, "stopped": scrape()}))
    spark.stop()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[LocalKinesis]:
    with LocalKinesis({"events": 2}) as kinesis:
        kinesis.put_records("events", [Record(f"key-{n}", b"data") for n in range(10)])
        yield kinesis


def documented() -> set[str]:
    rows = re.findall(r"^\|([^|]*)\|", METRICS, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


@pytest.mark.slow
def test_prometheus_shows_a_running_query_and_a_stall_within_20_seconds(server: LocalKinesis, tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(QUERY), server.endpoint, str(tmp_path / "checkpoint")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    figures = json.loads(done.stdout.splitlines()[-1])
    prefix, suffix = "metrics_orders_app_driver_kinesis_events_", "_Value"
    names = {name[len(prefix) : -len(suffix)] for name in figures["running"]}
    assert names == documented()
    assert figures["running"][f"{prefix}shardsOpen{suffix}"] == 2
    # Ten seconds of lag, seen within ten seconds of it.
    assert figures["seconds"] < 20
    assert figures["stopped"] == {}


def test_the_dashboard_and_the_alert_rules_name_documented_metrics() -> None:
    for file in ("grafana-dashboard.json", "prometheus-alerts.yaml"):
        named = set(re.findall(r"_driver_kinesis_\.\*_(\w+)_Value", (DOCS / "monitoring" / file).read_text()))
        assert named
        assert named <= documented()
    panels = json.loads((DOCS / "monitoring" / "grafana-dashboard.json").read_text())["panels"]
    assert all(panel["targets"][0]["expr"] for panel in panels)


def test_the_calls_of_the_page_are_the_monitor_s() -> None:
    listed = set(re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE))
    public = {name for name, value in vars(KinesisMonitor).items() if callable(value) and not name.startswith("_")}
    # How reports come in, which the listener does.
    assert listed == public - {"observe", "idle", "ended", "check", "table"}
