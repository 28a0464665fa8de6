"""Tests that the connector's JAR conflicts with no other library on the class path."""

from __future__ import annotations

import json
import re
import zipfile

import pytest

from kinesis_spark.jars import connector_jar

pytestmark = pytest.mark.jvm

OURS = ("io/github/kinesisspark/", "org/apache/spark/kinesisspark/")


def entries() -> list[str]:
    with zipfile.ZipFile(connector_jar()) as jar:
        return [name for name in jar.namelist() if not name.endswith("/")]


def test_every_class_of_the_jar_is_its_own_or_relocated() -> None:
    classes = [name for name in entries() if name.endswith(".class")]
    assert len(classes) > 1000
    assert [name for name in classes if not name.startswith(OURS)] == []


def test_classes_that_the_sdk_loads_by_name_for_a_profile_are_named_and_found_where_they_were_moved() -> None:
    loader = "software/amazon/awssdk/auth/credentials/internal/ProfileCredentialsUtils.class"
    factory = rb"(?:io\.github\.kinesisspark\.shaded\.)?software\.amazon\.awssdk\.services\.[A-Za-z.]+Factory"
    with zipfile.ZipFile(connector_jar()) as jar:
        named = {name.decode() for name in re.findall(factory, jar.read(f"io/github/kinesisspark/shaded/{loader}"))}
        present = set(jar.namelist())
    assert {name.split(".services.")[1].split(".")[0] for name in named} == {"sts", "sso", "signin"}
    assert [name for name in named if f"{name.replace('.', '/')}.class" not in present] == []


def test_the_event_stream_decoder_is_the_connector_s() -> None:
    """The SDK's library has one of this name, in Java, which takes 2 MiB of heap for each subscription."""
    decoder = "io/github/kinesisspark/shaded/software/amazon/eventstream/MessageDecoder.class"
    with zipfile.ZipFile(connector_jar()) as jar:
        assert b"MessageDecoder.scala" in jar.read(decoder)


def test_the_jar_contains_no_classes_of_spark_scala_or_slf4j() -> None:
    foreign = ("scala/", "org/slf4j/", "org/apache/spark/sql/", "org/apache/spark/internal/")
    assert [name for name in entries() if name.startswith(foreign)] == []


def test_the_jar_has_a_manifest_licences_and_a_list_of_libraries_of_its_own() -> None:
    with zipfile.ZipFile(connector_jar()) as jar:
        texts = {
            name: jar.read(name).decode() for name in jar.namelist() if name.startswith("META-INF/") and "." in name
        }
        notice, licence = jar.read("META-INF/NOTICE").decode(), jar.read("META-INF/LICENSE").decode()
    assert "Automatic-Module-Name: io.github.kinesisspark" in texts["META-INF/MANIFEST.MF"]
    assert "META-INF/INDEX.LIST" not in texts
    assert notice.startswith("kinesis-spark\n")
    assert "Apache License" in licence
    groups = {library["group"] for library in json.loads(texts["META-INF/sbom/bom.json"])["components"]}
    assert groups >= {"software.amazon.awssdk", "io.netty"}
    assert [g for g in groups if f"\n{g} " not in texts["META-INF/THIRD-PARTY.txt"]] == []


def test_service_files_name_only_classes_of_the_jar() -> None:
    with zipfile.ZipFile(connector_jar()) as jar:
        services = [name for name in jar.namelist() if name.startswith("META-INF/services/") and not name.endswith("/")]
        providers = [line for name in services for line in jar.read(name).decode().split() if not line.startswith("#")]
        present = set(jar.namelist())
    assert "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister" in services
    assert [provider for provider in providers if f"{provider.replace('.', '/')}.class" not in present] == []
