"""Runs the built connector on versions of PySpark, in an environment for each: `python spark_versions.py 4.0.2 4.1.2`.

Micro-batches have to run on all of them, real-time mode on those that have it. Each PySpark is a download of 400 MB,
kept in `.cache/spark-versions`.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".cache" / "spark-versions"
QUERY = Path(__file__).with_name("spark_version_query.py")


def environment(version: str, wheel: Path) -> Path:
    """The Python of an environment that has this PySpark and the wheel."""
    place = ENVIRONMENTS / version
    python = place / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    if not (place / ".installed").exists():
        venv.create(place, with_pip=True, clear=True)
        subprocess.run([*pip, f"pyspark=={version}"], check=True)
        (place / ".installed").touch()
    subprocess.run([*pip, "--force-reinstall", "--no-deps", str(wheel)], check=True)
    return python


def main() -> None:
    """Ends with status 1 if any version fails."""
    (wheel,) = (ROOT / "dist").glob("*.whl")
    failed = []
    for version in sys.argv[1:]:
        python = environment(version, wheel)
        done = subprocess.run([str(python), str(QUERY)], capture_output=True, text=True, timeout=300, check=False)
        print(f"Spark {version}: {done.stdout.strip() or done.stderr[-4000:]}", flush=True)
        if done.returncode != 0:
            failed.append(version)
    if failed:
        sys.exit(f"failed on Spark {', '.join(failed)}")


if __name__ == "__main__":
    main()
