"""Editors and notebooks know the package: its types are complete, and keywords and names are completed."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

import kinesis_spark
from kinesis_spark import KinesisOptions, KinesisSinkOptions, LocalKinesis, StreamConsumers, positions

PYTHON = Path(__file__).resolve().parents[1]
has_node = pytest.mark.skipif(shutil.which("node") is None, reason="pyright needs Node.js")

SOURCE, SINK = KinesisOptions, KinesisSinkOptions


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (kinesis_spark.read_stream, SOURCE),
        (kinesis_spark.read_batch, SOURCE),
        (kinesis_spark.shards, SOURCE),
        (positions.latest, SOURCE),
        (positions.at, SOURCE),
        (StreamConsumers, SOURCE),
        (LocalKinesis.options, SOURCE),
        (SOURCE.replace, SOURCE),
        (kinesis_spark.write_stream, SINK),
        (kinesis_spark.write_batch, SINK),
        (LocalKinesis.sink_options, SINK),
        (SINK.replace, SINK),
    ],
    ids=lambda value: getattr(value, "__qualname__", None),
)
def test_help_and_notebooks_see_each_option_as_a_keyword_with_its_default(
    function: Callable[..., Any], options: type[KinesisOptions]
) -> None:
    shown = inspect.signature(function).parameters
    for field in dataclasses.fields(options):
        assert shown[field.name].kind is inspect.Parameter.KEYWORD_ONLY
        assert shown[field.name].default == field.default


def pyright(*arguments: str, folder: Path = PYTHON) -> dict[str, Any]:
    # It looks for packages where the `python` of PATH does.
    programs = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    command = [sys.executable, "-m", "pyright", "--outputjson", *arguments]
    environment = {**os.environ, "PATH": programs, "VIRTUAL_ENV": sys.prefix}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False, env=environment
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
@has_node
def test_pyright_finds_no_error() -> None:
    assert pyright()["generalDiagnostics"] == []


@pytest.mark.slow
@has_node
def test_each_public_name_has_a_type(tmp_path: Path) -> None:
    # Of the installed package, as its users have it.
    found = pyright("--verifytypes", "kinesis_spark", "--ignoreexternal", folder=tmp_path)["typeCompleteness"]
    assert found["completenessScore"] == 1, [s for s in found["symbols"] if s["diagnostics"]]
    assert len(found["symbols"]) > 100


class LanguageServer:
    """An editor's side of the language server protocol: the messages that completion needs.

    https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._to: IO[bytes] = process.stdin
        self._from: IO[bytes] = process.stdout
        self._number = 0

    def notify(self, method: str, **params: object) -> None:
        self._send({"method": method, "params": params})

    def ask(self, method: str, **params: object) -> Any:  # noqa: ANN401
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            said = self._receive()
            if said.get("id") == self._number and "method" not in said:
                return said["result"]
            if "id" in said and "method" in said:
                items = (said.get("params") or {}).get("items")
                self._send({"id": said["id"], "result": None if items is None else [None] * len(items)})

    def _send(self, message: dict[str, Any]) -> None:
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._to.write(f"Content-Length: {len(text)}\r\n\r\n".encode() + text)
        self._to.flush()

    def _receive(self) -> dict[str, Any]:
        length = 0
        while line := self._from.readline().strip():
            name, _, value = line.decode().partition(":")
            length = int(value) if name.lower() == "content-length" else length
        received: dict[str, Any] = json.loads(self._from.read(length))
        return received


@contextmanager
def language_server(folder: Path) -> Iterator[LanguageServer]:
    command = [sys.executable, "-m", "pyright.langserver", "--stdio"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder) as process:
        server = LanguageServer(process)
        root = [{"uri": folder.as_uri(), "name": "program"}]
        server.ask("initialize", processId=None, rootUri=folder.as_uri(), capabilities={}, workspaceFolders=root)
        server.notify("initialized")
        yield server
        server.ask("shutdown")
        server.notify("exit")


@pytest.mark.slow
@has_node
def test_an_editor_completes_keywords_and_names(tmp_path: Path) -> None:
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps({"venvPath": str(Path(sys.prefix).parent), "venv": Path(sys.prefix).name})
    )
    lines = {
        "read_stream(spark, strea": {"stream_name=", "stream_arn="},
        "write_batch(rows, bad_": {"bad_records="},
        "KinesisOptions(start": {"starting_position="},
        "KinesisOptions().replace(max_": {"max_records_per_trigger=", "max_bytes_per_trigger="},
        "kinesis_spark.Kin": {"KinesisMonitor", "KinesisOptions", "KinesisSinkOptions"},
        "positions.la": {"latest"},
        "monitor.on_": {"on_lag", "on_no_progress", "on_failure"},
    }
    program = tmp_path / "program.py"
    imports = "import kinesis_spark\nfrom kinesis_spark import *\nmonitor = KinesisMonitor()\n"
    with language_server(tmp_path) as server:
        for number, (line, expected) in enumerate(lines.items()):
            uri = program.with_name(f"program{number}.py").as_uri()
            document = {"uri": uri, "languageId": "python", "version": 1, "text": imports + line}
            server.notify("textDocument/didOpen", textDocument=document)
            place = {"line": 3, "character": len(line)}
            found = server.ask("textDocument/completion", textDocument={"uri": uri}, position=place)
            items = found["items"] if isinstance(found, dict) else found
            assert expected <= {item["label"] for item in items}, line
