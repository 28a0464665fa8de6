"""A program that copies the stream `events` into `copies`, through a function that uses the user's own libraries.

Prints what the function gives on the driver, and how many records a batch read finds in the copy. With REMOTE, in a
session of Spark Connect, which is given the libraries as artifacts.
"""

import json
import os

from pyspark.sql import SparkSession
from pyspark.sql.types import StringType

from kinesis_spark import (
    EnhancedFanOut,
    KinesisOptions,
    KinesisSinkOptions,
    read_batch,
    read_stream,
    session,
    write_stream,
)

endpoint, remote = os.environ["ENDPOINT"], os.environ.get("REMOTE")
options = KinesisOptions.from_dict(json.loads(os.environ["OPTIONS"])).replace(starting_position="TRIM_HORIZON")
sink = KinesisSinkOptions.from_dict(json.loads(os.environ["SINK_OPTIONS"]))
if remote:
    spark = session.builder("isolation").config("spark.ui.enabled", "false").remote(remote).getOrCreate()
    spark.addArtifacts(*os.environ["JARS"].split(","))
else:
    spark = SparkSession.builder.getOrCreate()
    assert spark._jvm is not None
    print(f"driver: {spark._jvm.OwnLibraries().call(endpoint, 'driver')}")  # noqa: T201
spark.udf.registerJavaFunction("own_libraries", "OwnLibraries", StringType())
copied = read_stream(spark, options.replace(record_publisher=EnhancedFanOut("isolation"))).selectExpr(
    f"own_libraries('{endpoint}', CAST(data AS STRING)) AS data", "partitionKey"
)
query = write_stream(copied, sink).option("checkpointLocation", "checkpoint").trigger(availableNow=True).start()
query.awaitTermination()
print(f"copies: {read_batch(spark, options.replace(stream_name=sink.stream_name)).count()}")  # noqa: T201
spark.stop()
