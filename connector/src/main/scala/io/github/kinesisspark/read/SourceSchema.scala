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

/** Writes the records of one shard. The row is used again for each record, as Spark's own readers do. */
private[read] final class RowWriter(shard: ShardKey) {
  private val writer     = new UnsafeRowWriter(SourceSchema.schema.size)
  private val streamName = UTF8String.fromString(shard.stream.name)
  private val shardId    = UTF8String.fromString(shard.shardId)

  def write(record: KinesisRecord): InternalRow = write(record, record.data, record.partitionKey, None, 0)

  /** @param place in the Kinesis record */
  def write(user: UserRecord, place: Long, of: KinesisRecord): InternalRow =
    write(of, user.data, user.partitionKey, user.explicitHashKey, place)

  private def write(
      record: KinesisRecord,
      data: Array[Byte],
      partitionKey: String,
      explicitHashKey: Option[BigInt],
      place: Long
  ): InternalRow = {
    writer.reset()
    writer.zeroOutNullBytes()
    writer.write(0, data)
    if (partitionKey == null) writer.setNullAt(1) else writer.write(1, UTF8String.fromString(partitionKey))
    explicitHashKey match {
      case None      => writer.setNullAt(2)
      case Some(key) => writer.write(2, UTF8String.fromString(key.toString))
    }
    writer.write(3, UTF8String.fromString(record.sequenceNumber.text))
    writer.write(4, place)
    writer.write(5, Math.multiplyExact(record.arrivalMillis, 1000L))
    writer.write(6, streamName)
    writer.write(7, shardId)
    writer.getRow
  }
}
