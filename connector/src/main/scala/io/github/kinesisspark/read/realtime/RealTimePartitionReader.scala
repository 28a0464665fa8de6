package io.github.kinesisspark.read.realtime

import java.lang.{Long => JLong}

import scala.annotation.unused
import scala.concurrent.duration._

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming.{PartitionOffset, SupportsRealTimeRead}
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead.RecordStatus
import org.apache.spark.sql.types.StructType

import io.github.kinesisspark.position.{HashKeyRange, Shard, ShardKey, ShardPosition, ShardRange}
import io.github.kinesisspark.read.coordinator.ExecutorRuntime
import io.github.kinesisspark.read.plan.ChildHandover
import io.github.kinesisspark.read.reader.{ReaderConfig, ResolvedPublisher}
import io.github.kinesisspark.read.row.RecordRows
import io.github.kinesisspark.runtime.Closing

/** @param columns   of the rows, in their order
  * @param runsAgain whether Spark runs a task again that has failed
  */
private[realtime] final class RealTimeReaderFactory(config: ReaderConfig, columns: StructType, runsAgain: Boolean)
    extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case ours: RealTimePartition =>
      new RealTimePartitionReader(config, ours, columns, runsAgain, ExecutorRuntime.ofJvm)
    case NothingToRead => new NothingReader
    case other         => throw new IllegalArgumentException(s"not a partition of a real-time batch: $other")
  }
}

/** One task of a real-time batch: rows as they come, until the batch's time is over.
  *
  * @see [[https://spark.apache.org/docs/latest/api/java/org/apache/spark/sql/connector/read/streaming/SupportsRealTimeRead.html SupportsRealTimeRead]]
  */
private[realtime] final class RealTimePartitionReader(
    config: ReaderConfig,
    partition: RealTimePartition,
    columns: StructType,
    runsAgain: Boolean,
    executor: ExecutorRuntime
) extends SupportsRealTimeRead[InternalRow] {
  import executor.runtime

  private val placed     = partition.executor.flatMap(e => executor.pools.placedOn(e.id, config))
  private val pool       = placed.getOrElse(executor.pools.ofTask(config))
  private val isRepeated = Option(TaskContext.get()).exists(_.attemptNumber() > 0)
  private val feed       = Closing.unlessMade(leavePool()) {
    new TaskFeed(
      partition.shards,
      ChildHandover(partition.ended, begun = partition.known),
      failsByErrors = runsAgain && !isRepeated,
      follow
    )
  }
  private var isAsked          = false
  private var row: InternalRow = _

  /** As Spark 4.2 asks.
    *
    * @param startTimeMs when Spark looked at the clock, which is now
    */
  override def nextWithTimeout(startTimeMs: JLong, timeoutMs: JLong): RecordStatus = nextWithTimeout(timeoutMs)

  /** As Spark 4.1 asks. */
  def nextWithTimeout(timeoutMs: JLong): RecordStatus = {
    isAsked = true
    feed.next(timeoutMs.longValue.millis) match {
      case Some(next) =>
        row = next
        RecordStatus.newStatusWithArrivalTimeMs(feed.arrivalMillis)
      case None => RecordStatus.newStatusWithoutArrivalTime(false)
    }
  }

  override def getOffset: PartitionOffset =
    RealTimeProgress(feed.reads, partition.executor.filter(_ => placed.isDefined), isAsked, isRepeated)

  override def next(): Boolean =
    throw new UnsupportedOperationException("nextWithTimeout is called instead in real-time mode")

  override def get(): InternalRow = row

  override def close(): Unit =
    try {
      pool.count(feed.delivered)
      feed.close()
    } finally leavePool()

  private def leavePool(): Unit = if (placed.isEmpty) pool.close()

  private def follow(
      key: ShardKey,
      from: ShardPosition,
      child: Option[Shard],
      onNews: () => Unit
  ): FollowedShard = {
    val hashKeys =
      partition.hashKeys.map(known => child.map(_.hashKeys).orElse(known.get(key)).getOrElse(HashKeyRange.all))
    val rows   = new RecordRows(ShardRange(key, from, ShardPosition.ShardEnd), columns, hashKeys)
    val reader =
      pool.follow(key, from, if (placed.isDefined) partition.publisher else ResolvedPublisher.Polling, onNews)
    new FollowedShard(key, from, reader, rows, config.failOnDataLoss, leave = () => pool.unfollow(key, onNews))
  }
}

/** Of the first batch: it is over at once. */
private final class NothingReader extends SupportsRealTimeRead[InternalRow] {
  override def nextWithTimeout(startTimeMs: JLong, timeoutMs: JLong): RecordStatus = nextWithTimeout(timeoutMs)
  def nextWithTimeout(@unused timeoutMs: JLong): RecordStatus = RecordStatus.newStatusWithoutArrivalTime(false)

  override def getOffset: PartitionOffset =
    RealTimeProgress(Vector.empty, executor = None, isAsked = true, isRepeated = false)
  override def next(): Boolean    = false
  override def get(): InternalRow = throw new NoSuchElementException("the first real-time batch has no rows")
  override def close(): Unit      = ()
}
