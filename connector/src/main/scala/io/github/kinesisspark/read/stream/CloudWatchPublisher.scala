package io.github.kinesisspark.read.stream

import java.util.concurrent.atomic.AtomicLong

import scala.concurrent.duration.FiniteDuration

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.{AwsCall, CallObserver, CloudWatch, KinesisFault, Regions}
import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.runtime.Runtime

/** Publishes a source's gauges at an interval, while the source lives. A publication that fails is counted and logged, once until one succeeds again,
  * and is no concern of the query: the next one brings newer values. Its thread is its own; counts are read by any.
  *
  * @param publish makes one publication, and reports its calls; is called for one at a time
  */
private[stream] final class CloudWatchPublisher(
    interval: FiniteDuration,
    gauges: Map[String, () => Long],
    publish: (CallObserver, () => Seq[(String, Long)]) => Unit,
    held: AutoCloseable
)(implicit runtime: Runtime)
    extends AutoCloseable {
  private val log     = LoggerFactory.getLogger(classOf[CloudWatchPublisher])
  private val made    = new AtomicLong
  private val refused = new AtomicLong
  private val names   = gauges.keys.toSeq.sorted

  private val observer = new CallObserver {
    override def called(action: AwsCall): Unit = made.incrementAndGet(): Unit
    override def waits(kind: String, resource: String, why: => String, wait: FiniteDuration): Unit =
      refused.incrementAndGet(): Unit
  }

  /** Of the thread alone. */
  private var failing = false

  @volatile private var closed = false

  private val thread = runtime.workers.fixed("kinesis-cloudwatch", 1)
  thread.every(interval)(publishNow())

  def calls: PublishedCalls = PublishedCalls(made.get, refused.get)

  private def publishNow(): Unit =
    try {
      // Ends in time by itself.
      publish(observer, () => names.map(name => name -> gauges(name)()))
      failing = false
    } catch {
      case _: Throwable if closed => ()
      case e: Throwable           =>
        refused.incrementAndGet()
        if (!failing)
          log.warn(
            s"CloudWatch did not take the source's metrics; the query is not affected: ${KinesisFault.inOneLine(e)}. " +
              "The next interval tries again. Further failures are not logged until a publication succeeds."
          )
        failing = true
    }

  override def close(): Unit = {
    closed = true
    thread.close()
    held.close()
  }
}

private[stream] object CloudWatchPublisher {

  /** None where the options don't ask for it. The dimension doesn't depend on the order of the streams, which an option may change.
    *
    * @param streams names of the streams
    */
  def of(options: SourceOptions, streams: Seq[String], gauges: Map[String, () => Long])(implicit
      runtime: Runtime
  ): Option[CloudWatchPublisher] =
    options.cloudWatch.map { asked =>
      val first      = options.streams.head
      val service    = new CloudWatch(first.client, Regions.resolve(first.stream, first.client), asked.endpoint)
      val dimensions = Seq("Streams" -> streams.sorted.mkString("+").take(MostOfDimension))
      new CloudWatchPublisher(
        asked.interval,
        gauges,
        (observer, values) => service.publish(asked.namespace, dimensions, asked.interval, observer)(values()),
        service
      )
    }

  private val MostOfDimension = 1024
}

/** Calls of PutMetricData since the query started. */
final case class PublishedCalls(made: Long, failed: Long)

object PublishedCalls {
  val none: PublishedCalls = PublishedCalls(0, 0)
}
