# The commands of this project; `make` alone lists them. Needs GNU make, Java 17, Python 3.10 or later and Maven; for
# the third-party servers and pyright also Node.js. Everything else comes from PyPI, Maven Central and npm by its ordinary client.

ifneq ($(words $(CURDIR)),1)
$(error make needs a path without spaces: move the checkout out of '$(CURDIR)')
endif

PYTHON  ?= python3
SERVER  ?= testkit

# For tests of the alert rules; prometheus is beside it.
PROMTOOL := .cache/prometheus/usr/bin/promtool

VERSION := $(shell $(PYTHON) python/tools/versions.py jar)
PYTHON_VERSION := $(shell $(PYTHON) python/tools/versions.py wheel)
SPARK   := $(shell $(PYTHON) python/tools/versions.py spark)

VENV    := .venv
BIN     := $(CURDIR)/$(VENV)/bin
PIP     := $(BIN)/pip --disable-pip-version-check --quiet
RUFF    := $(BIN)/ruff
STRICT  := $(BIN)/mypy --config-file $(CURDIR)/python/pyproject.toml --cache-dir $(CURDIR)/.cache/mypy

# Beside .venv, for tests of Spark Connect alone.
CONNECT := $(CURDIR)/.cache/spark-connect
# The same for tests of the pages about platforms.
PLATFORMS := $(CURDIR)/.cache/platforms

CONNECTOR_JAR := kinesis-spark-4_2.13-$(VERSION).jar
SPARK35_JARS  := kinesis-spark-3.5_2.12-$(VERSION).jar kinesis-spark-3.5_2.13-$(VERSION).jar
TESTKIT_JAR   := kinesis-spark-testkit-$(VERSION).jar
# A tag changes the version and no source: JARs of each version have a stamp of their own.
JARS_STAMP    := dist/.jars-$(VERSION)
SPARK35_STAMP := dist/.spark35-jars-$(VERSION)
WHEEL         := dist/kinesis_spark-$(PYTHON_VERSION)-py3-none-any.whl
SDIST         := dist/kinesis_spark-$(PYTHON_VERSION).tar.gz
# The test server, a distribution of its own.
SERVER_WHEEL  := dist/kinesis_spark_local-$(PYTHON_VERSION)-py3-none-any.whl
# With the connector for Spark 4 alone: the loops build no other.
TEST_WHEEL    := build/wheel/kinesis_spark-$(PYTHON_VERSION)-py3-none-any.whl

