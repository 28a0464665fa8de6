package io.github.kinesisspark.read.realtime

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.{PartitionOffset, SupportsRealTimeRead}

import io.github.kinesisspark.position.ShardPosition.TrimHorizon
import io.github.kinesisspark.position.{ShardKey, ShardRange}
import io.github.kinesisspark.read.coordinator.ExecutorRuntime
import io.github.kinesisspark.read.reader.ReaderConfig
import io.github.kinesisspark.read.row.SourceSchema

/** A task of a real-time batch, in an executor of a simulation. */
object RealTimeTask {
  def reader(
      config: ReaderConfig,
      partition: InputPartition,
      executor: ExecutorRuntime
  ): SupportsRealTimeRead[InternalRow] = partition match {
    case ours: RealTimePartition =>
      new RealTimePartitionReader(config, ours, SourceSchema.schema, runsAgain = true, executor)
    case NothingToRead => new NothingReader
    case other         => throw new IllegalArgumentException(other.toString)
  }

  def shards(partition: InputPartition): Vector[ShardKey] = partition match {
    case ours: RealTimePartition => ours.shards.map(_._1)
    case _                       => Vector.empty
  }

  /** What a task has read: from where it began each shard, or from its beginning where it has begun it, to where it has come. */
  def ranges(partition: InputPartition, progress: PartitionOffset): Vector[ShardRange] = (partition, progress) match {
    case (ours: RealTimePartition, done: RealTimeProgress) =>
      val from = ours.shards.toMap
      done.reads
        .map(read => ShardRange(read.shard, from.getOrElse(read.shard, TrimHorizon), read.taken.position))
        .filter(range => range.start != range.end)
    case _ => Vector.empty
  }
}
