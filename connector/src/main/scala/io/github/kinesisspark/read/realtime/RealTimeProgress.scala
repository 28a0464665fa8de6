package io.github.kinesisspark.read.realtime

import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.PartitionOffset

import io.github.kinesisspark.jar.FromDriver
import io.github.kinesisspark.position.{HashKeyRange, ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.{CutPoint, ExecutorId, ReaderStatus}
import io.github.kinesisspark.read.reader.ResolvedPublisher

/** What one task of a real-time batch reads: its shards from where they continue, and those of their children that it can begin.
  *
  * @param ended     shards of these streams that are read to their end, as parents of what may come
  * @param known     children of its shards that the batch has without their being begun
  * @param hashKeys  of the shards, if aggregated records are taken apart
  * @param executor  where the shards' readers are
  * @param publisher by which they read
  */
private[realtime] final case class RealTimePartition(
    shards: Vector[(ShardKey, ShardPosition)],
    ended: Set[ShardKey],
    known: Set[ShardKey],
    hashKeys: Option[Map[ShardKey, HashKeyRange]],
    executor: Option[ExecutorId],
    publisher: ResolvedPublisher
) extends InputPartition {
  override def preferredLocations(): Array[String] = executor.map(_.location).toArray

  private def writeReplace(): AnyRef =
    FromDriver(RealTimePartition.Written(shards, ended, known, hashKeys, executor, publisher))
}

private[realtime] object RealTimePartition {
  private final case class Written(
      shards: Vector[(ShardKey, ShardPosition)],
      ended: Set[ShardKey],
      known: Set[ShardKey],
      hashKeys: Option[Map[ShardKey, HashKeyRange]],
      executor: Option[ExecutorId],
      publisher: ResolvedPublisher
  ) {
    private def readResolve(): AnyRef = RealTimePartition(shards, ended, known, hashKeys, executor, publisher)
  }
}

/** The one task of a query's first batch. */
private[realtime] case object NothingToRead extends InputPartition {
  private def writeReplace(): AnyRef = FromDriver(Written())

  private final case class Written() {
    private def readResolve(): AnyRef = NothingToRead
  }
}

/** How far a task has come when its batch is over.
  *
  * @param reads      parents before children
  * @param executor   where its readers are, if they continue
  * @param isAsked    whether the task was asked for rows at all: one that begins after the batch is over is not
  * @param isRepeated this is not the task's first attempt
  */
private[realtime] final case class RealTimeProgress(
    reads: Vector[ShardRead],
    executor: Option[ExecutorId],
    isAsked: Boolean,
    isRepeated: Boolean
) extends PartitionOffset

/** @param taken   what the task has given of the shard
  * @param status  how far its reader was by then
  * @param isBegun it is a child that was begun within the batch
  */
private[realtime] final case class ShardRead(taken: CutPoint, status: ReaderStatus, isBegun: Boolean) {
  def shard: ShardKey = status.shard
}
