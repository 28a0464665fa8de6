"""Spark's metrics system shows a query's lag; the page, the dashboard and the alert rules name real metrics."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
import marked
import promql_parser
import pytest
import yaml
from botocore.validate import ParamValidator

from kinesis_spark import KinesisMonitor, LocalKinesis, Record

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs" / "how-to"
PAGE = (DOCS / "monitoring.md").read_text()
ALERTS, DASHBOARD = DOCS / "monitoring" / "prometheus-alerts.yaml", DOCS / "monitoring" / "grafana-dashboard.json"
ALARM = DOCS / "monitoring" / "cloudwatch-alarm.json"
# Where `make test` unpacks Debian's package.
FETCHED = ROOT / ".cache" / "prometheus" / "usr" / "bin"
NO_PROMETHEUS = "Prometheus isn't installed here, nor fetched by make .cache/prometheus/usr/bin/promtool"
METRICS = marked.get(ROOT / "docs" / "reference" / "metrics.md", "metrics")

# Follows the stream by fan-out, with a sink that stands still from its second batch on and then fails, beside a query
# with a long trigger, and scrapes as Prometheus does.
QUERY = """
    import json, sys, time, urllib.request
    from kinesis_spark import EnhancedFanOut, KinesisOptions, Polling, Record, StaticCredentials, read_stream, session
    from kinesis_spark.local import KinesisClient

    endpoint, checkpoint, port, prometheus = sys.argv[1:]
    servlet = "spark.metrics.conf.*.sink.prometheusServlet"
    spark = (
        session.builder("metrics", "local[2]")
        .config("spark.ui.port", port)
        .config("spark.metrics.namespace", "orders-app")
        .config(f"{servlet}.class", "org.apache.spark.metrics.sink.PrometheusServlet")
        .config(f"{servlet}.path", "/metrics/prometheus")
        .config("spark.metrics.conf.*.sink.jmx.class", "org.apache.spark.metrics.sink.JmxSink")
        .getOrCreate()
    )
    url = f"http://127.0.0.1:{port}/metrics/prometheus"

    def scrape():
        text = urllib.request.urlopen(url, timeout=20).read().decode()
        lines = [line.split() for line in text.splitlines() if "_driver_kinesis_" in line and "_Value{" in line]
        return {name.partition("{")[0]: int(float(value)) for name, value in lines}

    def in_jmx():
        # The server's own class is closed to other modules, so its method is that of the interface.
        jvm, new = spark._jvm, spark.sparkContext._gateway.new_array
        of_name = jvm.java.lang.Class.forName("javax.management.ObjectName")
        of_query = jvm.java.lang.Class.forName("javax.management.QueryExp")
        kinds, nothing = new(jvm.java.lang.Class, 2), new(jvm.java.lang.Object, 2)
        kinds[0], kinds[1] = of_name, of_query
        query_names = jvm.java.lang.Class.forName("javax.management.MBeanServer").getMethod("queryNames", kinds)
        beans = query_names.invoke(jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer(), nothing)
        names = [bean.getKeyProperty("name") or "" for bean in beans]
        return [name for name in names if ".driver.kinesis." in name]

    options = KinesisOptions(
        stream_name="events", region="us-east-1", endpoint=endpoint, starting_position="TRIM_HORIZON",
        credentials=StaticCredentials("local", "local"), record_publisher=EnhancedFanOut("metrics"),
    )
    rare = read_stream(spark, options.replace(stream_name="rare", record_publisher=Polling()))
    rare = rare.writeStream.format("noop").option("checkpointLocation", f"{checkpoint}-rare")
    rare = rare.trigger(processingTime="10 minutes").start()
    rare_lag = "metrics_orders_app_driver_kinesis_rare_maxMillisBehindLatest_Value"
    while not rare.lastProgress:
        assert rare.isActive, rare.exception()
        time.sleep(0.2)
    rare_since = time.monotonic()
    stands_still, fails = [], []

    def sink(batch, number):
        batch.count()
        while stands_still:
            time.sleep(0.2)
        if fails:
            raise RuntimeError("the sink is full")

    query = read_stream(spark, options).writeStream.foreachBatch(sink)
    query = query.option("checkpointLocation", checkpoint).start()
    lag = "metrics_orders_app_driver_kinesis_events_maxMillisBehindLatest_Value"

    def wait(condition):
        end = time.monotonic() + 120
        while not condition(scrape()):
            assert time.monotonic() < end and query.isActive, (scrape(), query.exception())
            time.sleep(0.2)

    wait(lambda found: found.get("metrics_orders_app_driver_kinesis_events_userRecords_Value", 0) >= 10)
    running, jmx = {name: value for name, value in scrape().items() if "_rare_" not in name}, in_jmx()
    jmx = [name for name in jmx if ".rare." not in name]
    stands_still.append(True)
    client = KinesisClient(endpoint)
    client.put_records("events", [Record(f"key-{n}", b"late") for n in range(10)])
    begun = time.monotonic()
    wait(lambda found: found[lag] > 10_000)
    shown = time.monotonic() - begun

    def of_prometheus(what):
        return json.load(urllib.request.urlopen(f"{prometheus}/api/v1/{what}", timeout=20))["data"]

    def firing():
        alerts = of_prometheus("alerts")["alerts"]
        return {(a["labels"]["alertname"], a["labels"].get("series")) for a in alerts if a["state"] == "firing"}

    rules, alerted = [], None
    if prometheus:
        wait(lambda _: ("KinesisQueryBehind", lag) in firing())
        alerted = time.monotonic() - begun
        rules = [rule["health"] for group in of_prometheus("rules")["groups"] for rule in group["rules"]]
    waited = time.monotonic() - rare_since
    of_rare = {"waited": waited, "lag": scrape()[rare_lag], "alerts": []}
    fails.append(True)
    stands_still.clear()
    while query.isActive:
        time.sleep(0.2)
    if prometheus:
        end = time.monotonic() + 60
        while ("KinesisQueryEnded", lag) not in firing():
            assert time.monotonic() < end, firing()
            time.sleep(0.2)
        of_rare["alerts"] = [name for name, series in firing() if series == rare_lag]
    rare.stop()
    figures = {
        "running": running, "jmx": jmx, "shown": shown, "alerted": alerted, "rules": rules, "stopped": scrape(),
        "rare": of_rare,
    }
    print(json.dumps(figures))
    spark.stop()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[LocalKinesis]:
    with LocalKinesis({"events": 2, "rare": 1}) as kinesis:
        kinesis.put_records("events", [Record(f"key-{n}", b"data") for n in range(10)])
        yield kinesis


