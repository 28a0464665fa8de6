package io.github.kinesisspark.read

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.github.kinesisspark.aggregation.UserRecord
import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.shard.KinesisRecord

/** The source's columns.
  *
  * `partitionKey` is null where a stream distributes records itself; `explicitHashKey` and a `subSequenceNumber` above 0
  * belong to the user records of an aggregated one.
  */
object SourceSchema {

  val schema: StructType = StructType(
    Seq(
      StructField("data", BinaryType, nullable = false),
      StructField("partitionKey", StringType),
      StructField("explicitHashKey", StringType),
      StructField("sequenceNumber", StringType, nullable = false),
      StructField("subSequenceNumber", LongType, nullable = false),
      StructField("approximateArrivalTimestamp", TimestampType, nullable = false),
      StructField("streamName", StringType, nullable = false),
      StructField("shardId", StringType, nullable = false)
    )
  )
}

/** Writes the records of one shard. The row is used again for each record, as Spark's own readers do.
  *
  * @param columns those of the schema that are wanted, in the order they are wanted in
  */
private[read] final class RowWriter(shard: ShardKey, columns: StructType) {
  import RowWriter._

  private val writer = new UnsafeRowWriter(columns.size)
  private val cells  = columns.fieldNames.zipWithIndex.map { case (name, at) => cell(name, at) }

  def write(record: KinesisRecord): InternalRow = write(UserRecord(record.data, record.partitionKey), 0, record)

  /** @param place in the Kinesis record */
  def write(user: UserRecord, place: Long, of: KinesisRecord): InternalRow = {
    writer.reset()
    writer.zeroOutNullBytes()
    cells.foreach(_.write(user, place, of))
    writer.getRow
  }

  private def cell(name: String, at: Int): Cell = {
    val streamName = UTF8String.fromString(shard.stream.name)
    val shardId    = UTF8String.fromString(shard.shardId)
    name match {
      case "data"         => (user, _, _) => writer.write(at, user.data)
      case "partitionKey" =>
        (user, _, _) =>
          if (user.partitionKey == null) writer.setNullAt(at)
          else writer.write(at, UTF8String.fromString(user.partitionKey))
      case "explicitHashKey" =>
        (user, _, _) =>
          user.explicitHashKey match {
            case None      => writer.setNullAt(at)
            case Some(key) => writer.write(at, UTF8String.fromString(key.toString))
          }
      case "sequenceNumber"    => (_, _, of) => writer.write(at, UTF8String.fromString(of.sequenceNumber.text))
      case "subSequenceNumber" => (_, place, _) => writer.write(at, place)
      case "approximateArrivalTimestamp" => (_, _, of) => writer.write(at, Math.multiplyExact(of.arrivalMillis, 1000L))
      case "streamName"                  => (_, _, _) => writer.write(at, streamName)
      case "shardId"                     => (_, _, _) => writer.write(at, shardId)
    }
  }
}

private object RowWriter {

  /** Writes one column. */
  private trait Cell {
    def write(user: UserRecord, place: Long, of: KinesisRecord): Unit
  }
}
