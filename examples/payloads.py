"""Writes orders as JSON, Avro or Protobuf to a stream of a local server, and reads them back.

    python examples/payloads.py --payload json
    python examples/payloads.py --payload avro --by python
    spark-submit --packages org.apache.spark:spark-avro_2.13:<version> ... examples/payloads.py --payload avro
    spark-submit --packages org.apache.spark:spark-protobuf_2.13:<version> ... examples/payloads.py --payload protobuf

Spark's modules for Avro and Protobuf come by `--packages` in Spark's version. The packages `fastavro` and `protobuf` of
Python write and read the same bytes on any Spark, in functions that take longer. Executors need them, too.
"""

from __future__ import annotations

import argparse
from typing import Any

from orders import SCHEMA
from pyspark.sql import Column, Row
from pyspark.sql import functions as F  # noqa: N812

from kinesis_spark import LocalKinesis, read_batch, session, write_batch

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


def codec(payload: str, by: str) -> tuple[Column, Column]:
    """How an order becomes data, and data an order."""
    fields, data = F.struct("order", "customer", "total"), F.col("data")
    if payload == "json":
        return F.to_json(fields), F.from_json(data.cast("string"), SCHEMA)
    if by == "python":
        encode, decode = avro_in_python() if payload == "avro" else protobuf_in_python()
        return F.udf(encode, "binary")(fields), F.udf(decode, SCHEMA)(data)
    if payload == "avro":
        from pyspark.sql.avro.functions import from_avro, to_avro

        return to_avro(fields, AVRO), from_avro("data", AVRO)
    from pyspark.sql.protobuf.functions import from_protobuf, to_protobuf

    described = descriptor()
    written = to_protobuf(fields, "Order", binaryDescriptorSet=described)
    return written, from_protobuf(data, "Order", binaryDescriptorSet=described)


def avro_in_python() -> tuple[Any, Any]:
    """An order's bytes, and the order of bytes, by fastavro."""
    import json
    from io import BytesIO

    from fastavro import schemaless_reader, schemaless_writer

    schema = json.loads(AVRO)

    def encode(order: Row) -> bytes:
        out = BytesIO()
        schemaless_writer(out, schema, order.asDict())
        return out.getvalue()

    def decode(data: bytes) -> Any:  # noqa: ANN401  (what the schema has)
        return schemaless_reader(BytesIO(data), schema, None)

    return encode, decode


def protobuf_in_python() -> tuple[Any, Any]:
    """The same by protobuf. With a module that `protoc --python_out` has made, the class comes from there."""
    from google.protobuf import descriptor_pool, message_factory
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    described = descriptor()

    def order_class() -> Any:  # noqa: ANN401  (made at runtime)
        # The pool is the worker's: the first order of a worker brings the file into it.
        pool = descriptor_pool.Default()
        try:
            message = pool.FindMessageTypeByName("Order")
        except KeyError:
            pool.Add(FileDescriptorSet.FromString(described).file[0])
            message = pool.FindMessageTypeByName("Order")
        return message_factory.GetMessageClass(message)

    def encode(order: Row) -> bytes:
        written: bytes = order_class()(**order.asDict()).SerializeToString()
        return written

    def decode(data: bytes) -> tuple[int, str, float]:
        order = order_class().FromString(data)
        return order.order, order.customer, order.total

    return encode, decode


def main() -> None:
    """Write, read back, print, and end."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--payload", choices=["json", "avro", "protobuf"], default="json")
    parser.add_argument(
        "--by", choices=["spark", "python"], default="spark", help="Spark's module, or Python's package"
    )
    given = parser.parse_args()
    spark = session.builder("payloads").getOrCreate()
    encoded, decoded = codec(given.payload, given.by)
    orders = spark.range(1, 11).selectExpr(
        "int(id) AS order", "concat('customer-', id % 3) AS customer", "id / 2 AS total"
    )
    rows = orders.select(encoded.alias("data"), F.col("customer").alias("partitionKey"))
    with LocalKinesis({STREAM: 1}) as kinesis:
        write_batch(rows, kinesis.sink_options(STREAM))
        read = read_batch(spark, kinesis.options(STREAM)).select(decoded.alias("order"))
        for row in read.select("order.*").orderBy("order").collect():
            print(f"{given.payload}: order {row['order']} of {row['customer']}, total {row['total']}")
    spark.stop()


if __name__ == "__main__":
    main()
