"""The commands of docs/operations, taken by the clients of the platforms, which are not there.

AWS's command line runs those of emr-7.md, emr-spark-4.md and glue-5.md. Spark submits that of kubernetes.md. Each calls
a server of this test, which keeps the calls: their parameters are valid, files come before what names them, manifests
are valid.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pyspark
import pytest
import versions
import yaml
from patience import PATIENCE_S
from programs import output

ROOT = Path(__file__).resolve().parents[2]
OPERATIONS = ROOT / "docs" / "operations"
PACKAGES = ROOT / ".cache" / "platforms"
SPARK = Path(pyspark.__file__).parent / "bin"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PACKAGES.is_dir(), reason="the platforms' clients aren't installed: `make test-all` does that"
    ),
]


class Call(NamedTuple):
    method: str
    path: str
    target: str | None
    body: bytes


class Platform(ThreadingHTTPServer):
    """Keeps the calls, and answers as AWS's services and the API of Kubernetes do."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.calls: list[Call] = []

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


def found(path: str, body: bytes) -> dict[str, Any]:
    if not re.match("/apis?/", path):
        return {"Name": "orders", "StepIds": ["s-1"], "applicationId": "1", "jobRunId": "1", "arn": "arn"}
    # The object as it was sent, with what the API of Kubernetes adds.
    sent: dict[str, Any] = json.loads(body)
    return {**sent, "metadata": {**sent["metadata"], "uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}}


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        assert isinstance(self.server, Platform)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.calls.append(Call(self.command, self.path, self.headers.get("X-Amz-Target"), body))
        said = b"" if self.command == "PUT" else json.dumps(found(self.path, body)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.send_header("ETag", '"1"')
        self.end_headers()
        self.wfile.write(said)

    do_POST = do_PUT = do_PATCH = answer  # noqa: N815  (http.server's names)

    def log_message(self, *_: object) -> None:
        """Tests print nothing."""


@pytest.fixture
def platform() -> Iterator[Platform]:
    server = Platform()
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (OPERATIONS / page).read_text(), re.MULTILINE | re.DOTALL)


def run(script: str, folder: Path, **variables: str) -> None:
    environment = {**os.environ, "PATH": f"{SPARK}:{os.environ['PATH']}", "PYTHONPATH": str(PACKAGES), **variables}
    aws = f'aws() {{ "{sys.executable}" -m awscli --endpoint-url "$ENDPOINT" "$@"; }}\n'
    output(["bash", "-euc", aws + script], timeout_s=PATIENCE_S, environment=environment, folder=folder)


def built(folder: Path) -> None:
    """What `make package` leaves in dist/, by name, and a program."""
    jars = [f"kinesis-spark-{spark}-{versions.jar()}.jar" for spark in ("3.5_2.12", "3.5_2.13", "4_2.13")]
    (folder / "dist").mkdir()
    for name in (*jars, f"kinesis_spark-{versions.wheel()}-py3-none-any.whl"):
        (folder / "dist" / name).touch()
    (folder / "program.py").touch()


@pytest.mark.parametrize(
    ("page", "targets"),
    [
        # The command line looks at the cluster first.
        ("emr-7.md", ["ElasticMapReduce.DescribeCluster", "ElasticMapReduce.AddJobFlowSteps"]),
        ("emr-spark-4.md", [None]),
        ("glue-5.md", ["AWSGlue.CreateJob"]),
    ],
)
def test_the_commands_of_a_page_of_aws_are_valid_and_name_files_that_were_uploaded(
    platform: Platform, tmp_path: Path, page: str, targets: list[str | None]
) -> None:
    built(tmp_path)
    keys = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_DEFAULT_REGION": "eu-west-1"}
    names = {"CLUSTER": "j-1", "APPLICATION": "00f1", "ROLE": "arn:aws:iam::111122223333:role/orders"}
    for script in blocks(page, "bash"):
        run(script, tmp_path, ENDPOINT=platform.endpoint, **keys, **names)
    uploaded = {call.path.removeprefix("/my-bucket/") for call in platform.calls if call.method == "PUT"}
    others = [call for call in platform.calls if call.method != "PUT"]
    assert [call.target for call in others] == targets
    named = {path for call in others for path in re.findall(r"s3://my-bucket/([^\s\"',\]]+)", call.body.decode())}
    assert named
    assert named == uploaded


@pytest.mark.jvm
def test_the_command_of_the_page_of_kubernetes_submits_valid_manifests_of_a_driver(
    platform: Platform, tmp_path: Path
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.kubernetes.submission.waitAppCompletion false\n")
    (script,) = [block for block in blocks("kubernetes.md", "bash") if "spark-submit" in block]
    here = script.replace("https://$API_SERVER:6443", platform.endpoint)
    assert here != script
    run(
        here,
        tmp_path,
        IMAGE="registry.example.com/orders:1",
        SPARK_CONF_DIR=str(tmp_path / "conf"),
        KUBECONFIG=str(tmp_path / "none"),
    )
    sent: list[dict[str, Any]] = [json.loads(call.body) for call in platform.calls]
    (driver,) = [found["spec"] for found in sent if found["kind"] == "Pod"]
    assert driver["serviceAccountName"] == "spark-orders"
    (container,) = driver["containers"]
    assert container["image"] == "registry.example.com/orders:1"
    assert container["args"][-1] == "local:///opt/spark/work-dir/program.py"
    check_manifests(sent, tmp_path)


def test_the_manifests_of_the_page_of_kubernetes_are_valid(tmp_path: Path) -> None:
    manifests = [found for block in blocks("kubernetes.md", "yaml") for found in yaml.safe_load_all(block)]
    assert {found["kind"] for found in manifests} == {"ServiceAccount", "RoleBinding"}
    check_manifests(manifests, tmp_path)


def check_manifests(manifests: list[dict[str, Any]], folder: Path) -> None:
    file = folder / "manifests.yaml"
    file.write_text(yaml.safe_dump_all(manifests))
    run(f'"{sys.executable}" -m kubernetes_validate --strict {file}', folder)
