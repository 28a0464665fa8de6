"""The command line, `kinesis-spark`: looks at streams, puts and tails records, and finds out why a query can't read.

It needs the extra `cli`: click (commands, arguments and their help), rich (tables) and boto3 (AWS's
own client, so that every way to log in to AWS works). It starts Spark only for `doctor` and for checkpoints elsewhere.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    try:
        from kinesis_spark.cli.commands import kinesis_spark
    except ModuleNotFoundError as missing:
        if missing.name not in ("boto3", "click", "rich"):
            raise
        raise SystemExit(
            f"The command line needs {missing.name}, which isn't installed: pip install boto3 click rich"
        ) from None
    kinesis_spark(prog_name="kinesis-spark")


__all__ = ["main"]