def documented() -> set[str]:
    """The metrics that are gauges."""
    rows = re.findall(r"^\|([^|]*)\|", METRICS, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)} - {"details", "millisBehindLatest"}


# The shipped rules, except that what they report is reported at once, and a lag of ten seconds.
PROMETHEUS = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [rules.yaml]
scrape_configs:
  - job_name: spark
    metrics_path: /metrics/prometheus
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


def program_of_prometheus(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path=FETCHED)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def prometheus(folder: Path, port: int) -> Iterator[str]:
    """The URL of a Prometheus that scrapes a port; none where Prometheus isn't installed."""
    program = program_of_prometheus("prometheus")
    if program is None:
        yield ""
        return
    (folder / "prometheus.yaml").write_text(PROMETHEUS.format(port=port))
    rules = re.sub(r"for: \d+m", "for: 0s", ALERTS.read_text().replace("> 60000", "> 10000"))
    (folder / "rules.yaml").write_text(rules)
    own = f"127.0.0.1:{free_port()}"
    arguments = [f"--config.file={folder / 'prometheus.yaml'}", f"--storage.tsdb.path={folder / 'data'}"]
    with (
        (folder / "prometheus.log").open("w") as log,
        subprocess.Popen([program, *arguments, f"--web.listen-address={own}"], stderr=log) as server,
    ):
        yield f"http://{own}"
        server.terminate()


