# The commands of this project; `make` alone lists them. Needs GNU make, Java 17, Python 3.10 or later, sbt or Maven; for
# the third-party servers also Node.js. Everything else comes from PyPI, Maven Central and npm by its ordinary client.

PYTHON  ?= python3
SERVER  ?= testkit
MINUTES ?=
SEED    ?=
OLDER   ?= 4.0.2 4.1.2
ONLY    ?=
STARTS  ?= 500

VERSION := $(shell $(PYTHON) python/tools/versions.py project)
SPARK   := $(shell $(PYTHON) python/tools/versions.py spark)

VENV    := .venv
BIN     := $(CURDIR)/$(VENV)/bin
PIP     := $(BIN)/pip --disable-pip-version-check --quiet
RUFF    := $(BIN)/ruff
STRICT  := $(BIN)/mypy --config-file $(CURDIR)/python/pyproject.toml

CONNECTOR_JAR := kinesis-spark_2.13-$(VERSION).jar
TESTKIT_JAR   := kinesis-spark-testkit-$(VERSION).jar
WHEEL         := dist/kinesis_spark-$(VERSION)-py3-none-any.whl

# What the JARs and the wheel are made from: none is built again while its sources stand.
SCALA_SOURCES  := build.sbt $(wildcard project/*.scala project/*.sbt project/build.properties) \
                  $(shell find connector/src/main testkit/src/main -type f)
PYTHON_SOURCES := python/pyproject.toml python/hatch_build.py python/README.md $(shell find python/kinesis_spark -name '*.py' -o -name py.typed)
PYTHON_CODE    := python examples integration-tests/servers integration-tests/fire
# What kills a query's driver where it is told to die; part of the integration tests.
FIRE_JAR       := build/fire.jar
FIRE_SOURCES   := build.sbt $(wildcard integration-tests/src/test/scala/io/github/kinesisspark/it/fire/*.scala)

# Each is taken up by mypy as a program of its own.
MYPY_ROOTS := python examples integration-tests/servers integration-tests/fire

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup package test soak soak-efo soak-starts fuzz test-spark-versions test-aws test-aws-clean lint format demo bench-latency readme clean lint-python type-python scalatest pytest

help: ## list these commands
	@echo "kinesis-spark $(VERSION), for Spark $(SPARK)"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

setup: $(VENV)/.installed ## make .venv with PySpark and the tools, pinned; quick the second time

$(VENV)/.installed: python/requirements-dev.txt examples/demo/requirements.txt project/Versions.scala
	$(PYTHON) -m venv $(VENV)
	$(PIP) install pyspark==$(SPARK) -r python/requirements-dev.txt
	$(PIP) install --no-deps -r examples/demo/requirements.txt
	touch $@

package: $(WHEEL) ## leave both JARs and the wheel, which carries them, in dist/
	@ls -l dist/*.jar dist/*.whl

# `make test` has sbt build the JARs in one start with other things, and then only collects them.
define collect-jars
mkdir -p dist
cp connector/target/scala-2.13/$(CONNECTOR_JAR) testkit/target/scala-2.13/$(TESTKIT_JAR) dist/
touch dist/.jars
endef

dist/.jars: $(SCALA_SOURCES)
	./sbt connector/assembly testkit/assembly
	$(collect-jars)

define collect-fire
mkdir -p build
cp integration-tests/target/scala-2.13/kinesis-spark-integration-tests_2.13-$(VERSION)-tests.jar $(FIRE_JAR)
endef

$(FIRE_JAR): $(FIRE_SOURCES)
	./sbt integrationTests/Test/packageBin
	$(collect-fire)

$(WHEEL): dist/.jars $(PYTHON_SOURCES) $(VENV)/.installed
	rm -f dist/*.whl
	cd python && $(BIN)/python -m hatchling build --target wheel --directory ../dist
	touch $@

# The tests and the demo run on the wheel as users get it, not on the source tree.
$(VENV)/.wheel: $(WHEEL) $(VENV)/.installed
	$(PIP) install --force-reinstall --no-deps $(WHEEL)
	touch $@

test: $(VENV)/.installed ## everything that CI checks: formats, package, and side by side all Scala and Python tests
	$(MAKE) lint-python
	./sbt scalafmtCheckAll connector/assembly testkit/assembly integrationTests/Test/packageBin
	$(collect-jars)
	$(collect-fire)
	$(MAKE) package type-python
	rm -f */target/test-reports/*.xml build/pytest.xml
	$(MAKE) --jobs=2 scalatest pytest || $(PYTHON) python/tools/failures.py

scalatest:
	./sbt test

# What goes wrong is decided by a seed, which is printed and can be given: SEED=... `make test` has a short form of both.
soak: $(VENV)/.wheel $(FIRE_JAR) ## a query killed, starved and misled for MINUTES=30; SEED=7 replays a run, 7.3 one trial
	cd integration-tests && $(BIN)/python -m fire --minutes $(or $(MINUTES),30) $(if $(SEED),--seed $(SEED))

soak-efo: ## enhanced fan-out under faults, reshards and restarts for MINUTES=20, as JSON lines
	MINUTES=$(or $(MINUTES),20) SEED=$(SEED) ./sbt "integrationTests/Test/runMain io.github.kinesisspark.it.soak.SoakEfo"

soak-starts: ## STARTS=500 starts and stops of a query in one session, which must leave nothing behind, as JSON lines
	STARTS=$(STARTS) ./sbt "integrationTests/Test/runMain io.github.kinesisspark.it.soak.SoakStarts"

# SUITES=conformance,reading,batch,sink (default), exactness, smoke. ENDPOINT=https://... and TRUST_STORE=... name another server.
test-aws: ## conformance, source and sink on AWS in REGION=...: prints the cost, refuses above BUDGET=3000 shard-minutes
	@REGION=$(REGION) BUDGET=$(BUDGET) SUITES=$(SUITES) ENDPOINT=$(ENDPOINT) TRUST_STORE=$(TRUST_STORE) \
	  ./sbt "integrationTests/Test/runMain io.github.kinesisspark.it.aws.TestAws"

test-aws-clean: ## list and delete streams of test-aws that a crash left in REGION=...; PREFIX=kst-... for those of one run
	@REGION=$(REGION) PREFIX=$(PREFIX) ENDPOINT=$(ENDPOINT) TRUST_STORE=$(TRUST_STORE) \
	  ./sbt "integrationTests/Test/runMain io.github.kinesisspark.it.aws.TestAwsClean"

# Findings are left in fuzz/target/fuzz/<target>/findings; `make test` tries the inputs that are kept in fuzz/corpus.
fuzz: ## coverage-guided fuzzing of all that is read from others, for MINUTES=20; ONLY=offset,polled,... for some
	MINUTES=$(or $(MINUTES),20) ONLY=$(ONLY) ./sbt "fuzz/runMain io.github.kinesisspark.fuzz.Fuzz"

# Each version is a download of 400 MB, which stays in .cache.
test-spark-versions: $(WHEEL) ## the same JAR on OLDER="4.0.2 4.1.2" as well
	$(BIN)/python python/tools/spark_versions.py $(OLDER) $(SPARK)

lint: lint-python type-python ## formats and types of Scala and Python, without tests
	./sbt scalafmtCheckAll

format: $(VENV)/.installed ## bring Scala and Python into form
	$(RUFF) format --config python/pyproject.toml $(PYTHON_CODE)
	$(RUFF) check --config python/pyproject.toml --fix $(PYTHON_CODE)
	./sbt scalafmtAll

demo: $(VENV)/.wheel ## a query killed on the way counts real events exactly; SERVER=kinesis-local on that server
	$(BIN)/python examples/demo/demo.py --server $(SERVER)

SECONDS_EACH ?= 60

bench-latency: $(VENV)/.installed ## latency by polling and fan-out beside the bare SDK: JSON lines, and docs/latency.md's figures
	./sbt "benchmarks/runMain io.github.kinesisspark.benchmarks.latency.Latency $(SECONDS_EACH) $(CURDIR)/benchmarks/target/latency.jsonl"
	$(BIN)/python python/tools/latency_page.py benchmarks/target/latency.jsonl docs/latency.md

readme: $(VENV)/.wheel ## write the options table into README.md anew
	$(BIN)/python python/tools/options_table.py

clean: ## remove what was built, but not .venv and .cache, which only cost time to fetch again
	rm -rf dist build target project/target project/project/target */target spark-warehouse metastore_db derby.log
	rm -f $(VENV)/.wheel

lint-python: $(VENV)/.installed
	$(RUFF) format --config python/pyproject.toml --check $(PYTHON_CODE)
	$(RUFF) check --config python/pyproject.toml $(PYTHON_CODE)

type-python: $(VENV)/.wheel
	for root in $(MYPY_ROOTS); do (cd $$root && $(STRICT) .) || exit 1; done

# As in build.sbt: these JVMs are gone before the optimizing compiler's work would pay.
pytest: $(VENV)/.wheel $(FIRE_JAR)
	JAVA_TOOL_OPTIONS=-XX:TieredStopAtLevel=1 $(BIN)/pytest -c python/pyproject.toml --junit-xml=build/pytest.xml python/tests examples integration-tests/fire
