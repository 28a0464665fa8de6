"""The notebook of the documentation runs from its first cell to its last, and counts each record once."""

from __future__ import annotations

import re
from pathlib import Path

import notebook
import pytest


@pytest.mark.slow
@pytest.mark.jvm
def test_the_notebook_counts_each_record_once_over_a_reshard_and_a_restart(tmp_path: Path) -> None:
    printed = notebook.printed(notebook.run(tmp_path))
    sent, counted, different = map(
        int, re.findall(r"(\d+) sent, (\d+) in the files, (\d+) of them different", printed)[0]
    )
    assert sent == counted == different > 0
    assert "shardId-000000000003" in printed


def test_the_notebook_is_a_page_with_what_its_cells_print() -> None:
    page = notebook.as_markdown(notebook.NOTEBOOK)
    assert page.startswith("# A stream, a reshard, a restart\n")
    assert re.search(r"```text\n.*\d+ sent, (\d+) in the files, \1 of them different\n", page, re.DOTALL), (
        "make notebook"
    )
