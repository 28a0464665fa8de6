"""Writes the options table of README.md from the connector's own definitions; a test fails while it is not current."""

from __future__ import annotations

from pathlib import Path

from kinesis_spark import session

README = Path(__file__).resolve().parents[2] / "README.md"
BEGIN = "<!-- options: written by `make readme` -->"
END = "<!-- end of options -->"


def with_table(readme: str, table: str) -> str:
    """The text with the table between its markers.

    Raises:
        ValueError: if a marker is missing.
    """
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{README} must have the markers {BEGIN} and {END}, the table goes between them")
    return f"{before}{begin}\n\n{table.strip()}\n\n{end}{after}"


def main() -> None:
    """Ask the JVM, write the file."""
    spark = session.builder("options table", "local[1]").config("spark.ui.enabled", "false").getOrCreate()
    assert spark._jvm is not None  # noqa: S101, SLF001  (there is one unless this is Spark Connect)
    table = spark._jvm.io.github.kinesisspark.config.OptionDocs.markdown()  # noqa: SLF001
    README.write_text(with_table(README.read_text(), table))
    spark.stop()


if __name__ == "__main__":
    main()
