"""The licences of all that is in the JARs, and of what the extras of the package bring, against the allowed ones."""

from __future__ import annotations

import json
import re
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from kinesis_spark.jars import connector_jar

ROOT = Path(__file__).resolve().parents[2]
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
    return dict(re.findall(r"^([a-z][\w.]+) {2,}([\w.-]+) {2,}", text, re.MULTILINE))


def test_every_library_that_third_party_names_has_an_allowed_licence() -> None:
    named = third_party()
    assert {"software.amazon.awssdk", "io.netty", "com.google.protobuf"} <= set(named)
    assert {group: licence for group, licence in named.items() if licence not in ALLOWED} == {}


@pytest.mark.jvm
def test_every_library_in_the_jar_is_named_with_its_licence() -> None:
    with zipfile.ZipFile(connector_jar()) as jar:
        groups = {part["group"] for part in json.loads(jar.read("META-INF/sbom/bom.json"))["components"]}
    # Spark brings Scala, which the list has as the code's own requirement.
    assert groups - set(third_party()) == {"org.scala-lang"}


@pytest.mark.parametrize("package", EXTRAS)
def test_what_the_extras_bring_has_an_allowed_licence(package: str) -> None:
    about = metadata.metadata(package)
    names = ("License-Expression", "License", "Classifier")
    told = [text.rpartition(" :: ")[2] for name in names for text in about.get_all(name) or []]
    assert {WORDS.get(text, text) for text in told} & ALLOWED, told
