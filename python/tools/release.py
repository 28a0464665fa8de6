"""Makes a release of what the build left in dist/: `python release.py next|files TAG [--dry-run]|sign|upload`.

- `next` prints the tag of the newest version in CHANGELOG.md.
- `files` checks all that is built, and lays it out in build/release: `maven` as Maven Central takes it, `python` as
  PyPI does, `files` for the release on GitHub (JARs, SBOMs, Python distributions, checksums), and `notes.md`. A dry run
  takes a version whose section in CHANGELOG.md still says that it is unreleased, and pages that name its snapshot.
- `sign` signs build/release/maven with the environment's PGP_SECRET and PGP_PASSPHRASE, or with a key made for this run
  (`--throwaway-key`), adds checksums, and packs build/release/central.zip.
- `upload` gives that to Maven Central with SONATYPE_USERNAME and SONATYPE_PASSWORD, and waits until it is published. A
  version that Maven Central has already is left as it is.

It needs the standard library and gpg alone: the job that holds the key installs nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
import uuid
import zipfile
from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.error import HTTPError
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[2]
CENTRAL = "https://central.sonatype.com"
REPOSITORY = "https://repo1.maven.org/maven2"
SBOM = "META-INF/sbom/bom.json"
LINES = ("kinesis-spark-3.5_2.12", "kinesis-spark-3.5_2.13", "kinesis-spark-4_2.13")
# https://central.sonatype.org/publish/requirements
REQUIRED = (
    *("groupId", "artifactId", "version", "name", "description", "url"),
    *("licenses/license/name", "licenses/license/url", "developers/developer/name"),
    *("scm/connection", "scm/url"),
)
TITLE = re.compile(r"^## (?P<version>\d+\.\d+\.\d+\S*?)(?:, (?P<date>.*))?$", re.MULTILINE)
# Pages with instructions to install, and what they have before the first release.
INSTALLATION = ("README.md", "python/README.md", "python/testkit/README.md", "docs/getting-started")
UNPUBLISHED = re.compile(r"\bdist/|not released|not on PyPI")
PUBLISHED_WITHIN_S = 3600


class Section(NamedTuple):
    """What CHANGELOG.md says of a version.

    Attributes:
        date: as it is written, `unreleased` as long as it is.
    """

    version: str
    date: str
    text: str


def sections(changelog: str) -> list[Section]:
    """All versions, the newest first."""
    titles = list(TITLE.finditer(changelog))
    ends = [title.start() for title in titles[1:]] + [len(changelog)]
    return [
        Section(title["version"], title["date"] or "", changelog[title.end() : end].strip())
        for title, end in zip(titles, ends, strict=True)
    ]


def faults(root: Path, tag: str, *, is_dry_run: bool = False) -> Iterator[str]:
    """What keeps this build from being a release under a tag."""
    version = tag.removeprefix("v")
    of_version = [section for section in sections((root / "CHANGELOG.md").read_text()) if section.version == version]
    if not of_version or not of_version[0].text:
        yield f"CHANGELOG.md has no section {version}"
    elif of_version[0].date == "unreleased" and not is_dry_run:
        yield f"CHANGELOG.md calls {version} unreleased: write the date there"
    if not is_dry_run:
        yield from commit_faults(root, version)
    for line in LINES:
        yield from maven_faults(
            root / "dist" / "maven" / "io" / "github" / "kinesisspark" / line / version, line, version
        )
    for name, jars in distributions(version).items():
        file = root / "dist" / name
        if not file.is_file():
            yield f"{name} is missing"
        elif missing := [jar for jar in jars if not any(entry.endswith(jar) for entry in entries(file))]:
            yield f"{name} lacks {', '.join(missing)}"


def commit_faults(root: Path, version: str) -> Iterator[str]:
    """What keeps the commit itself from being a release."""
    project = re.search(r'val project = "(.*)"', (root / "project" / "Versions.scala").read_text())
    if project is None or project[1] != version:
        yield f"project/Versions.scala has another version: {project and project[1]}"
    readmes = [name for name in INSTALLATION if name.endswith(".md")]
    docs = sorted(page.relative_to(root).as_posix() for page in (root / "docs").rglob("*.*"))
    for page in [*readmes, *(page for page in docs if page.endswith((".md", ".ipynb")))]:
        text = (root / page).read_text()
        if re.search(r"-SNAPSHOT|\.dev0", text):
            yield f"{page} names a snapshot"
        if page.startswith(INSTALLATION) and (found := UNPUBLISHED.search(text)):
            yield f"{page} has '{found[0]}': write there how to install from PyPI and Maven Central"
    if subprocess.run(["git", "merge-base", "--is-ancestor", "HEAD", "origin/main"], cwd=root, check=False).returncode:
        yield "the commit is not on origin/main"


def maven_faults(folder: Path, name: str, version: str) -> Iterator[str]:
    """What Maven Central would refuse of one artifact."""
    pom = folder / f"{name}-{version}.pom"
    if not pom.is_file():
        yield f"{pom.name} is missing"
        return
    project = ET.parse(pom).getroot()  # noqa: S314  (of our own build)
    for field in REQUIRED:
        if not (project.findtext("/".join(f"{{*}}{part}" for part in field.split("/"))) or "").strip():
            yield f"{pom.name} has no {field}"
    for suffix in (".jar", "-sources.jar", "-javadoc.jar"):
        jar = folder / f"{name}-{version}{suffix}"
        if not jar.is_file() or not [entry for entry in entries(jar) if not entry.startswith("META-INF/")]:
            yield f"{jar.name} is missing or empty"
        elif suffix == ".jar" and SBOM not in entries(jar):
            yield f"{jar.name} has no {SBOM}"


def distributions(version: str) -> dict[str, tuple[str, ...]]:
    """The files for PyPI, with the JARs that each contains."""
    connectors = tuple(f"{line}-{version}.jar" for line in ("kinesis-spark-3.5_2.12", "kinesis-spark-4_2.13"))
    return {
        f"kinesis_spark-{version}-py3-none-any.whl": connectors,
        f"kinesis_spark-{version}.tar.gz": connectors,
        f"kinesis_spark_local-{version}-py3-none-any.whl": (f"kinesis-spark-testkit-{version}.jar",),
    }


def entries(archive: Path) -> list[str]:
    """The names of what an archive contains."""
    if archive.suffix == ".gz":
        listed = subprocess.run(["tar", "tzf", str(archive)], capture_output=True, text=True, check=True)
        return listed.stdout.splitlines()
    with zipfile.ZipFile(archive) as packed:
        return packed.namelist()


def lay_out(root: Path, tag: str) -> None:
    """Put what is released into build/release."""
    version, into = tag.removeprefix("v"), root / "build" / "release"
    shutil.rmtree(into, ignore_errors=True)
    for place in ("maven", "python", "files"):
        (into / place).mkdir(parents=True)
    for name in distributions(version):
        shutil.copy(root / "dist" / name, into / "python")
        shutil.copy(root / "dist" / name, into / "files")
    group = Path("io", "github", "kinesisspark")
    for line in LINES:
        folder, stem = root / "dist" / "maven" / group / line / version, f"{line}-{version}"
        (into / "maven" / group / line / version).mkdir(parents=True)
        for suffix in (".pom", ".jar", "-sources.jar", "-javadoc.jar"):
            shutil.copy(folder / f"{stem}{suffix}", into / "maven" / group / line / version)
        shutil.copy(folder / f"{stem}.jar", into / "files")
        with zipfile.ZipFile(folder / f"{stem}.jar") as jar:
            (into / "files" / f"{stem}.cdx.json").write_bytes(jar.read(SBOM))
    sums = [f"{digest('sha256', file)}  {file.name}\n" for file in sorted((into / "files").iterdir())]
    (into / "files" / "SHA256SUMS").write_text("".join(sums))
    (notes,) = [s.text for s in sections((root / "CHANGELOG.md").read_text()) if s.version == version]
    (into / "notes.md").write_text(f"{notes}\n")


def digest(algorithm: str, file: Path) -> str:
    """The checksum of a file, in hex."""
    return hashlib.new(algorithm, file.read_bytes()).hexdigest()


def sign(release: Path, secret: str, passphrase: str) -> None:
    """Sign all that Maven Central gets, add checksums, and pack it; without a secret, with a key that nobody keeps.

    The secret is the private key as gpg exports it, in base64.
    """
    files = sorted(file for file in (release / "maven").rglob("*") if file.suffix in (".jar", ".pom"))
    with TemporaryDirectory() as home:
        gpg = ["gpg", "--batch", "--quiet", "--homedir", home, "--pinentry-mode", "loopback", "--passphrase-fd", "0"]
        if secret:
            subprocess.run([*gpg[:-2], "--import"], input=base64.b64decode(secret), check=True)
        else:
            made = ["--quick-generate-key", "release dry run", "ed25519", "sign", "1d"]
            subprocess.run([*gpg, *made], input=passphrase, text=True, check=True)
        for file in files:
            signature = file.with_name(f"{file.name}.asc")
            made = ["--yes", "--armor", "--output", str(signature), "--detach-sign", str(file)]
            subprocess.run([*gpg, *made], input=passphrase, text=True, check=True)
            subprocess.run([*gpg[:-2], "--verify", str(signature), str(file)], capture_output=True, check=True)
            for algorithm in ("md5", "sha1", "sha256"):
                file.with_name(f"{file.name}.{algorithm}").write_text(digest(algorithm, file))
        subprocess.run(["gpgconf", "--homedir", home, "--kill", "gpg-agent"], check=False)
    with zipfile.ZipFile(release / "central.zip", "w") as packed:
        for file in sorted((release / "maven").rglob("*")):
            if file.is_file():
                packed.write(file, file.relative_to(release / "maven"))


def is_published(maven: Path, repository: str = REPOSITORY) -> bool:
    """Whether Maven Central has these artifacts: a deployment is published as a whole."""
    pom = next(maven.rglob("*.pom")).relative_to(maven).as_posix()
    request = urllib.request.Request(f"{repository}/{pom}", method="HEAD")  # noqa: S310
    try:
        urllib.request.urlopen(request, timeout=60).close()  # noqa: S310
    except HTTPError as refused:
        if refused.code == HTTPStatus.NOT_FOUND:
            return False
        raise
    return True


def upload(bundle: Path, token: str, central: str = CENTRAL, pause_s: float = 10) -> None:
    """Give the bundle to Maven Central, and wait until it is published.

    Raises:
        RuntimeError: if Maven Central refuses it, with its reasons, or has not published it within an hour.
        OSError: if the upload fails. A status that can't be read is asked for again.
    """

    def post(path: str, body: bytes = b"", kind: str = "application/json") -> str:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
        request = urllib.request.Request(f"{central}/api/v1/publisher/{path}", body, headers)  # noqa: S310
        with urllib.request.urlopen(request, timeout=600) as answer:  # noqa: S310
            return str(answer.read().decode())

    edge = uuid.uuid4().hex
    head = f'--{edge}\r\nContent-Disposition: form-data; name="bundle"; filename="{bundle.name}"\r\n'
    body = f"{head}Content-Type: application/octet-stream\r\n\r\n".encode() + bundle.read_bytes()
    deployment = post(
        f"upload?name={bundle.name}&publishingType=AUTOMATIC",
        body + f"\r\n--{edge}--\r\n".encode(),
        f"multipart/form-data; boundary={edge}",
    )
    state, until = "", time.monotonic() + PUBLISHED_WITHIN_S
    while state != "PUBLISHED":
        try:
            status = json.loads(post(f"status?id={deployment}"))
        except (OSError, HTTPException) as failed:
            print(f"Maven Central: no status of deployment {deployment}, asking again: {failed}", flush=True)
            status = {"deploymentState": state}
        if status["deploymentState"] != state:
            state = status["deploymentState"]
            print(f"Maven Central: deployment {deployment} is {state}", flush=True)
        if state == "FAILED":
            raise RuntimeError(f"Maven Central refused deployment {deployment}: {json.dumps(status.get('errors'))}")
        if time.monotonic() > until:
            raise RuntimeError(f"Deployment {deployment} is {state} after an hour: look at {central}/publishing")
        time.sleep(pause_s)


def main(command: str, *arguments: str) -> None:
    """Run a command; the exit status is not 0 if anything is missing."""
    release, variables = ROOT / "build" / "release", os.environ
    newest = sections((ROOT / "CHANGELOG.md").read_text())[0]
    if command == "next":
        print(f"v{newest.version}")
    elif command == "files":
        tag, *options = arguments
        found = list(faults(ROOT, tag, is_dry_run="--dry-run" in options))
        if found:
            sys.exit("\n".join([f"{tag} can't be released:", *found]))
        lay_out(ROOT, tag)
        print(*sorted(str(file.relative_to(ROOT)) for file in release.rglob("*") if file.is_file()), sep="\n")
    elif command == "sign":
        throwaway = "--throwaway-key" in arguments
        sign(release, "" if throwaway else variables["PGP_SECRET"], "" if throwaway else variables["PGP_PASSPHRASE"])
    elif command == "upload" and is_published(release / "maven"):
        print("Maven Central has this version already.")
    elif command == "upload":
        login = f"{variables['SONATYPE_USERNAME']}:{variables['SONATYPE_PASSWORD']}"
        upload(release / "central.zip", base64.b64encode(login.encode()).decode())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
