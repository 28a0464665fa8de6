"""A release is refused when something is missing, laid out as Maven Central and PyPI take it, signed, and uploaded."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import pytest
import release
from test_versions import git

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><groupId>io.github.kinesisspark</groupId>
<artifactId>{name}</artifactId><version>1.2.3</version><name>{name}</name><description>A connector</description>
<url>https://example.com</url><licenses><license><name>Apache-2.0</name><url>https://example.com</url></license></licenses>
<developers><developer><name>The project</name></developer></developers>
<scm><connection>scm:git:https://example.com</connection><url>https://example.com</url></scm></project>"""
has_gpg = pytest.mark.skipif(shutil.which("gpg") is None, reason="signing needs gpg")
CHANGELOG = (
    "# Changelog\n\n## 1.3.0, unreleased\n\n- Later.\n\n## 1.2.3, 2026-12-01\n\n- A change.\n\n## 1.2.2\n\n- Old.\n"
)


def archive(file: Path, *names: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w") as entries:
        for name in names:
            entries.writestr(name, "{}")


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """What the build of version 1.2.3 leaves."""
    for page in (*release.INSTALLATION[:3], "docs/index.md", "project/Versions.scala"):
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / page).write_text('val project = "1.2.3"')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message=one")
    git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD")
    for line in release.LINES:
        stem = artifact(tmp_path, line) / f"{line}-1.2.3"
        archive(Path(f"{stem}.jar"), "io/Source.class", release.SBOM)
        archive(Path(f"{stem}-sources.jar"), "io/Source.scala")
        archive(Path(f"{stem}-javadoc.jar"), "index.html")
        Path(f"{stem}.pom").write_text(POM.format(name=line))
    for name, jars in release.distributions("1.2.3").items():
        if name.endswith(".whl"):
            archive(tmp_path / "dist" / name, *(f"kinesis_spark/jars/{jar}" for jar in jars))
            continue
        with tarfile.open(tmp_path / "dist" / name, "w:gz") as packed:
            for jar in jars:
                packed.addfile(tarfile.TarInfo(f"kinesis_spark-1.2.3/jars/{jar}"), io.BytesIO())
    return tmp_path


def artifact(root: Path, line: str) -> Path:
    return root / "dist" / "maven" / "io" / "github" / "kinesisspark" / line / "1.2.3"


