"""Every block of code in the documentation is run by a test, or a comment before it says why it can't be.

A comment `<!-- not run: reason -->` or `<!-- run by: file -->`, with a file below python/tests, stands right before the
block. Python blocks of a page run one after the other, in one Spark session, on streams of a local server. They run as
they stand, except for the service, the folder /data, and queries that end when they have read what there is. Shell
blocks that call `kinesis-spark` run as well.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docs_site
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kinesis_spark import KinesisOptions, KinesisSinkOptions, LocalKinesis, Record, read_batch

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parents[1]

# Not programs: values, configuration, and what is drawn with characters.
VALUES = {"ini", "json", "properties", "text", "yaml"}
# Their own tests run them, with checks of what comes out.
TESTED = {
    "docs/how-to/batch.md": "test_batch.py",
    "docs/how-to/polling-or-fan-out.md": "test_docs.py",
    "docs/how-to/real-time.md": "test_real_time.py",
    "docs/how-to/testing.md": "test_testing_page.py",
    "docs/how-to/upgrading.md": "test_upgrading.py",
    "docs/how-to/write.md": "test_sink_docs.py",
    "docs/operations/emr-7.md": "test_platforms.py",
    "docs/operations/emr-spark-4.md": "test_platforms.py",
    "docs/operations/glue-5.md": "test_platforms.py",
    "docs/operations/kubernetes.md": "test_platforms.py",
}
BLOCK = re.compile(r"(?:^<!-- (not run|run by): (.+?) -->\n)?^(`{3,}|~{3,})(\w*)\n(.*?)^\3$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of code, and what the comment before it says."""

    page: str
    language: str
    code: str
    not_run: str | None
    run_by: str | None


def blocks_of(page: str, text: str) -> list[Block]:
    """All of a page, in order."""
    return [
        Block(page, language, code, note if kind == "not run" else None, note if kind == "run by" else None)
        for kind, note, _, language, code in BLOCK.findall(text)
    ]


def pages() -> list[str]:
    """All pages of the site, and the Python package's."""
    docs = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))]
    return [*docs, *docs_site.PAGES.values(), "python/README.md"]


BLOCKS = [block for page in pages() for block in blocks_of(page, (ROOT / page).read_text(encoding="utf-8"))]
FREE = [block for block in BLOCKS if not block.not_run and not block.run_by and block.page not in TESTED]
SESSIONS = sorted({block.page for block in FREE if block.language == "python"})
COMMANDS = sorted({block.page for block in FREE if block.language == "bash"})


def problem(block: Block) -> str | None:
    """Why a block is neither run nor excused."""
    if block.not_run or block.language in VALUES:
        return None
    if block.run_by:
        file = TESTS / block.run_by
        if not file.is_file():
            return f"there is no {block.run_by}"
        missing = [line for line in code_lines(block.code) if line not in file.read_text(encoding="utf-8")]
        return f"{block.run_by} has no '{missing[0]}'" if missing else None
    if block.page in TESTED:
        name = block.page.rsplit("/", 1)[-1]
        return None if name in (TESTS / TESTED[block.page]).read_text(encoding="utf-8") else "its test is gone"
    commands = all(line.startswith("kinesis-spark ") for line in code_lines(block.code))
    if block.language == "python" or (block.language == "bash" and commands):
        return None
    return "no test runs it: say in a comment what does, or why nothing can"


