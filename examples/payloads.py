"""Writes orders as JSON, Avro or Protobuf to a stream, and reads them back.

    python examples/payloads.py --stream orders --region eu-west-1 --payload json
    spark-submit --packages org.apache.spark:spark-avro_2.13:<version> ... examples/payloads.py --payload avro
    spark-submit --packages org.apache.spark:spark-protobuf_2.13:<version> ... examples/payloads.py --payload protobuf

Avro and Protobuf are modules of Spark's own, which come by `--packages` in Spark's version.
"""

from __future__ import annotations

from orders import SCHEMA, arguments, service
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from kinesis_spark import read_batch, session, write_batch

AVRO = """
{"type": "record", "name": "Order", "fields": [
  {"name": "order", "type": "int"}, {"name": "customer", "type": "string"}, {"name": "total", "type": "double"}]}
"""
STREAM = "payloads"


def descriptor() -> bytes:
    """What `protoc --descriptor_set_out` makes of a message with an int32, a string and a double."""
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    files = FileDescriptorSet()
    file = files.file.add(name="order.proto", syntax="proto3")
    message = file.message_type.add(name="Order")
    kinds = (("order", Field.TYPE_INT32), ("customer", Field.TYPE_STRING), ("total", Field.TYPE_DOUBLE))
    for number, (name, kind) in enumerate(kinds, start=1):
        message.field.add(name=name, number=number, type=kind, label=Field.LABEL_OPTIONAL)
    described: bytes = files.SerializeToString()
    return described


def codec(payload: str) -> tuple[Column, Column]:
    """How an order becomes data, and data an order."""
    fields = F.struct("order", "customer", "total")
    if payload == "avro":
        from pyspark.sql.avro.functions import from_avro, to_avro

        return to_avro(fields, AVRO), from_avro("data", AVRO)
    if payload == "protobuf":
        from pyspark.sql.protobuf.functions import from_protobuf, to_protobuf

        described = descriptor()
        written = to_protobuf(fields, "Order", binaryDescriptorSet=described)
        return written, from_protobuf(F.col("data"), "Order", binaryDescriptorSet=described)
    return F.to_json(fields), F.from_json(F.col("data").cast("string"), SCHEMA)


def main() -> None:
    """Write, read back, print, and end."""
    parser = arguments(__doc__)
    parser.add_argument("--payload", choices=["json", "avro", "protobuf"], default="json")
    given = parser.parse_args()
    spark = session.builder("payloads").getOrCreate()
    encoded, decoded = codec(given.payload)
    orders = spark.range(1, 11).selectExpr(
        "int(id) AS order", "concat('customer-', id % 3) AS customer", "id / 2 AS total"
    )
    with service(given, STREAM) as kinesis:
        stream = given.stream or STREAM
        write_batch(orders.select(encoded.alias("data"), F.col("customer").alias("partitionKey")), kinesis.sink(stream))
        read = read_batch(spark, kinesis.source, stream_name=stream).select(decoded.alias("order")).select("order.*")
        for row in read.orderBy("order").collect():
            print(f"{given.payload}: order {row['order']} of {row['customer']}, total {row['total']}")
    spark.stop()


if __name__ == "__main__":
    main()
