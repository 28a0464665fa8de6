package io.github.kinesisspark.read.realtime

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead

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
    case ours: RealTimePartition => new RealTimePartitionReader(config, ours, SourceSchema.schema, executor)
    case NothingToRead           => new NothingReader
    case other                   => throw new IllegalArgumentException(other.toString)
  }
}