@pytest.mark.slow
def test_prometheus_shows_running_queries_and_alerts_a_stall_within_10_seconds_of_its_lag_and_a_failure(
    server: LocalKinesis, tmp_path: Path
) -> None:
    port = free_port()
    with prometheus(tmp_path, port) as url:
        arguments = [server.endpoint, str(tmp_path / "checkpoint"), str(port), url]
        command = [sys.executable, "-c", textwrap.dedent(QUERY), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    figures = json.loads(done.stdout.splitlines()[-1])
    prefix, suffix = "metrics_orders_app_driver_kinesis_events_", "_Value"
    names = {name[len(prefix) : -len(suffix)] for name in figures["running"]}
    assert names == documented()
    prefix_in_jmx = "orders-app.driver.kinesis.events."
    assert {name.removeprefix(prefix_in_jmx) for name in figures["jmx"]} == documented()
    assert figures["running"][f"{prefix}shardsOpen{suffix}"] == 2
    # A lag of ten seconds, and ten seconds more.
    assert figures["shown"] < 20
    assert figures["stopped"] == {}
    # Within its trigger a query's lag is that of its last planning.
    assert figures["rare"]["waited"] > 15
    assert figures["rare"]["lag"] < 10_000
    if not url:
        pytest.skip(f"the alert was not tried: {NO_PROMETHEUS}")
    assert figures["alerted"] < 20
    assert figures["rules"] == ["ok"] * 7
    assert figures["rare"]["alerts"] == []


def test_the_alert_rules_fire_as_their_unit_tests_say(tmp_path: Path) -> None:
    promtool = program_of_prometheus("promtool")
    if promtool is None:
        pytest.skip(NO_PROMETHEUS)
    for file in (ALERTS, Path(__file__).with_name("prometheus-alerts-test.yaml")):
        shutil.copy(file, tmp_path)
    command = [promtool, "test", "rules", "prometheus-alerts-test.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# A continuous query of one application, and scheduled runs of another.
OF_JOBS = """
rule_files: [prometheus-alerts.yaml]
evaluation_interval: 15s
tests:
  - name: the end of a query is reported, and that of a run of an application that is left out is not
    interval: 15s
    input_series:
      - {series: metrics_orders_driver_kinesis_a_maxMillisBehindLatest_Value, values: 200x40 stale _x100}
      - {series: metrics_nightly_driver_kinesis_a_maxMillisBehindLatest_Value, values: 200x40 stale _x100}
    promql_expr_test:
      - expr: count by (series) (ALERTS{alertname="KinesisQueryEnded",alertstate="firing"})
        eval_time: 15m
        exp_samples: [{labels: '{series="metrics_orders_driver_kinesis_a_maxMillisBehindLatest_Value"}', value: 1}]
  - name: runs of an application that is left out do not hide that no other query has begun
    interval: 15s
    input_series:
      - {series: metrics_nightly_driver_kinesis_a_maxMillisBehindLatest_Value, values: 200x100}
    promql_expr_test:
      - expr: count by (alertname) (ALERTS{alertstate="firing"})
        eval_time: 15m
        exp_samples: [{labels: '{alertname="KinesisQueryMissing"}', value: 1}]
"""


def test_the_matcher_of_the_page_leaves_scheduled_runs_of_an_application_out(tmp_path: Path) -> None:
    promtool = program_of_prometheus("promtool")
    if promtool is None:
        pytest.skip(NO_PROMETHEUS)
    (matchers,) = re.findall(r"```promql\n\{(.+)\}\n```", PAGE)
    (everything, _) = matchers.split(", ")
    rules = ALERTS.read_text()
    assert everything in rules
    (tmp_path / ALERTS.name).write_text(rules.replace(everything, matchers))
    (tmp_path / "of-jobs.yaml").write_text(OF_JOBS)
    command = [promtool, "test", "rules", "of-jobs.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_queries_of_the_alert_rules_and_the_dashboard_are_promql() -> None:
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    assert {tuple(rule) for rule in rules} == {("alert", "expr", "for", "labels", "annotations")}
    panels = json.loads(DASHBOARD.read_text())["panels"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    for expression in [rule["expr"] for rule in rules] + expressions:
        promql_parser.parse(expression)
    with pytest.raises(ValueError, match="unexpected end of input"):
        promql_parser.parse("rate(metrics[5m")


def test_the_dashboard_is_read_whole_by_grafana_s_own_types() -> None:
    reason = "Grafana's types need Python 3.11"
    encoder = pytest.importorskip("grafana_foundation_sdk.cog.encoder", reason=reason)
    dashboards = pytest.importorskip("grafana_foundation_sdk.models.dashboard", reason=reason)
    given = json.loads(DASHBOARD.read_text())
    read = json.loads(encoder.JSONEncoder().encode(dashboards.Dashboard.from_json(given)))
    assert missing(given, read) == []


def missing(given: object, read: object, at: str = "") -> list[str]:
    """What is in the first of two values of JSON and not in the second."""
    if isinstance(given, dict) and isinstance(read, dict):
        return [found for name in given for found in missing(given[name], read.get(name), f"{at}.{name}")]
    if isinstance(given, list) and isinstance(read, list) and len(given) == len(read):
        return [found for n, pair in enumerate(zip(given, read, strict=True)) for found in missing(*pair, f"{at}[{n}]")]
    return [] if given == read else [at]


def test_the_cloudwatch_alarm_is_a_call_of_put_metric_alarm_that_takes_missing_data_for_trouble() -> None:
    alarm = json.loads(ALARM.read_text())
    model = boto3.client("cloudwatch", region_name="us-east-1").meta.service_model.operation_model("PutMetricAlarm")
    assert not (errors := ParamValidator().validate(alarm, model.input_shape)).has_errors(), errors.generate_report()
    for name, value in alarm.items():
        assert value in (getattr(model.input_shape.members[name], "enum", None) or [value])
    assert alarm["TreatMissingData"] == "breaching"
    assert alarm["MetricName"] in documented()
    # As the connector publishes it, once a minute.
    assert (alarm["Dimensions"][0]["Name"], alarm["Unit"], alarm["Period"]) == ("Streams", "Milliseconds", 60)
    assert f'namespace="{alarm["Namespace"]}"' in PAGE
    assert ALARM.name in PAGE


def test_the_dashboard_and_the_alert_rules_name_documented_metrics() -> None:
    for file in (DASHBOARD, ALERTS):
        named = set(re.findall(r"_driver_kinesis_\.\*_(\w+)_Value", file.read_text()))
        assert named
        assert named <= documented()


def test_the_calls_of_the_page_are_the_monitor_s() -> None:
    listed = set(re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE))
    public = {name for name, value in vars(KinesisMonitor).items() if callable(value) and not name.startswith("_")}
    # How reports come in, which the listener does.
    assert listed == public - {"started", "observe", "idle", "ended", "check"}