# What the JARs and the wheel are made from: none is built again while its sources stand. Folders are among these: one changes
# when a file in it is removed.
PAPERS         := LICENSE NOTICE THIRD-PARTY.txt
SCALA_SOURCES  := build.sbt $(PAPERS) $(wildcard project/*.scala project/*.sbt project/build.properties) \
                  $(shell find connector/src/main testkit/src/main)
WHEEL_PAPERS   := $(foreach folder,python python/testkit,$(PAPERS:%=$(folder)/%))
PYTHON_SOURCES := $(WHEEL_PAPERS) python/pyproject.toml python/hatch_build.py python/README.md \
                  $(shell find python/testkit python/kinesis_spark -name __pycache__ -prune -o -print)
# Made before a wheel, as Python would make them later and so change the folders.
BYTECODE       := $(addsuffix __pycache__,$(sort $(dir $(filter %.py,$(PYTHON_SOURCES)))))
# The chaos harness: a package of Python, and classes of the integration tests that kill a query's driver at a given point. A
# query in Scala, which Python tests run, comes in the same JAR.
CHAOS          := integration-tests/chaos
CHAOS_JAR      := build/chaos.jar
CHAOS_SOURCES  := build.sbt $(wildcard $(addprefix integration-tests/src/test/scala/io/github/kinesisspark/it/,chaos chaos/*.scala realtime realtime/*.scala))
PYTHON_CODE    := python examples integration-tests/servers benchmarks/peers/boto3-source $(CHAOS)
PYTHON_TESTS   := python/tests examples $(CHAOS)

# Each is taken up by mypy as a program of its own; what they import is analysed once.
MYPY_ROOTS := python examples integration-tests/servers benchmarks/peers/boto3-source

# Runs a step of a loop, prints how long it took, and records a failure for the summary.
FAILED_STEPS ?= build/failed-steps.txt
STEP    = t=$$(date +%s); step() { "$$@" && echo "== $@: done in $$(($$(date +%s) - t)) s" || { echo "== $@: FAILED"; echo $@ >> $(FAILED_STEPS); exit 1; }; }; step
SUMMARY := $(PYTHON) python/tools/summary.py
# As in build.sbt: these JVMs are gone before the optimizing compiler's work would pay. The archive of Spark's classes is
# mapped where a JVM's class path is Spark's.
CLASSES   := $(CURDIR)/$(VENV)/spark.jsa
SHORT_JVM := -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC
PYTEST  := env "JAVA_TOOL_OPTIONS=$(SHORT_JVM) -XX:SharedArchiveFile=$(CLASSES) -Xlog:cds=off -Xlog:cds+dynamic=off" \
  $(BIN)/pytest -c python/pyproject.toml --no-header
# Without failures and reasons: the loop's summary has them.
LOOP_PYTEST := $(PYTEST) --no-summary -rN

# Two sbt can't work in one directory at a time: with -j, only the loops run recipes side by side.
ifndef TEST_LOOP
.NOTPARALLEL:
endif
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup lock package reproducible golden publish-local check test test-all suite-seconds chaos fuzz simulate vectors test-versions test-aws test-aws-clean \
  lint format demo bench bench-beside-sdk bench-first-record bench-quotas bench-scale bench-containers bench-beside-kafka bench-latency bench-micro-batches bench-peers docs reference pictures notebook audit release-files release-central release-dry-run clean \
  jars wheel classes scala benchmarks ruff mypy pytest-check pytest-chaos pytest-cluster pytest-session pytest-slow pytest-partitions concurrency try-step

help: ## list these commands
	@echo "kinesis-spark $(VERSION), for Spark $(SPARK)"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-19s  %s\n", $$1, $$2 }' Makefile

setup: $(VENV)/.installed ## make .venv with PySpark and the tools, pinned; quick the second time

$(VENV)/.installed: python/requirements-dev.txt examples/demo/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -r python/requirements-dev.txt
	$(PIP) install --no-deps -r examples/demo/requirements.txt
	touch $@

LOCK := build/lock/bin/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-header --no-annotate

# uv resolves for each Python and system at once; pip alone installs what it wrote.
lock: ## pin the Python packages of each requirements-*.in, by version and hash; UPGRADE=--upgrade takes the newest
	$(PYTHON) -m venv build/lock
	build/lock/bin/pip --disable-pip-version-check --quiet install uv==0.13.9
	echo pyspark==$(SPARK) > build/lock/spark.txt
	$(LOCK) $(UPGRADE) --constraint build/lock/spark.txt python/requirements-dev.in --output-file python/requirements-dev.txt
	for name in python/requirements-connect python/requirements-platforms python/requirements-release examples/demo/requirements; do \
	  $(LOCK) --no-deps $$name.in --output-file $$name.txt || exit 1; done

$(CONNECT)/.installed: python/requirements-connect.txt $(VENV)/.installed
	rm -rf $(CONNECT)
	$(PIP) install --no-deps --target $(CONNECT) -r $<
	touch $@

$(PLATFORMS)/.installed: python/requirements-platforms.txt $(VENV)/.installed
	rm -rf $(PLATFORMS)
	$(PIP) install --no-deps --target $(PLATFORMS) -r $<
	touch $@

$(PROMTOOL): | python/tools/prometheus.py
	@$(PYTHON) $| $(CURDIR)/.cache/prometheus

$(CLASSES): $(VENV)/.installed python/tools/class_archive.py
	JAVA_TOOL_OPTIONS="$(SHORT_JVM)" $(BIN)/python python/tools/class_archive.py $@ > $@.log 2>&1
	touch $@

package: $(WHEEL) $(SERVER_WHEEL) $(SDIST) ## leave the JARs for each line of Spark, the wheels and the source distribution in dist/
	@ls -l dist/*.jar dist/*.whl dist/*.tar.gz

# Anew, as JARs that were built before a commit have the commit before it in them.
reproducible: ## build the last commit again elsewhere: the same bytes, and contents as python/tests/artifacts.txt has them
	rm -f $(JARS_STAMP) $(SPARK35_STAMP)
	$(MAKE) package
	$(BIN)/python python/tools/reproducible.py
	PYTHONPATH=$(CURDIR)/python $(PYTEST) python/tests/test_artifacts.py

# A release runs it once. Files of versions that were released stay as they are.
golden: $(WHEEL) $(SERVER_WHEEL) ## write checkpoints of this version on each line of Spark, which later versions are tested with, into python/tests/golden
	$(BIN)/python python/tools/golden.py $(VERSION:-SNAPSHOT=) $(WHEEL) $(SERVER_WHEEL)

# What a recipe leaves in dist, of any version.
of-any-version = $(subst $(VERSION),*,$(subst $(PYTHON_VERSION),*,$@ $(1)))

# WITH=integrationTests/Test/packageBin has the same start of sbt build the chaos harness's JAR.
$(JARS_STAMP): $(SCALA_SOURCES)
	./sbt connector/assembly connector/makePom testkit/assembly $(WITH)
	mkdir -p dist build
	rm -f $(call of-any-version,dist/$(CONNECTOR_JAR) dist/$(TESTKIT_JAR))
	cp connector/target/*/$(CONNECTOR_JAR:.jar=.pom) build/
	cp connector/target/*/$(CONNECTOR_JAR) testkit/target/scala-2.13/$(TESTKIT_JAR) dist/
	$(if $(WITH),$(collect-chaos))
	touch $@

$(SPARK35_STAMP): $(SCALA_SOURCES)
	./sbt connector2_12Spark35/assembly connectorSpark35/assembly
	mkdir -p dist
	rm -f $(call of-any-version,$(addprefix dist/,$(SPARK35_JARS)))
	cp $(foreach jar,$(SPARK35_JARS),connector/target/*/$(jar)) dist/
	touch $@

