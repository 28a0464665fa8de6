"""How the driver reaches its readers on a cluster: by RPC, which starts no Spark job."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from kinesis_spark import LocalKinesis

from .cluster_query import CLUSTER, ClusterQuery, put, running
from .waiting import wait_until

pytestmark = pytest.mark.jvm

EXECUTORS = 2

# Long enough for ten plannings of an idle query.
IDLE_S = 5

SECURED = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": "of the test",
    "spark.network.crypto.enabled": "true",
}


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="plain", marks=pytest.mark.every_spark("no job while idle")),
        pytest.param(SECURED, id="secured", marks=pytest.mark.slow),
    ],
)
def test_an_idle_query_starts_no_spark_job_and_a_batch_starts_only_its_own(
    stream: LocalKinesis, tmp_path: Path, settings: dict[str, str]
) -> None:
    with running(ClusterQuery(tmp_path, stream, CLUSTER, settings=json.dumps(settings))) as query:
        texts = put(stream, "first", 100)
        wait_until(lambda: len(query.written()) == len(texts), "the first records")
        wait_until(lambda: query.do("progress")["executors"] == EXECUTORS, "two executors that Spark has")
        # Executors that come after the first planning are connected by a job.
        wait_until(lambda: jobs_of_an_idle_query(query) == 0, "a query that starts no job", timeout_s=180)
        jobs, batches = query.do("progress")["jobs"], query.batches()
        texts += put(stream, "second", 100)
        wait_until(lambda: len(query.written()) == len(texts), "the second records")
        assert query.do("progress")["jobs"] - jobs == query.batches() - batches
        outcome = query.stop()
    assert outcome["failure"] is None
    assert Counter(query.written()) == Counter(texts)
    assert int(outcome["metrics"][-1]["rereadRecords"]) < len(texts) / 2


def jobs_of_an_idle_query(query: ClusterQuery) -> int:
    before = query.do("progress")["jobs"]
    time.sleep(IDLE_S)
    return int(query.do("progress")["jobs"] - before)
