"""Looks for known vulnerabilities of libraries at OSV: `python audit.py FILE...`.

A file is a JAR, whose SBOM (META-INF/sbom/bom.json, CycloneDX) lists the libraries that were merged into it, or a list
of pinned Python packages. OSV (https://osv.dev) has the advisories of GitHub and PyPI; its API needs no key.

Exit status: 0 without a vulnerability, 1 with one, 2 if OSV did not answer, which says nothing about the libraries.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.request
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

OSV = "https://api.osv.dev"
SBOM = "META-INF/sbom/bom.json"
PIN = re.compile(r"^([\w.-]+)==([\w.!+-]+)", re.MULTILINE)
# OSV takes no more in one request.
BATCH = 1000
TIMEOUT_S = 60


def libraries(file: Path) -> set[str]:
    """Those of a JAR or a list of Python packages, as package URLs.

    Raises:
        KeyError: if a JAR has no SBOM.
        ValueError: if a file names no library.
    """
    if file.suffix == ".jar":
        with zipfile.ZipFile(file) as jar:
            found = {component["purl"] for component in json.loads(jar.read(SBOM))["components"]}
    else:
        # A name of PyPI in its one form.
        pins = [(re.sub(r"[-_.]+", "-", name).lower(), version) for name, version in PIN.findall(file.read_text())]
        found = {f"pkg:pypi/{name}@{quote(version)}" for name, version in pins}
    if not found:
        raise ValueError(f"{file} names no library")
    return found


def vulnerabilities(purls: list[str], osv: str) -> list[tuple[str, str]]:
    """Each library with the id of each of its vulnerabilities.

    Raises:
        OSError: if OSV can't be reached, or refuses.
    """
    found = []
    queries = [{"package": {"purl": purl}} for purl in purls]
    while queries:
        asked, queries = queries[:BATCH], queries[BATCH:]
        for query, result in zip(asked, ask(f"{osv}/v1/querybatch", {"queries": asked})["results"], strict=True):
            found += [(query["package"]["purl"], each["id"]) for each in result.get("vulns", [])]
            if token := result.get("next_page_token"):
                queries.append({**query, "page_token": token})
    return sorted(found)


def shown(purl: str, advisory: dict[str, Any]) -> str:
    """A vulnerability in a line: where, what, and what to take instead."""
    name = purl.partition("@")[0]
    fixed = {
        event["fixed"]
        for affected in advisory.get("affected", [])
        if affected["package"].get("purl") == name
        for versions in affected.get("ranges", [])
        for event in versions["events"]
        if "fixed" in event
    }
    what = advisory.get("summary") or advisory.get("details", "").partition("\n")[0]
    return f"{purl}: {advisory['id']}, {what}; fixed in {', '.join(sorted(fixed)) or 'no version'}"


def ask(url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """An answer of OSV."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})  # noqa: S310  (https, or a test's)
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310
        found: dict[str, Any] = json.load(answer)
    return found


def main(files: list[Path], osv: str = OSV) -> int:
    """Print what is found, and return the exit status."""
    purls = sorted(set().union(*map(libraries, files)))
    try:
        found = vulnerabilities(purls, osv)
        advisories = {each: ask(f"{osv}/v1/vulns/{each}") for each in {each for _, each in found}}
    except OSError as refused:
        print(f"NOT AUDITED: {osv} did not answer ({refused}). {len(purls)} libraries were to be looked up.")
        return 2
    for purl, each in found:
        print(shown(purl, advisories[each]))
    print(f"{len(found)} known vulnerabilities in {len(purls)} libraries of {len(files)} files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]]))
