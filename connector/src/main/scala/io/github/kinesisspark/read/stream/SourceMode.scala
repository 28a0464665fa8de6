package io.github.kinesisspark.read.stream

import org.apache.spark.sql.connector.read.PartitionReaderFactory
import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}

/** How a source plans: micro-batches ([[MicroBatchMode]]), or real-time batches. Used by the query's own thread only. */
private[read] trait SourceMode {

  /** The end of the next batch; its start where there is no batch, or none with an end. */
  def latestOffset(start: Offset, limit: ReadLimit): Offset

  def readerFactory(): PartitionReaderFactory

  /** Spark calls it when it has planned the batch after. The next planning orders the readers to drop its records; nothing is to be written anywhere. */
  def commit(): Unit

  def stop(): Unit
}
