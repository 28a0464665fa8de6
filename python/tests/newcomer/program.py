"""A program that has Spark alone, without this project's Python package: writes twelve orders, and reads them back."""

import os

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
options = {
    "streamName": "orders",
    "region": "us-east-1",
    "endpoint": os.environ["ENDPOINT"],
    "accessKeyId": "local",
    "secretAccessKey": "local",
}
rows = spark.range(12).selectExpr("concat('customer-', id % 3) AS partitionKey", "to_json(struct(id AS total)) AS data")
rows.write.format("kinesis").options(**options).mode("append").save()
read = spark.read.format("kinesis").options(**options).load()
print(f"customers: {read.select('partitionKey').distinct().count()}")  # noqa: T201
spark.stop()
