"""Writes the options table of README.md from the connector's own definitions; a test fails while it is not current."""

from __future__ import annotations

from pathlib import Path

import marked

from kinesis_spark import session

README = Path(__file__).resolve().parents[2] / "README.md"


def main() -> None:
    """Ask the JVM, write the file."""
    spark = session.builder("options table", "local[1]").config("spark.ui.enabled", "false").getOrCreate()
    assert spark._jvm is not None  # noqa: S101, SLF001  (there is one unless this is Spark Connect)
    table = spark._jvm.io.github.kinesisspark.config.OptionDocs.markdown()  # noqa: SLF001
    marked.put(README, "options", table)
    spark.stop()


if __name__ == "__main__":
    main()
