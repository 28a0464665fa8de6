package io.github.kinesisspark.read.stream

import java.util

import scala.concurrent.duration._

import io.github.kinesisspark.aws.ConsumerCalls
import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.position.KinesisOffset
import io.github.kinesisspark.read.plan.PlanningResult
import io.github.kinesisspark.read.reader.ReadersNow
import io.github.kinesisspark.runtime.{Closing, Runtime}

/** What a source shows of itself: in the query's progress, in Spark's metrics, and in CloudWatch. Used by the query's own thread; the threads of Spark's
  * metrics sinks read.
  *
  * @param streams  their names
  * @param interval from one trigger of the query to the next, where that is a second at least
  */
private[read] final class SourceObserver(
    options: SourceOptions,
    streams: Vector[String],
    host: QueryHost,
    interval: => Option[FiniteDuration],
    readers: => ReadersNow,
    consumers: => Option[ConsumerCalls]
)(implicit runtime: Runtime)
    extends AutoCloseable {
  @volatile private var metrics = SourceMetrics.begun(runtime.clock.nanos())
  private var reachedSoFar      = KinesisOffset.initial
  private val gauges            = SourceMetrics.gauges(
    options.fanOut.isDefined,
    () => metrics.at(runtime.clock.nanos())
  )

  // Spark never stops a source that it has made for a query that fails to begin: so only once there is a planning.
  private var shown      = Option.empty[AutoCloseable]
  private var cloudWatch = Option.empty[CloudWatchPublisher]

  /** A real-time batch, or a planning, begins. */
  def begins(): Unit = {
    if (shown.isEmpty) {
      shown = Some(host.show(streams.mkString("+"), gauges))
      cloudWatch = CloudWatchPublisher.of(options, streams, gauges)
    }
    metrics = metrics.copy(trigger = trigger)
  }

  /** A planning is over. */
  def observe(result: PlanningResult): Unit = {
    val now  = runtime.clock.nanos()
    val next = result.statuses match {
      case Some(statuses) => metrics.next(result.open, statuses, result.cuts, readers, consumers, now)
      case None           => metrics.withoutReaders(result.open, consumers, now)
    }
    metrics = next.copy(published = cloudWatch.fold(PublishedCalls.none)(_.calls), trigger = trigger)
    reachedSoFar = result.reached
  }

  /** How far readers have read, as of the last planning. */
  def reached: KinesisOffset = reachedSoFar

  def progress: util.Map[String, String] = metrics.toJava

  private def trigger = interval.getOrElse(Duration.Zero)

  override def close(): Unit = Closing.all(cloudWatch.toSeq ++ shown: _*)
}
