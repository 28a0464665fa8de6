"""The first query of docs/getting-started/local.md."""

from kinesis_spark import LocalKinesis, Record, read_stream, session

spark = session.builder("first", "local[2]").getOrCreate()
with LocalKinesis({"orders": 2}) as kinesis:
    kinesis.put_records("orders", [Record(f"customer-{n % 3}", b'{"total": %d}' % n) for n in range(12)])
    orders = read_stream(spark, kinesis.options("orders"))
    totals = orders.selectExpr("partitionKey AS customer", "get_json_object(CAST(data AS STRING), '$.total') AS total")
    query = totals.writeStream.format("console").trigger(availableNow=True).start()
    query.awaitTermination()
spark.stop()
