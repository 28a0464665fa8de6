"""The tests of the examples start Spark."""

from __future__ import annotations

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark them, so that the quick tests leave them out."""
    item.add_marker(pytest.mark.jvm)
