"""The parts of docs/reference that come from the Python package are current; ReferencePagesSpec checks the others."""

from __future__ import annotations

from pathlib import Path

import marked
import pytest
import reference_pages


@pytest.mark.parametrize(("page", "name"), reference_pages.parts(), ids=lambda value: getattr(value, "name", value))
def test_a_generated_part_is_current(page: Path, name: str) -> None:
    assert marked.get(page, name) == reference_pages.parts()[page, name], "run `make reference`"
