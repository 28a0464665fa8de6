"""Runs the tests marked `every_spark` on versions of Spark: `python spark_versions.py WHEEL [3.5.9 4.3.0@25 ...]`.

Each version has an environment of its own below `.cache/spark-versions`, with the wheel: PySpark of PyPI, which brings
Spark's JARs. `3.5.9_2.13` is that PySpark with the JARs for Scala 2.13 of Maven Central in place of its own, and
`4.3.0@25` runs on the JVM that the environment variable JAVA_HOME_25 names.

Each test is recorded as it ends. A run that was cut off is continued by the next one with the same wheels, commit and
tests, which runs what is missing. What is recorded of a version is stored in docs/reference/compatibility.json, in
place of the one before, and the part of docs/reference/compatibility.md is made from all: versions may be run one by
one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple, TypeAlias

import marked
from versions import commit

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".cache" / "spark-versions"
REPORTS = ROOT / "build" / "spark-versions"
TESTS = ROOT / "python" / "tests"
PAGE = ROOT / "docs" / "reference" / "compatibility.md"
RESULTS = PAGE.with_suffix(".json")
PINNED = ROOT / "python" / "requirements-dev.txt"

# Queries that begin on another Spark (test_checkpoints.py) do so with these Pythons, separated as in PATH.
OTHER_PYTHONS = "KINESIS_SPARK_OTHER_PYTHONS"
# Where the tests (conftest.py) record what they have shown.
RECORD = "KINESIS_SPARK_RECORD"
TIMEOUT_S = 1800
# pytest's exit statuses: all tests passed, no tests collected.
ALL_PASSED, NONE_COLLECTED = 0, 5
NONE = "–"  # noqa: RUF001  (a dash is meant)

NOT_RUN = "not run"


class Recorded(NamedTuple):
    """A test that has ended, as `passed`, `failed` or `skipped`."""

    test: str
    shows: str
    outcome: str


# Of a version: "on" what it ran, and what it "shows".
Result: TypeAlias = dict[str, dict[str, str]]
# What the example of payloads takes from Python.
PAYLOADS = ("fastavro", "protobuf")
# As in the Makefile: most of these JVMs are gone before the optimizing compiler's work would pay.
SHORT_JVM = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"


@dataclass(frozen=True)
class Run:
    """A version of Spark, and the Python and Java to test it with.

    Attributes:
        java: the version, where it isn't the one that PATH or JAVA_HOME has.
        after: versions of Spark from whose checkpoints a query continues; those without an environment are left out.
        is_brief: whether the longest test, which kills executors, is left to other versions.
    """

    spark: str
    python: str
    scala: str = ""
    java: str = ""
    after: tuple[str, ...] = ()
    is_brief: bool = False

    @property
    def name(self) -> str:
        """As the command line has it."""
        return self.spark + (f"_{self.scala}" if self.scala else "") + (f"@{self.java}" if self.java else "")

    @property
    def home(self) -> Path:
        """Its environment; a run on another Java shares it."""
        return ENVIRONMENTS / self.name.partition("@")[0]


# The first and the newest patch of each line: the first with the oldest Python that both sides take, the newest with
# the newest.
RUNS = (
    Run("3.5.0", python="3.9", is_brief=True),
    Run("3.5.9", python="3.11", after=("3.5.0",)),
    Run("3.5.9", python="3.11", scala="2.13", is_brief=True),
    Run("3.5.9", python="3.11", java="21", is_brief=True),
    Run("4.0.0", python="3.9", after=("3.5.9",), is_brief=True),
    Run("4.0.5", python="3.12", after=("4.0.0",)),
    Run("4.1.0", python="3.10", after=("4.0.5",), is_brief=True),
    Run("4.1.4", python="3.13", after=("3.5.9",)),
    Run("4.2.0", python="3.11", after=("4.1.4",), is_brief=True),
    Run("4.2.1", python="3.13", after=("4.0.0",), is_brief=True),
    Run("4.3.0", python="3.13", after=("3.5.9", "4.0.0", "4.2.1"), is_brief=True),
    Run("4.3.0", python="3.13", java="25", is_brief=True),
)


def interpreter(version: str) -> str:
    """A Python of this version: on PATH, or one of pyenv's or uv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    installed = sorted(pyenv.glob(f"versions/{version}.*/bin/python"))
    for python in (shutil.which(f"python{version}"), *map(str, installed)):
        # A shim of pyenv is on PATH also where it leads nowhere.
        if python and subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0:
            return python
    if uv := shutil.which("uv"):
        found = subprocess.run([uv, "python", "find", version], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.strip()
    raise FileNotFoundError(f"There is no Python {version}: install it, or `pyenv install {version}`.")


def environment(run: Run, wheels: list[Path]) -> Path:
    """The Python of an environment that has this Spark and the wheels."""
    python = run.home / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    if not (run.home / ".installed").exists():
        subprocess.run([interpreter(run.python), "-m", "venv", "--clear", str(run.home)], check=True)
        # The pinned pytest needs a later Python than the oldest here.
        constraints = run.home / "constraints.txt"
        constraints.write_text(re.sub(r" \\\n +--hash=\S+", "", PINNED.read_text()))
        pins = [] if run.python == "3.9" else ["-c", str(constraints)]
        subprocess.run([*pip, "pytest", *PAYLOADS, *pins], check=True)
        subprocess.run([*pip, f"pyspark{extra(run.spark)}=={run.spark}"], check=True)
        if run.scala:
            replace_jars(run, python)
        (run.home / ".installed").touch()
    # Another run of this one may be at it.
    stamp, state = run.home / ".wheels", "".join(f"{wheel} {wheel.stat().st_mtime_ns}\n" for wheel in wheels)
    if stamp.exists() and stamp.read_text() == state:
        return python
    subprocess.run([*pip, "--force-reinstall", "--no-deps", *map(str, wheels)], check=True)
    if run.scala:
        # The wheel has the JARs for the Sparks of PyPI alone.
        (jar,) = (ROOT / "dist").glob(f"kinesis-spark-{run.spark.rpartition('.')[0]}_{run.scala}-*.jar")
        shutil.copy(jar, site_packages(python) / "kinesis_spark" / "jars")
    stamp.write_text(state)
    return python


def extra(spark: str) -> str:
    """With what Spark Connect needs where PySpark brings a server, and Declarative Pipelines where it has them."""
    line = tuple(map(int, spark.split(".")[:2]))
    return "[pipelines]" if line >= (4, 1) else "[connect]" if line >= (4, 0) else ""


def site_packages(python: Path) -> Path:
    """Where a Python has its packages."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout.strip())


def replace_jars(run: Run, python: Path) -> None:
    """Put the JARs of another build of Spark into PySpark, as Maven resolves them."""
    jars = site_packages(python) / "pyspark" / "jars"
    pom = run.home / "pom.xml"
    pom.write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>spark</groupId><artifactId>jars</artifactId>"
        f"<version>1</version><dependencies><dependency><groupId>org.apache.spark</groupId>"
        f"<artifactId>spark-sql_{run.scala}</artifactId><version>{run.spark}</version></dependency></dependencies></project>"
    )
    shutil.rmtree(jars)
    subprocess.run(
        ["mvn", "-q", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={jars}"], check=True
    )


def run_tests(run: Run, wheels: list[Path]) -> bool:
    """Run the tests, and store what they have shown; whether the version is good.

    Tests that an earlier run with the same wheels, commit and tests has recorded are left out, unless they failed.
    """
    record, log = (REPORTS / f"{run.name}.{suffix}" for suffix in ("jsonl", "log"))
    python = environment(run, wheels)
    # Tasks have the driver's Python.
    variables = {**os.environ, "PYSPARK_PYTHON": str(python), "JAVA_TOOL_OPTIONS": SHORT_JVM, RECORD: str(record)}
    if run.java:
        variables["JAVA_HOME"] = os.environ[f"JAVA_HOME_{run.java}"]
    before = [other for other in RUNS if other.name in run.after and (other.home / ".installed").exists()]
    if before:
        variables[OTHER_PYTHONS] = os.pathsep.join(str(environment(other, wheels)) for other in before)
    on = {**circumstances(python, variables), "continues from": ", ".join(other.spark for other in before) or NONE}
    state = state_of(on["commit"], wheels)
    if not record.exists() or record.read_text().partition("\n")[0] != state:
        record.write_text(f"{state}\n")
    # Modules without such tests may need a later Python than this one. The clusters take longest and come last.
    modules = sorted(TESTS.rglob("test_*.py"), key=lambda module: (module.parent != TESTS, module))
    files = [str(module.relative_to(ROOT)) for module in modules if "every_spark" in module.read_text()]
    command = [
        *(str(python), "-m", "pytest", "-c", "python/pyproject.toml"),
        *("-m", "every_spark", *files),
        *(("-k", "not executors_are_killed") if run.is_brief else ()),
        *(f"--deselect={test.test}" for test in recorded(record) if test.outcome != "failed"),
    ]
    status = None
    with log.open("w") as out:
        try:
            status = subprocess.run(
                command, cwd=ROOT, stdout=out, stderr=out, env=variables, timeout=TIMEOUT_S, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            pass
        finally:
            tests = recorded(record)
            if tests:
                with stored() as all_results:
                    shows = {
                        what: verdict({test.outcome for test in tests if test.shows == what}) for _, what, _ in tests
                    }
                    all_results[run.name] = {"on": on, "shows": shows}
    passed, failed = (sum(test.outcome == outcome for test in tests) for outcome in ("passed", "failed"))
    end = f"cut off after {TIMEOUT_S} s" if status is None else f"pytest's exit status {status}"
    print(f"Spark {run.name}: {passed} passed, {failed} failed, {end}; {log.relative_to(ROOT)}", flush=True)
    # Without a collected test, all that pass are recorded by earlier runs.
    return status in (ALL_PASSED, NONE_COLLECTED) and passed > 0 and failed == 0


def state_of(commit: str, wheels: list[Path]) -> str:
    """What the record of a run is valid for: the commit, the wheels, and the tests with changes since the commit."""
    tests = hashlib.sha256()
    for file in sorted(TESTS.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            content = file.read_bytes()
            tests.update(f"{file.relative_to(TESTS)} {len(content)}\n".encode() + content)
    return json.dumps([commit, *(f"{wheel.name} {wheel.stat().st_mtime_ns}" for wheel in wheels), tests.hexdigest()])


def recorded(record: Path) -> list[Recorded]:
    """The tests that have ended, each as it ended last."""
    tests = [Recorded(*json.loads(line)) for line in record.read_text().splitlines()[1:]]
    return list({(test.test, test.shows): test for test in tests}.values())


def verdict(outcomes: set[str]) -> str:
    """What the table says of the tests of one thing."""
    if "failed" in outcomes:
        return "**fails**"
    return "yes" if "passed" in outcomes else NONE


@contextmanager
def stored() -> Iterator[dict[str, Result]]:
    """The results of all versions, to be changed; the page is made from them. Another run may end at the same time."""
    with (REPORTS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        results: dict[str, Result] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        yield results
        known = {run.name: results[run.name] for run in RUNS if run.name in results}
        RESULTS.write_text(json.dumps(known, indent=2) + "\n")
        marked.put(PAGE, "results", part(known))


def circumstances(python: Path, variables: dict[str, str]) -> dict[str, str]:
    """What a run ran on, and when."""

    def said(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        return (done.stdout + done.stderr).strip()

    java = Path(variables["JAVA_HOME"], "bin", "java") if variables.get("JAVA_HOME") else "java"
    version = re.search(r'version "([\d.]+)', said(str(java), "-version"))
    return {
        "python": said(str(python), "--version").removeprefix("Python "),
        "java": version.group(1) if version else "",
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "commit": commit(),
    }


def table(results: dict[str, Result]) -> str:
    """What each version ran, in Markdown: a row for each thing that tests show, a column for each version."""
    runs = [run for run in RUNS if run.name in results]
    rows = sorted({what for result in results.values() for what in result["shows"]})
    facts = ("java", "python", "date", "commit", "continues from")
    return "\n".join(
        [
            f"| | {' | '.join(run.spark for run in runs)} |",
            "|---" * (len(runs) + 1) + "|",
            f"| Scala | {' | '.join(scala_of(run) for run in runs)} |",
            *(
                f"| {fact.capitalize()} | {' | '.join(results[run.name]['on'][fact] for run in runs)} |"
                for fact in facts
            ),
            *(
                f"| {what} | {' | '.join(results[run.name]['shows'].get(what, NOT_RUN) for run in runs)} |"
                for what in rows
            ),
        ]
    )


def scala_of(run: Run) -> str:
    """Spark's own on PyPI, if the run has no other."""
    return run.scala or ("2.12" if run.spark.startswith("3.") else "2.13")


def part(results: dict[str, Result]) -> str:
    """What the page says of the results: the table, and which versions have none."""
    missing = [
        f"{run.spark} (Scala {scala_of(run)}{f', Java {run.java}' if run.java else ''})"
        for run in RUNS
        if run.name not in results
    ]
    return f"Not run yet: {', '.join(missing) or 'none'}.\n\n{table(results)}"


def main() -> None:
    """Ends with status 1 if a version fails or none is run. What is recorded is stored, also when a signal ends it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    wheels = [Path(argument).resolve() for argument in sys.argv[1:] if argument.endswith(".whl")]
    names = [argument for argument in sys.argv[1:] if not argument.endswith(".whl")]
    known = {run.name: run for run in RUNS}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"{', '.join(unknown)}: there is {', '.join(known)}")
    REPORTS.mkdir(parents=True, exist_ok=True)
    runs = [known[name] for name in names or known]
    failed, left_out = [], []
    for run in runs:
        if run.java and not os.environ.get(f"JAVA_HOME_{run.java}"):
            print(f"Spark {run.name}: left out, JAVA_HOME_{run.java} is not set", flush=True)
            left_out.append(run)
        elif not run_tests(run, wheels):
            failed.append(run.name)
    if failed:
        sys.exit(f"failed on Spark {', '.join(failed)}")
    if left_out == runs:
        sys.exit("No version was tested: set the variables named above to the JDKs' homes.")


if __name__ == "__main__":
    main()
