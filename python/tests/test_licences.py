"""The licences of all that is in the JARs, and of what the extras of the package bring, against the allowed ones."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from kinesis_spark import jars

ROOT = Path(__file__).resolve().parents[2]
PAPERS = ("LICENSE", "NOTICE", "THIRD-PARTY.txt")
ALLOWED = {"Apache-2.0", "MIT", "MIT-0", "BSD-2-Clause", "BSD-3-Clause", "PSF-2.0", "HPND"}
EXTRAS = (
    "boto3",
    "botocore",
    "click",
    "jmespath",
    "markdown-it-py",
    "mdurl",
    "Pygments",
    "rich",
    "s3transfer",
    "urllib3",
)
# Packages that name their licence in words of their own.
WORDS = {
    "Apache License 2.0": "Apache-2.0",
    "Apache-2.0 License": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
}


def third_party() -> dict[str, str]:
    text = (ROOT / "THIRD-PARTY.txt").read_text()
    return dict(re.findall(r"^([a-z][\w.-]+) {2,}([\w.-]+) {2,}", text, re.MULTILINE))


def test_every_library_that_third_party_names_has_an_allowed_licence() -> None:
    named = third_party()
    assert {"software.amazon.awssdk", "io.netty", "com.google.protobuf"} <= set(named)
    assert {group: licence for group, licence in named.items() if licence not in ALLOWED} == {}


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("file", "library"),
    [(jars.connector_jar, "netty-codec-http2"), (jars.testkit_jar, "slf4j-simple")],
    ids=["connector", "server"],
)
def test_a_jar_has_the_licence_files_which_name_every_library_in_it(file: Callable[[], Path], library: str) -> None:
    with zipfile.ZipFile(file()) as jar:
        parts = json.loads(jar.read("META-INF/sbom/bom.json"))["components"]
        for paper in PAPERS:
            assert jar.read(f"META-INF/{paper}") == (ROOT / paper).read_bytes(), paper
    assert {part["group"] for part in parts} - set(third_party()) == set()
    assert library in {part["name"] for part in parts}


@pytest.mark.parametrize("package", EXTRAS)
def test_what_the_extras_bring_has_an_allowed_licence(package: str) -> None:
    about = metadata.metadata(package)
    names = ("License-Expression", "License", "Classifier")
    told = [text.rpartition(" :: ")[2] for name in names for text in about.get_all(name) or []]
    assert {WORDS.get(text, text) for text in told} & ALLOWED, told
