"""The ways in, each a script that starts with nothing but what its first lines name and ends with a query's rows."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pyspark
import pytest
from programs import outside_make

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

pytestmark = [pytest.mark.slow, pytest.mark.jvm]


def way_in(script: str, folder: Path) -> str:
    """What a script prints."""
    spark = Path(pyspark.__file__).parent / "bin"
    environment = {**outside_make(), "PATH": f"{spark}:{os.environ['PATH']}"}
    done = subprocess.run(
        [str(HERE / "newcomer" / script), str(ROOT), str(folder)],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_a_clone_leads_to_exact_counts_in_one_command(tmp_path: Path) -> None:
    assert re.search(r"EXACT: [\d,]+ events in [\d,]+ groups, each counted once", way_in("from-clone.sh", tmp_path))


def test_the_wheel_leads_to_a_batch_of_twelve_rows(tmp_path: Path) -> None:
    printed = way_in("from-wheel.sh", tmp_path)
    assert printed.count("|customer-") == 12


def test_jar_and_packages_lead_to_rows_in_python_and_scala(tmp_path: Path) -> None:
    printed = way_in("from-packages.sh", tmp_path)
    assert printed.count("customers: 3") == 2
    assert "orders: 24" in printed
