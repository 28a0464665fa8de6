"""Runs the tests marked `every_spark` on versions of Spark: `python spark_versions.py WHEEL [3.5.9 4.3.0@25 ...]`.

Each version has an environment of its own below `.cache/spark-versions`, with the wheel: PySpark of PyPI, which brings
Spark's JARs. `3.5.9_2.13` is that PySpark with the JARs for Scala 2.13 of Maven Central in place of its own, and
`4.3.0@25` runs on the JVM that the environment variable JAVA_HOME_25 names. The results, of former runs too, go into
the table in docs/reference/compatibility.md.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from junit import Failed, Outcome, Passed, shown

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".cache" / "spark-versions"
REPORTS = ROOT / "build" / "spark-versions"
TESTS = ROOT / "python" / "tests"
PAGE = ROOT / "docs" / "reference" / "compatibility.md"
PINNED = ROOT / "python" / "requirements-dev.txt"

# A query that begins on another Spark (test_checkpoints.py) does so with this Python.
OTHER_PYTHON = "KINESIS_SPARK_OTHER_PYTHON"
TIMEOUT_S = 1800


@dataclass(frozen=True)
class Run:
    """A version of Spark, with the Python and the Java that it is tried with.

    Attributes:
        is_brief: whether the longest test, which kills executors, is left to other patches of the line.
    """

    spark: str
    python: str
    scala: str = ""
    java: str = ""
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
# the newest. Each follows the one whose checkpoint it continues from.
RUNS = (
    Run("3.5.0", python="3.9", is_brief=True),
    Run("3.5.9", python="3.11"),
    Run("3.5.9", python="3.11", scala="2.13", is_brief=True),
    Run("4.0.0", python="3.9", is_brief=True),
    Run("4.0.5", python="3.12"),
    Run("4.1.0", python="3.10", is_brief=True),
    Run("4.1.4", python="3.13"),
    Run("4.2.0", python="3.11", is_brief=True),
    Run("4.2.1", python="3.13"),
    Run("4.3.0", python="3.13"),
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
        pins = [] if run.python == "3.9" else ["-c", str(PINNED)]
        subprocess.run([*pip, "pytest", *pins], check=True)
        # With what Spark Connect needs, where PySpark brings a server.
        subprocess.run(
            [*pip, f"pyspark[connect]=={run.spark}" if run.spark[0] == "4" else f"pyspark=={run.spark}"], check=True
        )
        if run.scala:
            replace_jars(run, python)
        (run.home / ".installed").touch()
    subprocess.run([*pip, "--force-reinstall", "--no-deps", *map(str, wheels)], check=True)
    if run.scala:
        # The wheel has the JARs for the Sparks of PyPI alone.
        (jar,) = (ROOT / "dist").glob(f"kinesis-spark-{run.spark.rpartition('.')[0]}_{run.scala}-*.jar")
        shutil.copy(jar, site_packages(python) / "kinesis_spark" / "jars")
    return python


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
    """Run the tests and leave a report with what they ran on; whether all passed."""
    report, log = (REPORTS / f"{run.name}.{suffix}" for suffix in ("xml", "log"))
    report.unlink(missing_ok=True)
    python = environment(run, wheels)
    # Tasks have the driver's Python.
    variables = {**os.environ, "PYSPARK_PYTHON": str(python)}
    if run.java:
        variables["JAVA_HOME"] = os.environ[f"JAVA_HOME_{run.java}"]
    before = [other for other in RUNS[: RUNS.index(run)] if other.home != run.home and not other.scala]
    if before and (before[-1].home / ".installed").exists():
        variables[OTHER_PYTHON] = str(environment(before[-1], wheels))
    # Modules without such tests may need a later Python than this one.
    files = [
        str(file.relative_to(ROOT)) for file in sorted(TESTS.rglob("test_*.py")) if "every_spark" in file.read_text()
    ]
    with log.open("w") as out:
        subprocess.run(
            [
                *(str(python), "-m", "pytest", "-c", "python/pyproject.toml", "-o", "junit_family=xunit1"),
                *("-m", "every_spark and not awaits_engine", f"--junit-xml={report}", *files),
                *(("-k", "not executors_are_killed") if run.is_brief else ()),
            ],
            cwd=ROOT,
            stdout=out,
            stderr=out,
            env=variables,
            timeout=TIMEOUT_S,
            check=False,
        )
    (REPORTS / f"{run.name}.json").write_text(json.dumps(circumstances(python, variables)))
    outcomes = [outcome for _, outcome in results(run)]
    passed, failed = (sum(isinstance(o, kind) for o in outcomes) for kind in (Passed, Failed))
    print(f"Spark {run.name}: {passed} passed, {failed} failed; {log.relative_to(ROOT)}", flush=True)
    return passed > 0 and failed == 0


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
        "commit": said("git", "rev-parse", "--short", "HEAD"),
    }


def results(run: Run) -> list[tuple[str, Outcome]]:
    """What the tests of the last run have shown; empty if there was none."""
    report = REPORTS / f"{run.name}.xml"
    return shown(report) if report.exists() and report.with_suffix(".json").exists() else []


def table() -> str:
    """What each version ran, in Markdown: a row for each thing that tests show, a column for each version."""
    tried = {run: results(run) for run in RUNS if results(run)}
    rows = sorted({what for tests in tried.values() for what, _ in tests})

    def cell(run: Run, what: str) -> str:
        outcomes = [outcome for shows, outcome in tried[run] if shows == what]
        if any(isinstance(outcome, Failed) for outcome in outcomes):
            return "**fails**"
        return "yes" if any(isinstance(outcome, Passed) for outcome in outcomes) else "–"  # noqa: RUF001  (a dash is meant)

    on = {run: json.loads((REPORTS / f"{run.name}.json").read_text()) for run in tried}
    facts = ("java", "python", "date", "commit")
    return "\n".join(
        [
            f"| | {' | '.join(run.spark for run in tried)} |",
            "|---" * (len(tried) + 1) + "|",
            f"| Scala | {' | '.join(scala_of(run) for run in tried)} |",
            *(f"| {fact.capitalize()} | {' | '.join(on[run][fact] for run in tried)} |" for fact in facts),
            *(f"| {what} | {' | '.join(cell(run, what) for run in tried)} |" for what in rows),
        ]
    )


def scala_of(run: Run) -> str:
    """Spark's own on PyPI, if the run has no other."""
    return run.scala or ("2.12" if run.spark.startswith("3.") else "2.13")


def write_page() -> None:
    """Replace the table between the page's marks."""
    before, begin, rest = PAGE.read_text().partition("<!-- results -->\n")
    _, end, after = rest.partition("<!-- end of results -->")
    PAGE.write_text(f"{before}{begin}{table()}\n{end}{after}")


def main() -> None:
    """Ends with status 1 if any version fails."""
    wheels = [Path(argument).resolve() for argument in sys.argv[1:] if argument.endswith(".whl")]
    names = [argument for argument in sys.argv[1:] if not argument.endswith(".whl")]
    known = {run.name: run for run in RUNS}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"{', '.join(unknown)}: there is {', '.join(known)}")
    REPORTS.mkdir(parents=True, exist_ok=True)
    runs = [known[name] for name in names or known]
    failed = []
    for run in runs:
        if run.java and f"JAVA_HOME_{run.java}" not in os.environ:
            print(f"Spark {run.name}: left out, JAVA_HOME_{run.java} is not set", flush=True)
        elif not run_tests(run, wheels):
            failed.append(run.name)
    write_page()
    if failed:
        sys.exit(f"failed on Spark {', '.join(failed)}")


if __name__ == "__main__":
    main()
