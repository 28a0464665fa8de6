package io.github.kinesisspark.read.stream

import java.lang.reflect.InvocationTargetException
import java.util
import java.util.Optional

import scala.util.Try

import org.apache.spark.SparkContext
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming._

import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.position.KinesisOffset
import io.github.kinesisspark.read.coordinator.DriverRuntime

/** A streaming query's source, as Spark calls it: on the query's own thread. Decides nothing: its [[SourceMode]] plans.
  *
  * @see [[https://spark.apache.org/docs/latest/api/java/org/apache/spark/sql/connector/read/streaming/SupportsAdmissionControl.html SupportsAdmissionControl]]
  */
class KinesisStream(options: SourceOptions, host: QueryHost, driver: DriverRuntime)
    extends MicroBatchStream
    with SupportsTriggerAvailableNow
    with ReportsSourceMetrics {
  private[read] val source   = new QuerySource(options, host, driver)
  private val microBatchMode = new MicroBatchMode(source)

  /** Who plans. Real-time mode takes its place before the first batch. */
  private[read] var mode: SourceMode = microBatchMode

  override def initialOffset(): Offset = KinesisSourceOffset(KinesisOffset.initial)

  override def deserializeOffset(json: String): Offset = source.offsets.read(json)

  override def getDefaultReadLimit: ReadLimit = SparkLimits.of(options.admission)

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is called instead")

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = mode.latestOffset(start, limit)

  override def reportLatestOffset(): Offset = KinesisSourceOffset(source.observer.reached)

  override def prepareForTriggerAvailableNow(): Unit = microBatchMode.endWithWhatIsThere()

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
    microBatchMode.tasks(start, end).toArray

  override def createReaderFactory(): PartitionReaderFactory = mode.readerFactory()

  override def metrics(latestConsumedOffset: Optional[Offset]): util.Map[String, String] = source.observer.progress

  override def commit(end: Offset): Unit = mode.commit()

  override def stop(): Unit = {
    mode.stop()
    source.close()
  }

  override def toString: String = source.toString
}

object KinesisStream {

  /** As capable as the Spark it runs on: real-time mode came with Spark 4.1, so the class that has it is loaded by name. */
  def of(options: SourceOptions, sc: SparkContext, driver: DriverRuntime): KinesisStream =
    if (hasRealTimeMode)
      try
        Class
          .forName(RealTime)
          .getConstructor(classOf[SourceOptions], classOf[QueryHost], classOf[DriverRuntime])
          .newInstance(options, new SparkHost(sc), driver)
          .asInstanceOf[KinesisStream]
      catch { case e: InvocationTargetException => throw e.getCause }
    else new KinesisStream(options, new SparkHost(sc), driver)

  // The JARs for Spark 3.5 have none, and a platform's Spark 3.5 may know it.
  private lazy val hasRealTimeMode = Seq("org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode", RealTime)
    .forall(name => Try(Class.forName(name)).isSuccess)

  private val RealTime = "io.github.kinesisspark.read.realtime.KinesisRealTimeStream"
}
