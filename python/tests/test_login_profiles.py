"""Profiles of `aws sso login` and `aws login`: a home directory, a program, and `kinesis-spark doctor`."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator

import boto3
import pytest
from patience import PATIENCE_S

from kinesis_spark import LocalKinesis

ACCOUNT = "111122223333"
PERSON = f"arn:aws:iam::{ACCOUNT}:user/person"
START_URL = "https://work.awsapps.com/start"

# What is read with one profile, and how a read with another one fails.
PROGRAM = """
import json, sys
from py4j.protocol import Py4JJavaError
from kinesis_spark import KinesisOptions, ProfileCredentials, read_batch, session
spark = session.builder("profiles", "local[2]").config("spark.ui.enabled", "false").getOrCreate()
found = {}
for profile in sys.argv[2:]:
    options = KinesisOptions(
        stream_name="orders", region="us-east-1", endpoint=sys.argv[1], credentials=ProfileCredentials(profile)
    )
    try:
        found[profile] = read_batch(spark, options).count()
    except Py4JJavaError as failed:
        found[profile] = failed.java_exception.toString()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def kinesis() -> Iterator[LocalKinesis]:
    arguments = ["--account", f"{ACCOUNT}:test:test", "--login", f"{ACCOUNT}:reader:token-0:refresh-0"]
    with LocalKinesis({"orders": 1}, arguments=arguments) as server:
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        client = boto3.client("kinesis", "us-east-1", endpoint_url=server.endpoint, **keys)
        client.put_records(
            StreamName="orders", Records=[{"PartitionKey": f"k-{i}", "Data": b"data"} for i in range(20)]
        )
        yield server


@pytest.fixture(scope="module")
def home(kinesis: LocalKinesis, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a person with a login that can be renewed, one that can't, and one that is missing."""
    folder = tmp_path_factory.mktemp("home")
    services = "".join(f"{name} =\n  endpoint_url = {kinesis.endpoint}\n" for name in ("sso", "sso_oidc", "signin"))
    sections = [
        f"[services local]\n{services}",
        f"[profile person]\nlogin_session = {PERSON}\nregion = us-east-1\nservices = local",
    ]
    for profile, refresh in (("renewable", "refresh-0"), ("expired", "planted-refresh")):
        sections.append(
            f"[profile {profile}]\nsso_session = {profile}\nsso_account_id = {ACCOUNT}\nsso_role_name = reader\n"
            f"services = local\n[sso-session {profile}]\nsso_region = us-east-1\nsso_start_url = {START_URL}"
        )
        login = {
            "startUrl": START_URL,
            "region": "us-east-1",
            "accessToken": "planted-access",
            "expiresAt": "2026-01-01T00:00:00Z",
            "clientId": "client",
            "clientSecret": "planted-secret",
            "registrationExpiresAt": "2099-01-01T00:00:00Z",
            "refreshToken": refresh,
        }
        cache = folder / ".aws" / "sso" / "cache"
        cache.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha1(profile.encode()).hexdigest()  # noqa: S324  (the AWS command line's name for the file)
        (cache / f"{name}.json").write_text(json.dumps(login))
    (folder / ".aws" / "config").write_text("\n".join(sections))
    clean = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}
    return clean | {"HOME": str(folder)}


def _run(home: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=home, capture_output=True, text=True, timeout=3 * PATIENCE_S, check=False)


def test_a_program_reads_with_a_profile_and_names_the_command_for_one_that_has_expired(
    kinesis: LocalKinesis, home: dict[str, str]
) -> None:
    done = _run(home, "-c", PROGRAM, kinesis.endpoint, "renewable", "expired", "person")
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["renewable"] == 20
    assert "KINESIS_LOGIN_REQUIRED" in found["expired"]
    assert "aws sso login --profile expired" in found["expired"]
    assert "aws login --profile person" in found["person"]
    assert "planted" not in done.stdout + done.stderr


def test_the_doctor_names_the_command_for_a_profile_whose_login_has_expired(
    kinesis: LocalKinesis, home: dict[str, str]
) -> None:
    asked = ["orders", "--endpoint", kinesis.endpoint, "--region", "us-east-1", "--profile", "expired"]
    done = _run(home, "-m", "kinesis_spark", "doctor", *asked, "--no-session", "--output", "json")
    checks = {check["check"]: check for check in map(json.loads, done.stdout.splitlines())}
    assert checks["credentials"]["result"] == "failed", done.stderr
    assert checks["credentials"]["advice"] == "Run: aws sso login --profile expired"
    assert checks["kinesis:ListShards"]["result"] == "not tried"
    assert "planted" not in done.stdout + done.stderr
