"""Makes an archive of Spark's classes, which JVMs of tests map instead of loading each: `python class_archive.py FILE`.

It spares each driver and executor about half of its start. A JVM with another class path runs without it.
https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

BATCHES = 3


def main(archive: Path) -> None:
    """Run what loads the classes that tests use; the JVM writes them down when it ends."""
    os.environ["JAVA_TOOL_OPTIONS"] = f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} -XX:ArchiveClassesAtExit={archive}"
    builder = SparkSession.builder.master("local[2]").appName("class archive")
    spark = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with TemporaryDirectory() as directory:
        rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
        doubled = udf(lambda value: value * 2, "bigint")

        def write(batch: DataFrame, number: int) -> None:
            batch.groupBy("value").count().write.json(f"{directory}/{number}")
            batch.select(doubled("value")).collect()

        query = rows.writeStream.foreachBatch(write).option("checkpointLocation", f"{directory}/checkpoint").start()
        while len(query.recentProgress) < BATCHES and query.isActive:
            query.awaitTermination(1)
        query.stop()
        spark.range(10).createOrReplaceTempView("ten")
        spark.sql("select count(*) from ten").collect()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
