package io.github.kinesisspark.read.task

import scala.collection.mutable

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType

import io.github.kinesisspark.jar.{FromDriver, WireFormat}
import io.github.kinesisspark.position.{HashKeyRange, ShardKey, ShardRange}
import io.github.kinesisspark.read.coordinator.ExecutorRuntime
import io.github.kinesisspark.read.plan.RangeGrouping
import io.github.kinesisspark.read.reader.{MemoryBudget, Overdraft, ReaderConfig, TaskReaders}
import io.github.kinesisspark.read.row.{RecordRows, SourceSchema}

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

  private def writeReplace(): AnyRef = FromDriver(KinesisInputPartition.Written(ranges, hashKeys, locations))
}

object KinesisInputPartition {
  private final case class Written(
      ranges: Vector[ShardRange],
      hashKeys: Map[ShardKey, HashKeyRange],
      locations: Vector[String]
  ) {
    private def readResolve(): AnyRef = KinesisInputPartition(ranges, hashKeys, locations)
  }

  /** @param known hash keys, of other shards as well; None where no record is taken apart. Of a shard whose keys are not known, no user record is left
    *              out
    */
  def apply(group: RangeGrouping.Group, known: Option[Map[ShardKey, HashKeyRange]]): KinesisInputPartition = {
    val shards   = group.ranges.map(_.shard)
    val hashKeys = known.iterator.flatMap(keys => shards.map(s => s -> keys.getOrElse(s, HashKeyRange.all))).toMap
    KinesisInputPartition(group.ranges, hashKeys, group.executor.map(_.location).toVector)
  }
}

/** Goes along with each batch, and is the same in all of a query: as bytes, which an executor reads once and not in each task. */
final class KinesisPartitionReaderFactory private (source: String, written: Array[Byte])
    extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case ours: KinesisInputPartition =>
      readerIn(ExecutorRuntime.ofJvm, ours)
    case other => throw new IllegalArgumentException(s"not a Kinesis partition: $other")
  }

  private[kinesisspark] def readerIn(
      executor: ExecutorRuntime,
      partition: KinesisInputPartition
  ): PartitionReader[InternalRow] = {
    val settings = executor.received[KinesisPartitionReaderFactory.TaskSettings](source, written)
    new KinesisPartitionReader(settings.config, partition, settings.columns, executor)
  }
}

object KinesisPartitionReaderFactory {
  private final case class TaskSettings(config: ReaderConfig, columns: StructType)

  /** @param columns of the rows, in their order */
  def apply(config: ReaderConfig, columns: StructType = SourceSchema.schema): KinesisPartitionReaderFactory =
    new KinesisPartitionReaderFactory(config.sourceId, WireFormat.write(TaskSettings(config, columns)))
}

/** Reads the ranges of a task, as many at once as there are shards among them, so that a task has the read limits of all its shards
  * together. It takes all that is ready of one shard before it turns to the next shard that has something. So buffered records come shard
  * by shard, and records that have still to be read come from all shards. Each shard's records come in their order.
  */
private final class KinesisPartitionReader(
    config: ReaderConfig,
    partition: KinesisInputPartition,
    columns: StructType,
    executor: ExecutorRuntime
) extends PartitionReader[InternalRow] {
  import KinesisPartitionReader._

  private val task             = Option(TaskContext.get())
  private val readers          = executor.pools.task(config)
  private val waiting          = lanes(partition.ranges).iterator
  private val open             = mutable.ArrayBuffer.empty[Lane]
  private var current          = Option.empty[Lane]
  private val overdraft        = new Overdraft
  private var rows             = Iterator[InternalRow]()
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
    try open.foreach(_.close())
    finally readers.close()

  /** Whether there may be more. */
  private def nextRecord(): Boolean = current match {
    case Some(lane) if lane.isReady =>
      if (lane.advance()) rows = lane.rows
      else {
        open -= lane
        current = None
      }
      true
    case _ =>
      while (open.size < MostOpen && waiting.hasNext) open += new Lane(waiting.next())
      current = open.find(_.isReady)
      if (current.isEmpty && open.nonEmpty) await()
      open.nonEmpty
  }

  private def await(): Unit = {
    overdraft.next(open.flatMap(_.memory).toVector)
    readers.wakeUp.await()
    failIfKilled()
  }

  private def failIfKilled(): Unit =
    if (task.exists(_.isInterrupted())) throw new InterruptedException("task killed")

  /** The ranges of one shard, one after the other. Reading ahead of the first begins at once. */
  private final class Lane(ranges: Vector[ShardRange]) {
    private val remaining = ranges.iterator
    private var current   = Option.empty[Opened]

    /** Of the record that was taken last. */
    var rows: Iterator[InternalRow] = Iterator.empty

    begin()

    /** Takes the next record, or turns to the next range, which may have none yet. False once all ranges are read. */
    def advance(): Boolean = current.exists { range =>
      if (range.records.hasNext) rows = range.rows.of(range.records.next())
      else {
        close()
        begin()
      }
      true
    }

    def isReady: Boolean = current.forall(_.records.isReady)

    def memory: Option[MemoryBudget.Account] = current.flatMap(_.records.memory)

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

  /** Shards that a task reads at once: more than it has the time to take rows of. */
  private val MostOpen = 64
}
