package io.github.kinesisspark.read

import scala.annotation.tailrec
import scala.collection.mutable

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType

import io.github.kinesisspark.position.{HashKeyRange, ShardKey, ShardRange}
import io.github.kinesisspark.read.plan.RangeGrouping
import io.github.kinesisspark.read.shard.{ReaderConfig, ShardReaderPools, TaskReaders}

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

/** Reads the ranges of a task, as many at once as there are shards among them, so that a task has the read limits of all its shards
  * together. They take turns of about the same bytes, in their order: so each shard's records come in their order, and another attempt
  * gives the same rows in the same order.
  */
private final class KinesisPartitionReader(config: ReaderConfig, partition: KinesisInputPartition, columns: StructType)
    extends PartitionReader[InternalRow] {
  import KinesisPartitionReader._

  private val task             = Option(TaskContext.get())
  private val readers          = ShardReaderPools.task(config, () => failIfKilled())
  private val waiting          = lanes(partition.ranges).iterator
  private val open             = mutable.Queue.empty[Lane]
  private var turn             = 0L
  private var rows             = Iterator.empty[InternalRow]
  private var row: InternalRow = _

  override def next(): Boolean = {
    failIfKilled()
    while (!rows.hasNext && nextRecord()) ()
    val more = rows.hasNext
    if (more) row = rows.next()
    more
  }

  override def get(): InternalRow = row

  override def close(): Unit =
    try open.removeAll().foreach(_.close())
    finally readers.close()

  /** Whether there was one. */
  private def nextRecord(): Boolean = {
    while (open.size < MostOpen && waiting.hasNext) open.enqueue(new Lane(waiting.next()))
    if (turn >= BytesInTurn && open.size > 1) {
      turn = 0
      open.enqueue(open.dequeue())
    }
    open.headOption.exists { lane =>
      lane.next() match {
        case Some((mine, size)) =>
          turn += size
          rows = mine
        case None =>
          turn = 0
          open.dequeue(): Unit
      }
      true
    }
  }

  private def failIfKilled(): Unit =
    if (task.exists(_.isInterrupted())) throw new InterruptedException("task killed")

  /** The ranges of one shard, one after the other. Reading ahead of the first begins at once. */
  private final class Lane(ranges: Vector[ShardRange]) {
    private val remaining = ranges.iterator
    private var current   = Option.empty[Opened]
    begin()

    /** The rows of the next record and its bytes. */
    @tailrec def next(): Option[(Iterator[InternalRow], Long)] = current match {
      case Some(range) if range.records.hasNext =>
        val record = range.records.next()
        Some(range.rows.of(record) -> record.size)
      case Some(_) =>
        close()
        begin()
        next()
      case None => None
    }

    def close(): Unit = {
      current.foreach { range =>
        range.records.close()
        readers.count(range.rows.delivered)
        range.rows.warn()
      }
      current = None
    }

    private def begin(): Unit = current = remaining.nextOption().map { range =>
      Opened(readers.read(range), new RecordRows(range, columns, partition.hashKeys.get(range.shard)))
    }
  }
}

private object KinesisPartitionReader {

  /** A range that is being read. */
  private final case class Opened(records: TaskReaders.Records, rows: RecordRows)

  private def lanes(ranges: Vector[ShardRange]) = {
    val byShard = ranges.groupBy(_.shard)
    ranges.map(_.shard).distinct.map(byShard)
  }

  /** Of data and keys. A shard gives as much in half a second. */
  private val BytesInTurn = 1L << 20

  /** Shards that a task reads at once: more than it has the time to take rows of. */
  private val MostOpen = 64
}
