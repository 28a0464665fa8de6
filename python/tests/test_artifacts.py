"""What JARs, wheels and the source distribution contain, and that it doesn't depend on where and when they were built.

`artifacts.txt` has their contents: packages of JARs, files of the others. KINESIS_SPARK_WRITE_DOCS=1 writes it anew,
for those that are built. `make test` builds those for Spark 4; a slow test of the others has `make package` build them.
"""

from __future__ import annotations

import os
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from programs import outside_make
from versions import jar, wheel

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("artifacts.txt")

IN_TEST = ("dist/kinesis-spark-4_2.13-*.jar", "dist/kinesis-spark-testkit-*.jar", "dist/kinesis_spark_local-*.whl")
BY_PACKAGE = (
    "dist/kinesis-spark-3.5_2.12-*.jar",
    "dist/kinesis-spark-3.5_2.13-*.jar",
    "dist/kinesis_spark-*.whl",
    "dist/kinesis_spark-*.tar.gz",
)
ARTIFACTS = [*IN_TEST, *(pytest.param(name, marks=pytest.mark.slow) for name in BY_PACKAGE)]

pytestmark = pytest.mark.jvm

# A JAR in a wheel has a name of its own in the list, and contents of its own above.
SHADED = "io/github/kinesisspark/shaded/"


@cache
def package() -> None:
    """Build what is missing or out of date."""
    subprocess.run(["make", "--no-print-directory", "package"], cwd=ROOT, env=outside_make(), check=True)


def built(name: str) -> Path:
    if name in BY_PACKAGE:
        package()
    version = jar() if name.endswith(".jar") else wheel()
    file = ROOT / name.replace("*", f"{version}-py3-none-any" if name.endswith(".whl") else version)
    if not file.exists():
        pytest.skip(f"{file.name} isn't built: `make package` does that")
    return file


def members(file: Path) -> Iterator[tuple[str, bytes, object]]:
    """Names, contents, and what an archive has of time and person, of the files in it."""
    if file.suffix == ".gz":
        with tarfile.open(file) as archive:
            for entry in archive:
                content = archive.extractfile(entry)
                assert content is not None
                yield entry.name, content.read(), (entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname)
    else:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                if not info.is_dir():
                    yield info.filename, archive.read(info), info.date_time


def listed(file: Path, name: str) -> str:
    """As the list has it: a file that isn't a class, or the first parts of a package."""
    if file.suffix != ".jar":
        return name.replace(jar(), "*").replace(wheel(), "*")
    folder = name.rpartition("/")[0]
    if folder == "META-INF/services" or not folder:
        return name
    shaded = SHADED if name.startswith(SHADED) else ""
    parts = folder.removeprefix(shaded).split("/")
    depth = {"scala": 1, "META-INF": 2, "picocli": 1}.get(
        parts[0], 4 if parts[:3] in (["software", "amazon", "awssdk"], ["io", "github", "kinesisspark"]) else 3
    )
    if parts[:4] == ["software", "amazon", "awssdk", "services"]:
        depth = 5
    return shaded + "/".join(parts[:depth]) + "/"


def in_list() -> dict[str, list[str]]:
    sections = (section.splitlines() for section in LIST.read_text().strip().split("\n\n")) if LIST.exists() else ()
    return {lines[0]: lines[1:] for lines in sections}


@pytest.mark.parametrize("name", ARTIFACTS)
def test_an_artifact_contains_what_the_list_has(name: str) -> None:
    file = built(name)
    contents = sorted({listed(file, member) for member, _, _ in members(file)})
    if os.environ.get("KINESIS_SPARK_WRITE_DOCS"):
        sections = {**in_list(), name: contents}
        LIST.write_text("\n\n".join("\n".join([title, *sections[title]]) for title in sorted(sections)) + "\n")
    assert contents == in_list()[name]


@pytest.mark.parametrize("name", ARTIFACTS)
def test_an_artifact_has_one_time_and_no_path_or_person_of_the_machine_that_built_it(name: str) -> None:
    file = built(name)
    places = [str(place).encode() for place in (ROOT, Path.home()) if len(place.parts) > 1]
    stamps, found = set(), []
    for member, content, stamp in members(file):
        stamps.add(stamp)
        # JARs in wheels are compressed, and are looked at by themselves.
        found += [(member, place) for place in places if place + b"/" in content]
    assert len(stamps) == 1, stamps
    assert found == []
