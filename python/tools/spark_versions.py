"""Runs the tests marked `every_spark` on versions of PySpark: `python spark_versions.py WHEEL [3.5.9 4.3.0 ...]`.

Each version has an environment of its own below `.cache/spark-versions`, with the wheel. Without versions it runs on
the first and the newest patch of each line, and writes the table in docs/reference/compatibility.md.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from junit import Failed, Passed, shown

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".cache" / "spark-versions"
REPORTS = ROOT / "build" / "spark-versions"
PAGE = ROOT / "docs" / "reference" / "compatibility.md"
PINNED = ROOT / "python" / "requirements-dev.txt"

# The first and the newest patch of each line.
VERSIONS = ("3.5.0", "3.5.9", "4.0.0", "4.0.5", "4.1.0", "4.1.4", "4.2.0", "4.2.1", "4.3.0")

TIMEOUT_S = 1800


def interpreter(version: str) -> str:
    """A Python that this PySpark runs on: 3.5 knows none later than 3.11."""
    if version.startswith("3.") and sys.version_info >= (3, 12):
        return shutil.which("python3.11") or shutil.which("python3.10") or sys.executable
    return sys.executable


def environment(version: str, wheel: Path) -> Path:
    """The Python of an environment that has this PySpark and the wheel."""
    place = ENVIRONMENTS / version
    python = place / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    if not (place / ".installed").exists():
        subprocess.run([interpreter(version), "-m", "venv", "--clear", str(place)], check=True)
        subprocess.run([*pip, f"pyspark=={version}", "pytest", "-c", str(PINNED)], check=True)
        (place / ".installed").touch()
    subprocess.run([*pip, "--force-reinstall", "--no-deps", str(wheel)], check=True)
    return python


def run(version: str, wheel: Path) -> bool:
    """Run the tests and leave a report; whether all passed."""
    report = REPORTS / f"{version}.xml"
    log = REPORTS / f"{version}.log"
    report.unlink(missing_ok=True)
    python = environment(version, wheel)
    with log.open("w") as out:
        subprocess.run(
            [
                *(
                    str(python),
                    "-m",
                    "pytest",
                    "-c",
                    "python/pyproject.toml",
                    "-m",
                    "every_spark and not awaits_engine",
                ),
                *("-o", "junit_family=xunit1", f"--junit-xml={report}", "python/tests"),
            ],
            cwd=ROOT,
            stdout=out,
            stderr=out,
            timeout=TIMEOUT_S,
            check=False,
        )
    outcomes = [outcome for _, outcome in shown(report)] if report.exists() else []
    passed, failed = (sum(isinstance(o, kind) for o in outcomes) for kind in (Passed, Failed))
    print(f"Spark {version}: {passed} passed, {failed} failed; {log.relative_to(ROOT)}", flush=True)
    return passed > 0 and failed == 0


def table() -> str:
    """What each version ran, as a table of Markdown: a row for each version, a column for what tests show."""
    reports = {version: REPORTS / f"{version}.xml" for version in VERSIONS}
    results = {version: shown(report) for version, report in reports.items() if report.exists()}
    columns = list(dict.fromkeys(what for tests in results.values() for what, _ in tests))

    def cell(version: str, what: str) -> str:
        outcomes = [outcome for shows, outcome in results[version] if shows == what]
        if any(isinstance(outcome, Failed) for outcome in outcomes):
            return "**fails**"
        return "yes" if any(isinstance(outcome, Passed) for outcome in outcomes) else ""

    head = [f"| Spark | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    rows = [f"| {version} | {' | '.join(cell(version, what) for what in columns)} |" for version in results]
    return "\n".join([*head, *rows])


def write_page() -> None:
    """Replace the table between the page's marks."""
    before, begin, rest = PAGE.read_text().partition("<!-- results -->\n")
    _, end, after = rest.partition("<!-- end of results -->")
    PAGE.write_text(f"{before}{begin}{table()}\n{end}{after}")


def main() -> None:
    """Ends with status 1 if any version fails."""
    wheel, versions = Path(sys.argv[1]).resolve(), sys.argv[2:]
    REPORTS.mkdir(parents=True, exist_ok=True)
    failed = [version for version in versions or VERSIONS if not run(version, wheel)]
    if not versions:
        write_page()
    if failed:
        sys.exit(f"failed on Spark {', '.join(failed)}")


if __name__ == "__main__":
    main()
