"""README.md says what the code does: its options table is the connector's, its Python is Python."""

from __future__ import annotations

import re
from pathlib import Path

from pyspark.sql import SparkSession

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_readme_has_the_connector_s_options_table(spark: SparkSession) -> None:
    assert spark._jvm is not None
    table: str = spark._jvm.io.github.kinesisspark.config.OptionDocs.markdown()
    assert table.strip() in README.read_text(), "run `make readme`"


def test_python_examples_of_the_readme_compile() -> None:
    examples = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert examples
    for example in examples:
        compile(example, str(README), "exec")
