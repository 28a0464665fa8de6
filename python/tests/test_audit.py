"""`make audit` finds vulnerabilities of the libraries in JARs and of Python packages; OSV's answers are canned."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import audit
import pytest

NETTY = "pkg:maven/io.netty/netty-codec-http2@4.1.90.Final"
UJSON = "pkg:maven/com.lihaoyi/ujson_2.13@4.3.2"
URLLIB3 = "pkg:pypi/urllib3@1.26.0"
# As OSV has them, shortened.
ADVISORIES: dict[str, dict[str, Any]] = {
    "GHSA-xpw8-rcwv-8f8p": {
        "id": "GHSA-xpw8-rcwv-8f8p",
        "summary": "io.netty:netty-codec-http2 vulnerable to HTTP/2 Rapid Reset Attack",
        "affected": [
            {
                "package": {"ecosystem": "Maven", "purl": "pkg:maven/io.netty/netty-codec-http2"},
                "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "4.1.100.Final"}]}],
            },
            {
                "package": {"ecosystem": "Maven", "purl": "pkg:maven/org.eclipse.jetty.http2/http2-common"},
                "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "9.3.0"}, {"fixed": "9.4.53"}]}],
            },
        ],
    },
    "PYSEC-2021-108": {"id": "PYSEC-2021-108", "details": "An issue was discovered in urllib3.\nMore.", "affected": []},
}
# For each library and page: its vulnerabilities, and the next page.
PAGES: dict[str, dict[str | None, tuple[list[str], str | None]]] = {
    NETTY: {None: (["GHSA-xpw8-rcwv-8f8p"], None)},
    URLLIB3: {None: ([], "2"), "2": (["PYSEC-2021-108"], None)},
}


class Osv(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        self.answer({"results": [self.result(**query) for query in asked]})

    def result(self, package: dict[str, str], page_token: str | None = None) -> dict[str, Any]:
        ids, more = PAGES.get(package["purl"], {}).get(page_token, ([], None))
        found = {"vulns": [{"id": each, "modified": "2026-01-01T00:00:00Z"} for each in ids]} if ids else {}
        return {**found, **({"next_page_token": more} if more else {})}

    def do_GET(self) -> None:
        self.answer(ADVISORIES[self.path.rpartition("/")[2]])

    def answer(self, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def osv() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Osv) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def jar(folder: Path, *purls: str) -> Path:
    file = folder / "connector.jar"
    with zipfile.ZipFile(file, "w") as entries:
        entries.writestr(audit.SBOM, json.dumps({"components": [{"purl": purl} for purl in purls]}))
    return file


def test_libraries_merged_into_a_jar_and_python_packages_are_looked_up(
    tmp_path: Path, osv: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pins = tmp_path / "requirements.txt"
    pins.write_text('# pinned\nurllib3==1.26.0; python_version < "3.11"\nsix==1.17.0\n')
    assert audit.main([jar(tmp_path, NETTY, UJSON), pins], osv) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{NETTY}: GHSA-xpw8-rcwv-8f8p, io.netty:netty-codec-http2 vulnerable to HTTP/2 Rapid Reset Attack; "
        "fixed in 4.1.100.Final",
        f"{URLLIB3}: PYSEC-2021-108, An issue was discovered in urllib3.; fixed in no version",
        "2 known vulnerabilities in 4 libraries of 2 files",
    ]


def test_an_audit_without_findings_passes(tmp_path: Path, osv: str) -> None:
    assert audit.main([jar(tmp_path, UJSON)], osv) == 0


def test_an_audit_without_an_answer_fails_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with HTTPServer(("127.0.0.1", 0), Osv) as server:
        nobody = f"http://127.0.0.1:{server.server_port}"
    assert audit.main([jar(tmp_path, UJSON)], nobody) == 2
    assert capsys.readouterr().out.startswith(f"NOT AUDITED: {nobody} did not answer")


def test_a_file_that_names_no_library_is_no_audit(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="names no library"):
        audit.libraries(jar(tmp_path))
    with zipfile.ZipFile(tmp_path / "bare.jar", "w"):
        pass
    with pytest.raises(KeyError, match=r"bom\.json"):
        audit.libraries(tmp_path / "bare.jar")