def test_a_complete_build_is_laid_out_for_each_place(built: Path) -> None:
    assert list(release.faults(built, "v1.2.3")) == []
    release.lay_out(built, "v1.2.3")
    files = built / "build" / "release"
    assert (files / "notes.md").read_text() == "- A change.\n"
    assert {file.name for file in (files / "python").iterdir()} == set(release.distributions("1.2.3"))
    sums = dict(line.split("  ")[::-1] for line in (files / "files" / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {file.name for file in (files / "files").iterdir()} - {"SHA256SUMS"}
    assert {f"{line}-1.2.3.cdx.json" for line in release.LINES} < set(sums)
    assert all(sums[name] == hashlib.sha256((files / "files" / name).read_bytes()).hexdigest() for name in sums)


def test_a_release_is_refused_with_all_that_is_missing(built: Path) -> None:
    first, second, third = (artifact(built, line) for line in release.LINES)
    (first / f"{release.LINES[0]}-1.2.3-javadoc.jar").unlink()
    archive(second / f"{release.LINES[1]}-1.2.3.jar", "io/Source.class")
    pom = third / f"{release.LINES[2]}-1.2.3.pom"
    pom.write_text(pom.read_text().replace("<description>A connector</description>", ""))
    archive(built / "dist" / "kinesis_spark-1.2.3-py3-none-any.whl", "kinesis_spark/__init__.py")
    (built / "dist" / "kinesis_spark-1.2.3.tar.gz").unlink()
    assert list(release.faults(built, "v1.2.3")) == [
        "kinesis-spark-3.5_2.12-1.2.3-javadoc.jar is missing or empty",
        "kinesis-spark-3.5_2.13-1.2.3.jar has no META-INF/sbom/bom.json",
        "kinesis-spark-4_2.13-1.2.3.pom has no description",
        "kinesis_spark-1.2.3-py3-none-any.whl lacks kinesis-spark-3.5_2.12-1.2.3.jar, kinesis-spark-4_2.13-1.2.3.jar",
        "kinesis_spark-1.2.3.tar.gz is missing",
    ]


def test_the_changelog_has_a_dated_section_of_what_is_released(built: Path) -> None:
    assert "CHANGELOG.md has no section 1.2.4" in list(release.faults(built, "v1.2.4"))
    unreleased = "CHANGELOG.md calls 1.3.0 unreleased: write the date there"
    assert unreleased in list(release.faults(built, "v1.3.0"))
    assert unreleased not in list(release.faults(built, "v1.3.0", is_dry_run=True))


def test_a_release_is_refused_of_another_version_of_another_branch_and_with_pages_of_a_snapshot(built: Path) -> None:
    (built / "docs" / "index.md").write_text("kinesis_spark-1.2.3.dev0.whl")
    (built / "project" / "Versions.scala").write_text('val project = "1.2.4"')
    git(built, "commit", "--quiet", "--all", "--message=two")
    assert list(release.faults(built, "v1.2.3")) == [
        "project/Versions.scala has another version: 1.2.4",
        "docs/index.md names a snapshot",
        "the commit is not on origin/main",
    ]
    assert list(release.faults(built, "v1.2.3", is_dry_run=True)) == []


def test_a_release_is_refused_while_a_page_installs_from_a_clone(built: Path) -> None:
    (built / "docs" / "getting-started").mkdir()
    for page, text in {
        "README.md": "Version 1.2.3 is not released.",
        "python/testkit/README.md": "`pip install dist/*.whl`",
        "docs/getting-started/local.md": "The wheel is not on PyPI yet.",
        "docs/getting-started/notebook.ipynb": '"pip install \\"dist/kinesis_spark-1.2.3-py3-none-any.whl\\""',
        "docs/index.md": "`make package` leaves the JARs in dist/.",
    }.items():
        (built / page).write_text(text)
    todo = "write there how to install from PyPI and Maven Central"
    assert list(release.commit_faults(built, "1.2.3")) == [
        f"README.md has 'not released': {todo}",
        f"python/testkit/README.md has 'dist/': {todo}",
        f"docs/getting-started/local.md has 'not on PyPI': {todo}",
        f"docs/getting-started/notebook.ipynb has 'dist/': {todo}",
    ]
    assert list(release.faults(built, "v1.2.3", is_dry_run=True)) == []


def test_the_changelog_of_this_project_can_be_released() -> None:
    newest = release.sections((release.ROOT / "CHANGELOG.md").read_text())[0]
    assert re.fullmatch(r"\d+\.\d+\.\d+", newest.version)
    assert newest.text


def key_of(home: Path, passphrase: str) -> str:
    """A private key as the release's secret has it."""
    home.mkdir(mode=0o700)
    # A weak derivation, which takes no time.
    (home / "gpg-agent.conf").write_text("s2k-count 65536\n")
    gpg = [
        "gpg",
        "--batch",
        "--quiet",
        "--homedir",
        str(home),
        "--pinentry-mode",
        "loopback",
        "--passphrase",
        passphrase,
    ]
    subprocess.run([*gpg, "--quick-generate-key", "someone", "ed25519", "sign", "1d"], check=True)
    exported = subprocess.run([*gpg, "--armor", "--export-secret-keys"], stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "gpg-agent"], check=True)
    return base64.b64encode(exported).decode()


@has_gpg
def test_each_file_for_maven_central_has_a_signature_and_checksums(built: Path) -> None:
    release.lay_out(built, "v1.2.3")
    release.sign(built / "build" / "release", secret="", passphrase="")
    with zipfile.ZipFile(built / "build" / "release" / "central.zip") as bundle:
        names = bundle.namelist()
    pom = "io/github/kinesisspark/kinesis-spark-4_2.13/1.2.3/kinesis-spark-4_2.13-1.2.3.pom"
    assert {pom, f"{pom}.asc", f"{pom}.md5", f"{pom}.sha1"} < set(names)
    assert sum(name.endswith(".asc") for name in names) == sum(name.endswith((".jar", ".pom")) for name in names) == 12


@has_gpg
def test_a_key_with_a_passphrase_signs(tmp_path: Path) -> None:
    (tmp_path / "maven").mkdir()
    (tmp_path / "maven" / "a.pom").write_text("<project/>")
    # A short path: gpg-agent's socket is in it.
    with TemporaryDirectory() as folder:
        secret = key_of(Path(folder, "home"), "correct horse")
    release.sign(tmp_path, secret, "correct horse")
    assert "BEGIN PGP SIGNATURE" in (tmp_path / "maven" / "a.pom.asc").read_text()


class Central(BaseHTTPRequestHandler):
    states: tuple[str, ...] = ()
    asked: list[str]
    published = ""
    bundle: bytes

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append(f"{self.path} {self.headers['Authorization']}")
        if "upload" in self.path:
            type(self).bundle, answer = body, "28570f16"
        else:
            state, *_ = self.states
            type(self).states = self.states[1:]
            if state == "UNAVAILABLE":
                self.send_error(503)
                return
            answer = f'{{"deploymentState": "{state}", "errors": {{"a.pom": ["no signature"]}}}}'
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer.encode())

    def do_HEAD(self) -> None:
        self.send_response(200 if self.path == f"/{self.published}" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def central(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "central.zip").write_bytes(b"PK bundle")
    Central.asked = []
    with HTTPServer(("127.0.0.1", 0), Central) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_bundle_is_uploaded_and_awaited_until_it_is_published(tmp_path: Path, central: str) -> None:
    Central.states = ("PENDING", "VALIDATING", "PUBLISHING", "PUBLISHED")
    release.upload(tmp_path / "central.zip", "dG9rZW4=", central, pause_s=0)
    assert Central.asked == [
        "/api/v1/publisher/upload?name=central.zip&publishingType=AUTOMATIC Bearer dG9rZW4=",
        *["/api/v1/publisher/status?id=28570f16 Bearer dG9rZW4="] * 4,
    ]
    assert b'name="bundle"; filename="central.zip"' in Central.bundle
    assert b"\r\n\r\nPK bundle\r\n--" in Central.bundle


def test_a_status_that_cannot_be_read_is_asked_for_again(tmp_path: Path, central: str) -> None:
    Central.states = ("PENDING", "UNAVAILABLE", "PUBLISHED")
    release.upload(tmp_path / "central.zip", "dG9rZW4=", central, pause_s=0)
    assert not Central.states


def test_a_version_is_published_where_maven_central_has_its_pom(
    tmp_path: Path, central: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "maven" / "io").mkdir(parents=True)
    (tmp_path / "maven" / "io" / "a.pom").write_text("<project/>")
    assert not release.is_published(tmp_path / "maven", central)
    monkeypatch.setattr(Central, "published", "io/a.pom")
    assert release.is_published(tmp_path / "maven", central)


def test_a_refusal_of_maven_central_fails_with_its_reasons(tmp_path: Path, central: str) -> None:
    Central.states = ("VALIDATING", "FAILED")
    with pytest.raises(RuntimeError, match=r"refused deployment 28570f16: .*no signature"):
        release.upload(tmp_path / "central.zip", "dG9rZW4=", central, pause_s=0)
