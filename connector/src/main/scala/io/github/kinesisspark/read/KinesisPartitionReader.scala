package io.github.kinesisspark.read

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType

import io.github.kinesisspark.position.{HashKeyRange, ShardKey, ShardRange}
import io.github.kinesisspark.read.plan.RangeGrouping
import io.github.kinesisspark.read.shard.{RangeRecords, ReaderConfig, ShardReaderPools}

/** The ranges of one task.
  *
  * @param hashKeys  of the shards whose aggregated records are taken apart
  * @param locations where their readers are; anywhere else the ranges are read from Kinesis again
  */
final case class KinesisInputPartition(
    ranges: Vector[ShardRange],
    hashKeys: Map[ShardKey, HashKeyRange],
    locations: Vector[String]
) extends InputPartition {
  override def preferredLocations(): Array[String] = locations.toArray
}

object KinesisInputPartition {

  /** @param hashKeys of those shards whose aggregated records are taken apart, and perhaps of others */
  def apply(group: RangeGrouping.Group, hashKeys: Map[ShardKey, HashKeyRange]): KinesisInputPartition = {
    val keys = group.ranges.iterator.map(_.shard).flatMap(shard => hashKeys.get(shard).map(shard -> _)).toMap
    KinesisInputPartition(group.ranges, keys, group.executor.map(_.location).toVector)
  }
}

/** @param columns of the rows, in their order */
final class KinesisPartitionReaderFactory(config: ReaderConfig, columns: StructType = SourceSchema.schema)
    extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case ours: KinesisInputPartition => new KinesisPartitionReader(config, ours, columns)
    case other                       => throw new IllegalArgumentException(s"not a Kinesis partition: $other")
  }
}

/** A range that is being read. */
private final case class Opened(records: RangeRecords, rows: RecordRows)

/** Reads the ranges one after the other, each in the order of its shard. */
private final class KinesisPartitionReader(config: ReaderConfig, partition: KinesisInputPartition, columns: StructType)
    extends PartitionReader[InternalRow] {
  private val pool             = ShardReaderPools.of(config)
  private val remaining        = partition.ranges.iterator
  private var rows             = Iterator.empty[InternalRow]
  private var open             = Option.empty[Opened]
  private var row: InternalRow = _

  override def next(): Boolean = {
    if (TaskContext.get() != null && TaskContext.get().isInterrupted()) throw new InterruptedException("task killed")
    while (!rows.hasNext && remaining.hasNext) begin(remaining.next())
    val more = rows.hasNext
    if (more) row = rows.next()
    more
  }

  override def get(): InternalRow = row

  override def close(): Unit = {
    open.foreach { range =>
      range.records.close()
      pool.count(range.rows.delivered)
      range.rows.warn()
    }
    open = None
  }

  private def begin(range: ShardRange): Unit = {
    close()
    val opened = Opened(pool.read(range), new RecordRows(range, columns, partition.hashKeys.get(range.shard)))
    open = Some(opened)
    rows = opened.records.records.flatMap(opened.rows.of)
  }
}
