"""What benches have in common: their arguments, their lines of JSON, the files that keep these, and pages' stamps."""

from __future__ import annotations

import argparse
import json
import platform
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar
from zipfile import ZipFile

import psutil  # type: ignore[import-untyped]

from kinesis_spark.jars import connector_jar


class Setting(Protocol):
    """What is measured, by its name."""

    @property
    def name(self) -> str:
        """What the results call it."""


_Setting = TypeVar("_Setting", bound=Setting)


def parser(about: str | None) -> argparse.ArgumentParser:
    """The arguments of a bench that writes a page: which settings, the file of their lines, and the page."""
    made = argparse.ArgumentParser(description=about)
    made.add_argument("--results", type=Path, help="the file that keeps the lines")
    made.add_argument("--page", type=Path, help="the page that shows the newest lines beside that file")
    made.add_argument("only", nargs="?", default="", help="a part of the names of settings")
    return made


def run(settings: Iterable[_Setting], measure: Callable[[_Setting], dict[str, Any]], asked: argparse.Namespace) -> None:
    """Measures the settings that are wanted, and keeps their lines."""
    for setting in settings:
        if asked.only in setting.name:
            record({"name": setting.name, **measure(setting)}, asked.results)


def record(figures: dict[str, Any], results: Path | None) -> None:
    """Prints the line of a setting, with what was measured and where, and keeps it if there is a file for it."""
    line = {
        **figures,
        "commit": connector_commit(),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": machine(),
    }
    say(line)
    if results:
        keep(line, results)


def say(value: object) -> None:
    """A line of JSON."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def keep(line: dict[str, Any], file: Path) -> None:
    """Adds a line to a file, in the place of an earlier one of the same setting."""
    before = file.read_text().splitlines() if file.exists() else []
    others = [other for other in before if json.loads(other)["name"] != line["name"]]
    file.write_text("\n".join([*others, json.dumps(line)]) + "\n")


def newest(results: Path, kind: str, names: Iterable[str]) -> list[dict[str, Any]]:
    """The newest line of each setting in the directory's files of a kind of bench, in the order of the names."""
    lines = [json.loads(line) for file in results.glob(f"*-{kind}.jsonl") for line in file.read_text().splitlines()]
    of = {line["name"]: line for line in sorted(lines, key=lambda line: str(line["date"]))}
    return [of[name] for name in names if name in of]


def stamp(lines: Sequence[dict[str, Any]], command: str) -> str:
    """Where the figures of a page are from.

    Args:
        lines: at least one. Settings may have been measured one by one, at several commits.
        command: of make.
    """
    commits = dict.fromkeys(f"{line['commit']}, {line['date'][:10]}" for line in lines)
    return f"{'; '.join(commits)}; `make {command}`, {lines[0]['machine']}."


def machine() -> str:
    """What all is measured on."""
    memory = round(psutil.virtual_memory().total / 2**30)
    return f"{psutil.cpu_count()} cores, {memory} GiB, {platform.system()} {platform.machine()}"


def connector_commit() -> str:
    """The commit of the connector that is measured, as its JAR has it: the tree may have moved on since."""
    with ZipFile(connector_jar()) as jar:
        # A long line is continued on the next one, after a space.
        manifest = jar.read("META-INF/MANIFEST.MF").decode().replace("\r\n ", "")
    found = re.search(r"^Implementation-Commit: ([0-9a-f]{12})[0-9a-f]*(\S*)", manifest, re.MULTILINE)
    return "unknown" if found is None else found[1] + found[2]
