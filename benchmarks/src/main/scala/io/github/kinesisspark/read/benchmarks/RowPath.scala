package io.github.kinesisspark.read.benchmarks

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarArray, ColumnarBatch, ColumnarMap}
import org.apache.spark.unsafe.types.UTF8String

import io.github.kinesisspark.position.{ShardKey, ShardPosition, ShardRange, StreamArn}
import io.github.kinesisspark.read.reader.KinesisRecord
import io.github.kinesisspark.read.row.{RecordRow, RecordRows, SourceSchema}

/** A way for packed records to become rows. */
trait RowPath {
  def rows(records: Array[KinesisRecord]): Iterator[InternalRow]
}

object RowPath {
  private[benchmarks] val shard = ShardKey(
    StreamArn("arn:aws:kinesis:eu-west-1:123456789012:stream/events"),
    "shardId-000000000000"
  )

  private[benchmarks] val range = ShardRange(shard, ShardPosition.TrimHorizon, ShardPosition.ShardEnd)

  def columns(name: String): StructType = {
    val names = name match {
      case "data"  => Seq("data")
      case "key"   => Seq("partitionKey")
      case "three" => Seq("data", "partitionKey", "approximateArrivalTimestamp")
      case "all"   => SourceSchema.schema.fieldNames.toSeq
    }
    StructType(names.map(SourceSchema.schema(_)))
  }

  def of(name: String, columns: StructType): RowPath = name match {
    // As the connector has it: a record may be an aggregated one, of several rows.
    case "rows" =>
      records => {
        val rows = new RecordRows(range, columns, None)
        records.iterator.flatMap(rows.of)
      }
    // The least that a row can cost.
    case "row" =>
      records => {
        val row = new RecordRow(shard, columns)
        records.iterator.map(row.show)
      }
    case "columnar" => records => RecordVector.batches(records, columns).flatMap(_.rowIterator.asScala)
    case "unsafe"   =>
      records => {
        val writer = new RecordWriter(columns)
        records.iterator.map(writer.write)
      }
  }
}

/** Rows in Spark's own format, made of the records. */
private final class RecordWriter(columns: StructType) {
  private val names  = columns.fieldNames
  private val writer = new UnsafeRowWriter(names.length, 1024)
  private val stream = UTF8String.fromString(RowPath.shard.stream.name)
  private val shard  = UTF8String.fromString(RowPath.shard.shardId)

  def write(record: KinesisRecord): InternalRow = {
    writer.reset()
    writer.zeroOutNullBytes()
    var i = 0
    while (i < names.length) {
      names(i) match {
        case "data"                        => writer.write(i, record.data)
        case "partitionKey"                => writer.write(i, record.partitionKeyText)
        case "explicitHashKey"             => writer.setNullAt(i)
        case "sequenceNumber"              => writer.write(i, record.sequenceNumberText)
        case "subSequenceNumber"           => writer.write(i, 0L)
        case "approximateArrivalTimestamp" => writer.write(i, record.arrivalMillis * 1000)
        case "streamName"                  => writer.write(i, stream)
        case _                             => writer.write(i, shard)
      }
      i += 1
    }
    writer.getRow
  }
}

/** A column over records of one shard. Nothing is copied before it is read. */
private[benchmarks] final class RecordVector(name: String, kind: DataType) extends ColumnVector(kind) {
  private val constant =
    UTF8String.fromString(if (name == "shardId") RowPath.shard.shardId else RowPath.shard.stream.name)
  private[benchmarks] var records: Array[KinesisRecord] = Array.empty
  private[benchmarks] var from                          = 0

  override def isNullAt(row: Int): Boolean = name match {
    case "explicitHashKey" => true
    case "partitionKey"    => records(from + row).partitionKeyText == null
    case _                 => false
  }

  override def hasNull: Boolean                 = name == "explicitHashKey" || name == "partitionKey"
  override def numNulls: Int                    = if (hasNull) 1 else 0
  override def getBinary(row: Int): Array[Byte] = records(from + row).data
  override def getLong(row: Int): Long          =
    if (name == "subSequenceNumber") 0L else records(from + row).arrivalMillis * 1000

  override def getUTF8String(row: Int): UTF8String = name match {
    case "partitionKey"   => records(from + row).partitionKeyText
    case "sequenceNumber" => records(from + row).sequenceNumberText
    case _                => constant
  }

  override def close(): Unit                                             = ()
  override def getBoolean(row: Int): Boolean                             = unused
  override def getByte(row: Int): Byte                                   = unused
  override def getShort(row: Int): Short                                 = unused
  override def getInt(row: Int): Int                                     = unused
  override def getFloat(row: Int): Float                                 = unused
  override def getDouble(row: Int): Double                               = unused
  override def getArray(row: Int): ColumnarArray                         = unused
  override def getMap(row: Int): ColumnarMap                             = unused
  override def getDecimal(row: Int, precision: Int, scale: Int): Decimal = unused
  override def getChild(ordinal: Int): ColumnVector                      = unused

  private def unused = throw new UnsupportedOperationException(name)
}

private[benchmarks] object RecordVector {
  private val Rows = 4096

  /** The same batch again and again. */
  def batches(records: Array[KinesisRecord], columns: StructType): Iterator[ColumnarBatch] = {
    val vectors = columns.fields.map(field => new RecordVector(field.name, field.dataType))
    val batch   = new ColumnarBatch(vectors.toArray[ColumnVector])
    records.indices.by(Rows).iterator.map { from =>
      vectors.foreach { vector =>
        vector.records = records
        vector.from = from
      }
      batch.setNumRows(Rows.min(records.length - from))
      batch
    }
  }
}
