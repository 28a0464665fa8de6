package io.github.kinesisspark.read.realtime

import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming._

import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.read.coordinator.DriverRuntime
import io.github.kinesisspark.read.stream.{KinesisStream, QueryHost}

/** A [[KinesisStream]] that Spark may ask for real-time batches, once it is made: from then on [[RealTimeMode]] plans.
  *
  * Loaded by name: Spark 4.0 doesn't have these interfaces.
  *
  * @see [[https://spark.apache.org/docs/latest/api/java/org/apache/spark/sql/connector/read/streaming/SupportsRealTimeMode.html SupportsRealTimeMode]]
  */
final class KinesisRealTimeStream(options: SourceOptions, host: QueryHost, driver: DriverRuntime)
    extends KinesisStream(options, host, driver)
    with SupportsRealTimeMode {
  override def prepareForRealTimeMode(): Unit = mode = new RealTimeMode(source)

  override def planInputPartitions(start: Offset): Array[InputPartition] = realTime.begin(start).toArray

  override def mergeOffsets(offsets: Array[PartitionOffset]): Offset = realTime.end(offsets.toSeq)

  private def realTime = mode match {
    case own: RealTimeMode => own
    case _                 => throw new IllegalStateException("a real-time batch of a query in another mode")
  }
}
