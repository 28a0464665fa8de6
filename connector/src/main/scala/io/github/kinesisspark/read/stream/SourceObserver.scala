package io.github.kinesisspark.read.stream

import java.util

import scala.concurrent.duration._

import io.github.kinesisspark.aws.{Closing, ConsumerCalls}
import io.github.kinesisspark.config.{RecordPublisherConfig, SourceOptions}
import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.plan.{CutPoint, ReaderStatus}
import io.github.kinesisspark.read.reader.ReadersNow
import io.github.kinesisspark.runtime.Runtime

/** What a source shows of itself: in the query's progress, in Spark's metrics, and in CloudWatch. Used by the query's own thread; the threads of Spark's
  * metrics sinks read.
  *
  * @param streams their names
  */
private[read] final class SourceObserver(
    options: SourceOptions,
    streams: Vector[String],
    host: QueryHost,
    readers: => ReadersNow,
    consumers: => Option[ConsumerCalls]
)(implicit runtime: Runtime)
    extends AutoCloseable {
  @volatile private var metrics = SourceMetrics.begun(runtime.clock.nanos())
  private val gauges            = SourceMetrics.gauges(
    options.recordPublisher != RecordPublisherConfig.Polling,
    () => metrics.at(runtime.clock.nanos())
  )
  private val shown      = host.show(streams.mkString("+"), gauges)
  private val cloudWatch = Closing.unlessMade(shown.close())(CloudWatchPublisher.of(options, streams, gauges))

  /** From one trigger of the query to the next, where that is a second at least. */
  lazy val interval: Option[FiniteDuration] = host.interval

  /** A real-time batch begins. */
  def begins(): Unit = metrics = metrics.copy(trigger = trigger)

  /** A batch was planned, or was found to be none.
    *
    * @param open shards that are read
    * @param cuts where the batch ends
    */
  def planned(open: Iterable[ShardKey], statuses: Map[ShardKey, ReaderStatus], cuts: Map[ShardKey, CutPoint]): Unit =
    metrics = metrics
      .next(open, statuses, cuts, readers, consumers, runtime.clock.nanos())
      .copy(published = cloudWatch.fold(PublishedCalls.none)(_.calls), trigger = trigger)

  /** The same where no executor reads ahead. */
  def plannedWithoutReaders(open: Iterable[ShardKey]): Unit =
    metrics = metrics.withoutReaders(open, consumers, runtime.clock.nanos())

  def progress: util.Map[String, String] = metrics.toJava

  private def trigger = interval.getOrElse(Duration.Zero)

  override def close(): Unit =
    try cloudWatch.foreach(_.close())
    finally shown.close()
}
