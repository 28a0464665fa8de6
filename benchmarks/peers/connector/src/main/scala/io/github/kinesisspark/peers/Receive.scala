package io.github.kinesisspark.peers

import org.apache.spark.sql.api.java.UDF1

/** Takes a record's data, in place of what a query would do with it. The query's sink drops the result. */
final class Receive extends UDF1[Array[Byte], Integer] {
  override def call(data: Array[Byte]): Integer = {
    Received.record(data)
    data.length
  }
}
