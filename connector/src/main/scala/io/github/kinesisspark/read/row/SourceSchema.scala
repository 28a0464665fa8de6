package io.github.kinesisspark.read.row

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BaseGenericInternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.github.kinesisspark.aggregation.UserRecord
import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.reader.KinesisRecord

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

/** A row over a record of one shard, which encodes a column only when it is read: Spark's projection copies into its own format
  * what a query uses, and nothing else is built. The same row shows record after record, as the rows of Spark's own readers do.
  *
  * @param columns those of the schema that are wanted, in the order they are wanted in
  * @see [[https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/datasources/v2/DataSourceV2Strategy.scala DataSourceV2Strategy.withProjectAndFilter]],
  *     which puts an unsafe projection above each scan that is not columnar
  */
private[read] final class RecordRow(shard: ShardKey, columns: StructType) extends BaseGenericInternalRow {
  import RecordRow._

  private val kinds      = columns.fieldNames.map(SourceSchema.schema.fieldIndex)
  private val streamName = UTF8String.fromString(shard.stream.name)
  private val shardId    = UTF8String.fromString(shard.shardId)

  private var record: KinesisRecord = _
  private var data: Array[Byte]     = _
  private var user                  = Option.empty[UserRecord]
  private var place                 = 0L

  /** A record that is not taken apart. */
  def show(next: KinesisRecord): InternalRow = {
    record = next
    data = null
    user = None
    place = 0
    this
  }

  /** @param at place in the Kinesis record */
  def show(part: UserRecord, at: Long, of: KinesisRecord): InternalRow = {
    record = of
    data = part.data
    user = Some(part)
    place = at
    this
  }

  override def numFields: Int = kinds.length

  override def isNullAt(column: Int): Boolean = kinds(column) match {
    case PartitionKey    => user.isEmpty && !record.hasKey
    case ExplicitHashKey => user.forall(_.explicitHashKey.isEmpty)
    case _               => false
  }

  override def getBinary(column: Int): Array[Byte] = {
    if (data == null) data = record.data
    data
  }

  override def getLong(column: Int): Long =
    if (kinds(column) == SubSequenceNumber) place else Math.multiplyExact(record.arrivalMillis, 1000L)

  override def getUTF8String(column: Int): UTF8String = kinds(column) match {
    case PartitionKey    => if (user.isEmpty) record.partitionKeyText else UTF8String.fromString(user.get.partitionKey)
    case ExplicitHashKey =>
      user.flatMap(_.explicitHashKey).fold(null: UTF8String)(key => UTF8String.fromString(key.toString))
    case SequenceNumber => record.sequenceNumberText
    case StreamName     => streamName
    case _              => shardId
  }

  override protected def genericGet(column: Int): Any = kinds(column) match {
    case Data                            => getBinary(column)
    case SubSequenceNumber | ArrivalTime => getLong(column)
    case _                               => getUTF8String(column)
  }

  override def setNullAt(column: Int): Unit          = throw new UnsupportedOperationException(ReadOnly)
  override def update(column: Int, value: Any): Unit = throw new UnsupportedOperationException(ReadOnly)
}

private object RecordRow {
  // The schema's columns in their order. Constants, so that a match on them is a jump.
  private final val Data              = 0
  private final val PartitionKey      = 1
  private final val ExplicitHashKey   = 2
  private final val SequenceNumber    = 3
  private final val SubSequenceNumber = 4
  private final val ArrivalTime       = 5
  private final val StreamName        = 6

  private val ReadOnly = "a row of the source is read-only"
}