publish-local: ## leave the artifacts of all lines of Spark, as Maven Central takes them, in dist/maven
	rm -rf dist/maven
	./sbt allLines/publish

$(CHAOS_JAR): $(CHAOS_SOURCES)
	./sbt integrationTests/Test/packageBin
	$(collect-chaos)

collect-chaos = mkdir -p build && cp integration-tests/target/scala-2.13/kinesis-spark-integration-tests_2.13-$(VERSION)-tests.jar $(CHAOS_JAR)

$(WHEEL_PAPERS): $(PAPERS)
	cp $(@F) $@

BUILD := $(BIN)/python -m hatchling build

$(WHEEL) $(SDIST) $(SERVER_WHEEL) $(TEST_WHEEL): | $(BYTECODE)

$(BYTECODE):
	mkdir -p $@

$(WHEEL): $(JARS_STAMP) $(SPARK35_STAMP) $(PYTHON_SOURCES) $(VENV)/.installed
	rm -f $(of-any-version)
	cd python && $(BUILD) --target wheel --directory ../dist
	touch $@

$(SDIST): $(JARS_STAMP) $(SPARK35_STAMP) $(PYTHON_SOURCES) $(VENV)/.installed
	rm -f $(of-any-version)
	cd python && $(BUILD) --target sdist --directory ../dist
	touch $@

$(SERVER_WHEEL): $(JARS_STAMP) $(PYTHON_SOURCES) $(VENV)/.installed
	rm -f $(of-any-version)
	cd python/testkit && $(BUILD) --target wheel --directory ../../dist
	touch $@

$(TEST_WHEEL): $(JARS_STAMP) $(PYTHON_SOURCES) $(VENV)/.installed
	rm -rf $(dir $@)
	cd python && WHEEL_JARS=kinesis-spark-4_2.13 $(BUILD) --target wheel --directory ../$(dir $@)
	touch $@

# The tests and the demo run on the wheel as users get it, not on the source tree.
$(VENV)/.wheel: $(TEST_WHEEL) $(SERVER_WHEEL) $(VENV)/.installed
	$(PIP) install --force-reinstall --no-deps $(TEST_WHEEL) $(SERVER_WHEEL)
	touch $@

# Three loops. Each does all it can, prints a summary with what failed last, and fails if anything did. What a test JVM
# prints is in build/logs.
BEGIN = rm -rf build/logs build/test-reports $(FAILED_STEPS) build/summary.txt; mkdir -p build/logs
STEPS = $(MAKE) --no-print-directory --keep-going --jobs=6
# The summary judges the run: it knows each step that failed, and a step that is due and has not run needs one that failed.
JUDGED = || [ -s $(FAILED_STEPS) ] || echo make >> $(FAILED_STEPS)
QUICK_STEPS := ruff mypy pytest-check
BUILD_STEPS := jars wheel classes
TEST_STEPS  := $(QUICK_STEPS) $(BUILD_STEPS) scala benchmarks pytest-chaos pytest-cluster pytest-session