def code_lines(code: str) -> list[str]:
    """Without comments and blank lines."""
    lines = [re.sub(r"\s+# .*$", "", line).strip() for line in code.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("page", pages())
def test_every_block_of_a_page_is_run_or_says_why_not(page: str) -> None:
    found = [(block.code.splitlines()[0], problem(block)) for block in BLOCKS if block.page == page]
    assert [one for one in found if one[1]] == []


def test_blocks_are_found_with_their_comments() -> None:
    text = "<!-- not run: it can't -->\n```bash\nrm\n```\n\n```python\nx = 1\n```\n\n~~~text\n```\n~~~\n"
    assert [(b.language, b.code, b.not_run) for b in blocks_of("page", text)] == [
        ("bash", "rm\n", "it can't"),
        ("python", "x = 1\n", None),
        ("text", "```\n", None),
    ]
    assert problem(Block("page", "bash", "make\n", None, None)) is not None
    assert problem(Block("page", "bash", "make nothing\n", None, "newcomer/from-wheel.sh")) is not None


@pytest.fixture
def aws() -> Iterator[LocalKinesis]:
    with LocalKinesis({"orders": 2, "orders-checked": 1}) as server:
        totals = [f'{{"total": {n}}}'.encode() for n in range(-5, 20)]
        server.put_records("orders", [Record("customer-1", total) for total in totals])
        yield server


@pytest.mark.parametrize("page", SESSIONS)
def test_python_blocks_of_a_page_run_one_after_the_other(
    spark: SparkSession, aws: LocalKinesis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    for options, local in ((KinesisOptions, aws.options("orders")), (KinesisSinkOptions, aws.sink_options())):
        monkeypatch.setattr(options, "to_dict", at_endpoint(options.to_dict, local.to_dict()))
    monkeypatch.setattr(StreamingQuery, "awaitTermination", read_what_is_there)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"spark": spark, "checkpoint": str(tmp_path / "checkpoint")}
    try:
        for block in FREE:
            if block.page == page and block.language == "python":
                exec(local_code(block.code, tmp_path, aws), names)  # noqa: S102
        for query in spark.streams.active:
            query.processAllAvailable()
    finally:
        for query in spark.streams.active:
            query.stop()
    CHECKS.get(page, nothing)(names, spark, aws, tmp_path)


def local_code(code: str, folder: Path, server: LocalKinesis) -> str:
    """With a folder of the test, and the options of plain Spark completed by those of a local server."""
    options = server.options("orders").to_dict()
    given = "".join(f'.option("{name}", "{options[name]}")' for name in options if name != "streamName")
    return code.replace("/data/", f"{folder}/").replace('.option("region", "eu-west-1")', given)


def at_endpoint(to_dict: Callable[[Any], dict[str, str]], local: dict[str, str]) -> Callable[[Any], dict[str, str]]:
    """The options of a page's programs with the endpoint and the keys of a local server."""
    service = {name: local[name] for name in ("endpoint", "region", "accessKeyId", "secretAccessKey")}
    return lambda options: {**service, **to_dict(options)} | {"region": service["region"]}


def read_what_is_there(query: StreamingQuery) -> None:
    query.processAllAvailable()
    query.stop()


Check = Callable[[dict[str, Any], SparkSession, LocalKinesis, Path], None]


def nothing(*_: object) -> None:
    """Most pages need only run."""


def readme(_: dict[str, Any], spark: SparkSession, __: LocalKinesis, folder: Path) -> None:
    assert spark.read.parquet(str(folder / "orders")).count() == 25


def positions(names: dict[str, Any], _: SparkSession, __: LocalKinesis, ___: Path) -> None:
    assert names["latest"].collect()[0]["data"] == b'{"total": 19}'
    # Nothing came after the point where the batch ended.
    assert names["backfill"].count() == 25


def exactness(names: dict[str, Any], spark: SparkSession, aws: LocalKinesis, folder: Path) -> None:
    import sqlite3

    rows = read_batch(spark, aws.options("orders"))
    # As in a query.
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "another")
    for _ in range(2):
        names["store"](rows, 7)
    with sqlite3.connect(folder / "orders.db") as connection:
        # The query's batch, and the other one once.
        assert connection.execute("SELECT count(*) FROM orders").fetchone() == (50,)


CHECKS: dict[str, Check] = {
    "README.md": readme,
    "docs/concepts/exactness.md": exactness,
    "docs/concepts/positions.md": positions,
    "docs/getting-started/aws.md": readme,
}


@pytest.mark.parametrize("page", COMMANDS)
def test_commands_of_a_page_run(aws: LocalKinesis, tmp_path: Path, page: str) -> None:
    lines = [
        line for block in FREE if block.page == page and block.language == "bash" for line in code_lines(block.code)
    ]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for line in lines:
        name, command, *arguments = line.split()
        call = [name, command, *arguments, "--endpoint", aws.endpoint]
        done = subprocess.run(
            call, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        assert done.stdout
