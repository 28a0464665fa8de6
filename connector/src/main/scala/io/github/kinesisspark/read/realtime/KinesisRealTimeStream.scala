package io.github.kinesisspark.read.realtime

import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
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
  private var realTimeMode = Option.empty[RealTimeMode]

  override def prepareForRealTimeMode(): Unit = realTimeMode = Some(new RealTimeMode(source))

  /** A real-time batch has no end when it is planned. */
  override def latestOffset(start: Offset, limit: ReadLimit): Offset =
    if (realTimeMode.isDefined) start else super.latestOffset(start, limit)

  override def createReaderFactory(): PartitionReaderFactory =
    realTimeMode.fold(super.createReaderFactory())(_.readerFactory())

  override def planInputPartitions(start: Offset): Array[InputPartition] = planned.begin(start).toArray

  override def mergeOffsets(offsets: Array[PartitionOffset]): Offset = planned.end(offsets.toSeq)

  private def planned =
    realTimeMode.getOrElse(throw new IllegalStateException("a real-time batch of a query in another mode"))
}