check: ## 2 minutes, more at first: formats, types, and all tests of one module, without a Spark session
	@$(BEGIN)
	@TEST_LOOP=check $(STEPS) scala $(QUICK_STEPS) $(JUDGED)
	@$(SUMMARY) "integration tests, and Python tests with a JVM: make test"

test: ## 15 minutes on two quiet cores, 25 at first: what CI runs; all of `check`, Spark queries, kinesis-local, one seed of chaos
	@$(BEGIN)
	@TEST_LOOP=test $(STEPS) $(TEST_STEPS) $(JUDGED)
	@$(SUMMARY) "LocalStack, and conformance of kinesis-local: make test-all" "rare faults, large backlogs, long chaos: make test-all" \
	  "tests on other versions of Spark: make test-all" "concurrency suites in optimized code: make test-all"

test-all: ## hours: all of `test`, every local server, slow tests, long chaos, other Sparks, optimized code
	@$(BEGIN)
	@TEST_LOOP=all KINESIS_TARGETS=all $(STEPS) $(TEST_STEPS) $(JUDGED)
	@$(if $(LONG_STEPS),$(MAKE) --no-print-directory --keep-going $(LONG_STEPS) $(JUDGED))
	@$(SUMMARY) "AWS itself: not run yet"

suite-seconds: ## keep the times of the last run's Scala suites, by which `make test` spreads them over test JVMs
	@sed -nE 's/^errors=.* name="([A-Za-z0-9_.]*\.)?([A-Za-z0-9]+)" .* time="([0-9]+).*/\2 \3/p' build/test-reports/*/TEST-*.xml | awk '$$1 ~ /(Spec|Test)$$/ && $$2 > 9' | sort -u -k1,1 > project/suite-seconds.txt

# Steps of the loops, which run side by side as far as what they need allows. MAKEFLAGS is for the make above a step.
STEP_MAKE = MAKEFLAGS= $(MAKE) --no-print-directory
# All else waits for sbt, so short steps leave it the CPU.
BESIDE_SBT := nice -n 10

jars:
	@$(STEP) sh -c '$(STEP_MAKE) $(JARS_STAMP) WITH=integrationTests/Test/packageBin && $(STEP_MAKE) $(CHAOS_JAR)'

wheel: jars $(VENV)/.installed
	@$(STEP) env $(STEP_MAKE) $(VENV)/.wheel

classes: $(VENV)/.installed
	@$(STEP) $(BESIDE_SBT) env $(STEP_MAKE) $(CLASSES)

# The connector for older Sparks is compiled in `make test`; those of its tests that don't need Spark 4 run in `make test-all`.
SCALA_test := allLines/compile
SCALA_all  := allLines/test

# Two sbt can't work in one directory at a time.
scala: $(if $(filter-out check,$(TEST_LOOP)),jars)
	@$(STEP) ./sbt "all scalafmtCheckAll scalafmtSbtCheck test" $(SCALA_$(TEST_LOOP))

# Those of peers need hundreds of megabytes of Flink and others.
BENCHMARKS_all := peers/compile

benchmarks: jars
	@$(STEP) $(BESIDE_SBT) ./sbt -C benchmarks compile bare/compile $(BENCHMARKS_$(TEST_LOOP))

ruff: $(VENV)/.installed
	@$(STEP) $(BESIDE_SBT) sh -c '$(RUFF) format --config python/pyproject.toml --check $(PYTHON_CODE) && \
	  $(RUFF) check --config python/pyproject.toml $(PYTHON_CODE)'

# mypy and the quick tests take the source tree, so that nothing has to be built before.
mypy: $(VENV)/.installed
	@export MYPYPATH=$(CURDIR)/python; $(STEP) $(BESIDE_SBT) sh -c 'for root in $(MYPY_ROOTS); do (cd $$root && $(STRICT) .) || exit 1; done; \
	  cd $(dir $(CHAOS)) && $(STRICT) $(notdir $(CHAOS))'

# For the test of STEP.
try-step:
	@$(STEP) $(TRY)

pytest-check: $(VENV)/.installed $(PROMTOOL)
	@export PYTHONPATH=$(CURDIR)/python; $(STEP) $(BESIDE_SBT) $(LOOP_PYTEST) -m "not jvm and not slow" \
	  --junit-xml=build/test-reports/$@/report.xml $(PYTHON_TESTS)

# Three groups side by side, the longest tests first: chaos and the examples, clusters and other programs, and the tests that
# share a Spark session.
CHAOS_GROUP   := $(CHAOS) python/tests/test_jar.py python/tests/test_session.py examples
CLUSTER_GROUP := python/tests/cluster python/tests/test_local.py
IN_TEST       := "jvm and not slow"
# The Scala suites, the clusters and the shared session take longest and mostly wait, so they come first where all want the CPU.
BEHIND        := nice -n 5

pytest-chaos: wheel classes
	@$(STEP) $(BEHIND) $(LOOP_PYTEST) -m $(IN_TEST) --junit-xml=build/test-reports/$@/report.xml $(CHAOS_GROUP)

pytest-cluster: wheel classes
	@$(STEP) $(LOOP_PYTEST) -m $(IN_TEST) --junit-xml=build/test-reports/$@/report.xml $(CLUSTER_GROUP)

pytest-session: wheel classes
	@$(STEP) $(LOOP_PYTEST) -m $(IN_TEST) --junit-xml=build/test-reports/$@/report.xml python/tests \
	  $(addprefix --ignore=,$(filter python/tests/%,$(CHAOS_GROUP) $(CLUSTER_GROUP)))

pytest-slow: wheel classes $(CONNECT)/.installed $(PLATFORMS)/.installed $(PROMTOOL)
	@$(STEP) $(PYTEST) -m slow --junit-xml=build/test-reports/$@/report.xml $(PYTHON_TESTS)

# Cut networks, as root: without root, ip or nft the tests skip themselves. What root writes is in a folder of the user's.
AS_ROOT = $(if $(filter-out 0,$(shell id -u)),sudo --preserve-env=JAVA_HOME env "PATH=$$PATH" PYTHONDONTWRITEBYTECODE=1)

pytest-partitions: wheel classes
	@ip -V && nft --version
	@mkdir -p build/test-reports/$@
	@$(STEP) $(AS_ROOT) $(PYTEST) -p no:cacheprovider --junit-xml=build/test-reports/$@/report.xml python/tests/cluster/test_partitions.py

# What `make test-all` has beside the tests, one after the other: each measures its processes or loads the machine.
# long-versions is last: it writes tracked pages, and long-reproducible needs a clean tree.
LONG_STEPS := pytest-slow concurrency long-starts long-chaos long-reproducible long-versions

# Suites about threads, readers, subscriptions and buffers, in code that the optimizing compiler has made.
concurrency: jars
	@export TEST_LOOP=concurrency; $(STEP) ./sbt connector/test testkit/test

long-%:
	@$(STEP) sh -c '$(STEP_MAKE) $(LONG_$*) > build/logs/$*.log 2>&1'

LONG_starts         := chaos STARTS=500
LONG_chaos          := chaos
LONG_versions       := test-versions
LONG_reproducible   := reproducible

# A seed decides all faults; it is printed and can be given: SEED=... `make test` plays one fixed seed.
chaos: $(VENV)/.wheel $(CHAOS_JAR) ## kill and disturb a query for MINUTES=30; SEED=7 or 7.3 replays, STARTS=500 restarts it in one JVM, ONLY=polling|fan-out, STRICT=1
	cd $(dir $(CHAOS)) && $(BIN)/python -m chaos --minutes $(or $(MINUTES),30) $(if $(SEED),--seed $(SEED)) $(if $(STARTS),--starts $(STARTS)) $(if $(ONLY),--only $(ONLY)) $(if $(STRICT),--strict)

# SUITES=conformance,reading,batch,sink (default), exactness, smoke. ENDPOINT=https://... and TRUST_STORE=... name another server.
test-aws: ## conformance, source and sink on AWS in REGION=...: prints the cost, refuses above BUDGET=4000 shard-minutes
	@REGION=$(REGION) BUDGET=$(BUDGET) SUITES=$(SUITES) ENDPOINT=$(ENDPOINT) TRUST_STORE=$(TRUST_STORE) \
	  ./sbt "integrationTests/Test/runMain io.github.kinesisspark.it.aws.TestAws"

test-aws-clean: ## list and delete streams of test-aws that a crash left in REGION=...; PREFIX=kst-... for those of one run
	@REGION=$(REGION) PREFIX=$(PREFIX) ENDPOINT=$(ENDPOINT) TRUST_STORE=$(TRUST_STORE) \
	  ./sbt "integrationTests/Test/runMain io.github.kinesisspark.it.aws.TestAwsClean"

# Findings are left in fuzz/target/fuzz/<target>/findings; `make test` tries the inputs that are kept in fuzz/corpus.
fuzz: ## coverage-guided fuzzing of all that is read from others, for MINUTES=20; ONLY=offset,polled,... for some
	MINUTES=$(or $(MINUTES),20) ONLY=$(ONLY) ./sbt "fuzz/runMain io.github.kinesisspark.fuzz.Fuzz"

# One world after the other, in virtual time, each from a seed, which prints and replays a failure.
simulate: ## the engine in simulated worlds under faults: new seeds for SECONDS=30; SEED=7 replays one, SHOW=1 prints its events; COVERAGE=file has what runs reached, and adds to it
	./sbt "simulation/run $(if $(SEED),seed=$(SEED)) $(if $(SECONDS),seconds=$(SECONDS)) $(if $(SHOW),show=events) $(if $(COVERAGE),coverage=$(abspath $(COVERAGE)))"

# Vectors come from packages by name, and nothing of them is kept here. Only this target needs npm and Go.
vectors: ## test vectors of other projects through the decoders: RFC 8949, JSONTestSuite, event streams; needs npm and Go
	rm -rf build/vectors
	node fuzz/vectors.mjs build/vectors
	./sbt "fuzz/runMain io.github.kinesisspark.fuzz.Vectors $(CURDIR)/build/vectors"

# Each version is a download of 400 MB, which stays in .cache. A run of all of them writes docs/reference/compatibility.md.
test-versions: $(WHEEL) $(SERVER_WHEEL) $(CHAOS_JAR) ## the tests marked `every_spark` on the first and newest patch of each line of Spark, or on VERSIONS="3.5.9 4.3.0"
	$(BIN)/python python/tools/spark_versions.py $(WHEEL) $(SERVER_WHEEL) $(VERSIONS)

lint: ruff mypy ## formats and types of Scala and Python, without tests
	./sbt "all scalafmtCheckAll scalafmtSbtCheck"

format: $(VENV)/.installed ## bring Scala and Python into form
	$(RUFF) format --config python/pyproject.toml $(PYTHON_CODE)
	$(RUFF) check --config python/pyproject.toml --fix $(PYTHON_CODE)
	./sbt "all scalafmtAll scalafmtSbt"

demo: $(VENV)/.wheel ## a query killed on the way counts real events exactly; SERVER=kinesis-local on that server
	$(BIN)/python examples/demo/demo.py --server $(SERVER)

SECONDS_EACH ?= 60

# The directory of Spark, for executors: as Spark's own scripts find it.
SPARK_SCRIPTS = SPARK_SCALA_VERSION=2.13 SPARK_HOME=$(shell $(BIN)/python -c "import pyspark; print(pyspark.__path__[0])")

bench-latency: $(JARS_STAMP) $(VENV)/.installed ## latency by polling and fan-out beside the bare SDK: JSON lines, and docs/evidence/latency.md's figures
	$(SPARK_SCRIPTS) ./sbt -C benchmarks "runMain io.github.kinesisspark.benchmarks.latency.Latency $(SECONDS_EACH) $(CURDIR)/benchmarks/target/latency.jsonl"
	$(BIN)/python python/tools/latency_page.py benchmarks/target/latency.jsonl docs/evidence/latency.md

BENCH_RESULTS = benchmarks/results/$(shell date +%F)-$(shell git rev-parse --short=12 HEAD).jsonl

# A run of some measurements is printed alone; a whole one is kept, in the place of an earlier one of the same commit and day.
bench: $(JARS_STAMP) $(VENV)/.installed ## what writing, planning, latency, memory and a stream that is read all day cost, against the goals: JSON lines, benchmarks/results and docs/evidence/performance.md; ONLY=sink,planning for some, MINUTES=12 for the most important first
ifeq ($(ONLY),)
	rm -f $(BENCH_RESULTS)
	MINUTES=$(MINUTES) $(SPARK_SCRIPTS) ./sbt -C benchmarks "runMain io.github.kinesisspark.benchmarks.Bench $(CURDIR)/$(BENCH_RESULTS)"
	$(BIN)/python python/tools/performance_page.py benchmarks/results docs/evidence/performance.md
else
	rm -f benchmarks/target/bench.jsonl
	MINUTES=$(MINUTES) $(SPARK_SCRIPTS) ./sbt -C benchmarks "runMain io.github.kinesisspark.benchmarks.Bench $(CURDIR)/benchmarks/target/bench.jsonl $(ONLY)"
endif

# Each setting takes some minutes, in which nothing else may run. Its line replaces an earlier one of the same commit and day.
bench-beside-sdk: $(VENV)/.wheel ## a catch-up and a sink of PySpark beside the SDK alone in its best form, taking turns: JSON lines, benchmarks/results and docs/evidence/performance.md; ONLY=polling-16,cold for some
	./sbt -C benchmarks bare/classPathFile
	$(BIN)/python python/tools/beside_sdk.py --results $(basename $(BENCH_RESULTS))-beside-sdk.jsonl $(ONLY)
	$(BIN)/python python/tools/beside_sdk_page.py benchmarks/results docs/evidence/performance.md

bench-first-record: $(VENV)/.wheel ## how long a query takes from its start to its first records: JSON lines, benchmarks/results and docs/evidence/performance.md; ONLY=polling for some
	$(BIN)/python python/tools/first_record.py --results $(basename $(BENCH_RESULTS))-first-record.jsonl --page docs/evidence/performance.md $(ONLY)

bench-quotas: $(VENV)/.wheel ## what a query reads of what shards allow, alone and beside other pollers: JSON lines, benchmarks/results and docs/evidence/performance.md; ONLY=fan-out for some
	./sbt -C benchmarks bare/classPathFile
	$(BIN)/python python/tools/quotas.py --results $(basename $(BENCH_RESULTS))-quotas.jsonl --page docs/evidence/performance.md $(ONLY)

bench-scale: $(VENV)/.wheel ## what a query takes with 1 to 10,000 shards and 1 to 4 executors (Linux): JSON lines, benchmarks/results and docs/evidence/scale.md; ONLY=polling for some
	$(BIN)/python python/tools/scale.py --results $(basename $(BENCH_RESULTS))-scale.jsonl --page docs/evidence/scale.md $(ONLY)

bench-containers: $(VENV)/.wheel ## memory of an executor in a cgroup (Linux, as root) while a backlog waits: JSON lines, benchmarks/results and docs/evidence/scale.md; ONLY=efo for some
	./sbt -C benchmarks bare/classPathFile
	$(BIN)/python python/tools/containers.py --results $(basename $(BENCH_RESULTS))-containers.jsonl --page docs/evidence/scale.md $(ONLY)

# Maven Central has no Spark 4.3, whose real-time mode has operators with state.
SPARK43 := $(CURDIR)/.cache/pyspark-4.3.0

$(SPARK43)/.installed: $(VENV)/.installed
	rm -rf $(SPARK43)
	$(PIP) install --no-deps --target $(SPARK43) pyspark==4.3.0
	touch $@

bench-beside-kafka: $(VENV)/.wheel $(SPARK43)/.installed ## latency of real-time queries from Kafka to Kafka and from Kinesis to Kinesis, taking turns: JSON lines, benchmarks/results and docs/evidence/latency.md; ONLY=stateless for some
	./sbt -C benchmarks besideKafka/classPathFile
	$(BIN)/python python/tools/beside_kafka.py --spark $(SPARK43)/pyspark/jars --server dist/$(TESTKIT_JAR) --results $(basename $(BENCH_RESULTS))-beside-kafka.jsonl --page docs/evidence/latency.md $(ONLY)

bench-micro-batches: $(VENV)/.wheel ## latency and idle cost of micro-batches as PySpark sees them, local and on a cluster: JSON lines, and docs/evidence/latency.md's table
	$(BIN)/python python/tools/micro_batches.py --page docs/evidence/latency.md

# pyarrow, which PySpark needs for data sources in Python, is beside .venv. The page shows what was measured, even where a reader has failed.
PEERS         := io.github.kinesisspark.benchmarks.peers.Peers
PEERS_FILE    = $(if $(ONLY),benchmarks/target/peers.jsonl,$(basename $(BENCH_RESULTS))-peers.jsonl)

bench-peers: $(JARS_STAMP) $(VENV)/.installed $(CONNECT)/.installed ## catch-up, CPU and latency beside Flink, the KCL and a Python source over boto3: JSON lines, benchmarks/results and docs/evidence/peers.md; ONLY=connector,flink,boto3,kcl for some; begins nothing after MINUTES=30
	rm -f $(PEERS_FILE)
	MINUTES=$(or $(MINUTES),30) PYTHONPATH=$(CONNECT):$(CURDIR)/benchmarks/peers/boto3-source \
	  ./sbt -C benchmarks peers/classPathFile "runMain $(PEERS) $(CURDIR)/$(PEERS_FILE) $(CURDIR)/benchmarks/peers $(BIN)/python $(ONLY)"; \
	  measured=$$?; $(if $(ONLY),,$(BIN)/python python/tools/peers_page.py benchmarks/results docs/evidence/peers.md &&) exit $$measured

docs: $(VENV)/.installed ## build the documentation's site anew in build/site, with every link checked
	$(BIN)/python python/tools/docs_site.py

pictures: $(VENV)/.installed ## draw the pictures of docs/pictures that need no measurement
	$(BIN)/python python/tools/pictures.py

notebook: $(VENV)/.wheel ## run the notebook of the documentation, and keep what it prints
	$(BIN)/python python/tools/notebook.py

reference: $(VENV)/.installed ## write the generated parts of docs/reference anew: options, columns, metrics, AWS calls, IAM policies, command line
	KINESIS_SPARK_WRITE_DOCS=1 ./sbt "connector/testOnly *ReferencePagesSpec" "integrationTests/testOnly *ServerOptionsPageSpec"
	PYTHONPATH=$(CURDIR)/python $(BIN)/python python/tools/reference_pages.py

# Needs api.osv.dev. Python packages alone: make audit JARS=
JARS = $(addprefix dist/,$(CONNECTOR_JAR) $(SPARK35_JARS) $(TESTKIT_JAR))

audit: $(if $(JARS),$(JARS_STAMP) $(SPARK35_STAMP)) ## known vulnerabilities, at OSV, of the libraries in the JARs and of the Python packages
	$(PYTHON) python/tools/audit.py $(JARS) python/requirements-*.txt examples/demo/requirements.txt

# TAG=v1.2.3. A workflow calls the first two of these targets on a tag; DRY_RUN takes a version that is not released yet.
RELEASE := $(PYTHON) python/tools/release.py

release-files: package publish-local ## check what a release under TAG=v1.2.3 consists of, and lay it out in build/release
	$(RELEASE) files $(TAG) $(if $(DRY_RUN),--dry-run)
	$(PYTHON) -m venv build/twine
	build/twine/bin/pip --disable-pip-version-check --quiet install --no-deps -r python/requirements-release.txt
	build/twine/bin/twine check --strict build/release/python/*

release-central: ## sign build/release/maven and publish it on Maven Central; needs the key and the login of the release workflow
	$(RELEASE) sign
	$(RELEASE) upload

# In a clone of the last commit, with a tag and a key that nothing else sees.
DRY_CLONE := build/dry-run

release-dry-run: $(VENV)/.installed ## try a release of the last commit as far as that needs no secret and no upload
	rm -rf $(DRY_CLONE)
	git clone --quiet . $(DRY_CLONE)
	mkdir -p .cache
	ln -s $(CURDIR)/.cache $(CURDIR)/$(VENV) $(DRY_CLONE)/
	touch $(VENV)/.installed
	tag=$$($(RELEASE) next) && git -C $(DRY_CLONE) tag --force $$tag && \
	  $(MAKE) -C $(DRY_CLONE) reproducible release-files TAG=$$tag DRY_RUN=1
	cd $(DRY_CLONE) && $(RELEASE) sign --throwaway-key
	@echo "Tried: build, checks and signatures of $(DRY_CLONE)/build/release. Not tried: the workflow itself, provenance by"
	@echo "attestation, the real key, uploads to Maven Central and PyPI with their own checks, the release on GitHub, Pages."

clean: ## remove what was built, but not .venv and .cache, which only cost time to fetch again
	rm -rf dist build target */target */*/target */*/*/target .sbt spark-warehouse metastore_db derby.log
	rm -f $(VENV)/.wheel $(WHEEL_PAPERS)
