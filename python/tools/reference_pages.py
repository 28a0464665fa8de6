"""Writes the parts of docs/reference that come from the Python package. `make reference` runs it."""

from __future__ import annotations

import json
from pathlib import Path

import marked

from kinesis_spark.cli.policies import USES, Resources, policy

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
STREAM = "arn:aws:kinesis:eu-west-1:111122223333:stream/orders"
CONSUMER = "orders-to-parquet"


def parts() -> dict[tuple[Path, str], str]:
    """The text of each part, by its page and name."""
    page = REFERENCE / "iam.md"
    return {
        (page, f"iam-{use}"): _json(policy(side, options, Resources(STREAM, CONSUMER)))
        for use, (side, options) in USES.items()
    }


def _json(value: object) -> str:
    return f"```json\n{json.dumps(value, indent=2)}\n```"


if __name__ == "__main__":
    for (page, name), text in parts().items():
        marked.put(page, name, text)
