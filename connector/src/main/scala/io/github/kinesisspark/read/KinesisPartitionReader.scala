package io.github.kinesisspark.read

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

import io.github.kinesisspark.position.ShardRange
import io.github.kinesisspark.read.shard.{RangeRecords, ReaderConfig, ShardReaderPools}

/** The ranges of one task.
  *
  * @param locations where their readers are; anywhere else the ranges are read from Kinesis again
  */
final case class KinesisInputPartition(ranges: Vector[ShardRange], locations: Vector[String]) extends InputPartition {
  override def preferredLocations(): Array[String] = locations.toArray
}

final class KinesisPartitionReaderFactory(config: ReaderConfig) extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case KinesisInputPartition(ranges, _) => new KinesisPartitionReader(config, ranges)
    case other                            => throw new IllegalArgumentException(s"not a Kinesis partition: $other")
  }
}

/** Reads the ranges one after the other, each in the order of its shard. */
private final class KinesisPartitionReader(config: ReaderConfig, ranges: Vector[ShardRange])
    extends PartitionReader[InternalRow] {
  private val pool             = ShardReaderPools.of(config)
  private val remaining        = ranges.iterator
  private var rows             = Iterator.empty[InternalRow]
  private var open             = Option.empty[RangeRecords]
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
    open.foreach(_.close())
    open = None
  }

  private def begin(range: ShardRange): Unit = {
    close()
    val records = pool.read(range)
    open = Some(records)
    rows = records.records.map(SourceSchema.rowWriter(range.shard))
  }
}
