package io.github.kinesisspark.read.stream

import scala.concurrent.duration.FiniteDuration

import org.apache.spark.SparkContext
import org.apache.spark.kinesisspark.{RunningQuery, SparkMetrics}

import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.read.coordinator.{DriverRuntime, ExecutorChannel}
import io.github.kinesisspark.read.reader.ReaderMemory

/** What the source of a streaming query has from the Spark that runs it. A simulation has its own. Called on the query's own thread. */
trait QueryHost {

  // As in RunningQuery.
  def queryId: Option[String]
  def interval: Option[FiniteDuration]
  def shuffleTasks: Int
  def isAlone: Boolean
  def callers: Option[RunningQuery.Callers]
  def hasLostCheckpoint: Boolean
  def leavesOffsetsOut: Boolean

  /** As [[ReaderMemory.of]]. */
  def readerMemory(options: SourceOptions): Long

  /** @param source as in the requests to executors */
  def channel(source: String, driver: DriverRuntime): ExecutorChannel

  /** As [[org.apache.spark.kinesisspark.SparkMetrics.show]]. */
  def show(group: String, gauges: Map[String, () => Long]): AutoCloseable
}

private[kinesisspark] final class SparkHost(sc: SparkContext) extends RunningQuery(sc) with QueryHost {
  override def readerMemory(options: SourceOptions): Long                      = ReaderMemory.of(options, sc)
  override def channel(source: String, driver: DriverRuntime): ExecutorChannel = ExecutorChannel.of(sc, source, driver)
  override def show(group: String, gauges: Map[String, () => Long]): AutoCloseable = SparkMetrics.show(group, gauges)
}
