package io.github.kinesisspark.read.stream

import java.util.concurrent.{CompletableFuture, ScheduledThreadPoolExecutor, TimeUnit}
import java.util.concurrent.atomic.AtomicLong

import scala.concurrent.duration.FiniteDuration

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.{CloudWatch, DaemonThreads, KinesisFault, Regions}
import io.github.kinesisspark.config.SourceOptions

/** Publishes a source's gauges at an interval, while the source lives. A publication that fails is counted and logged, once until one succeeds again,
  * and is no concern of the query: the next one brings newer values. Its thread is its own; counts are read by any.
  *
  * @param send is called for one publication at a time
  */
private[stream] final class CloudWatchPublisher(
    interval: FiniteDuration,
    gauges: Map[String, () => Long],
    send: Seq[(String, Long)] => CompletableFuture[Void],
    held: AutoCloseable
) extends AutoCloseable {
  private val log     = LoggerFactory.getLogger(classOf[CloudWatchPublisher])
  private val called  = new AtomicLong
  private val refused = new AtomicLong
  private val names   = gauges.keys.toSeq.sorted

  /** Of the thread alone. */
  private var failing = false

  private val thread = new ScheduledThreadPoolExecutor(1, new DaemonThreads("kinesis-cloudwatch"))
  thread.scheduleWithFixedDelay(() => publish(), interval.toMillis, interval.toMillis, TimeUnit.MILLISECONDS)

  def calls: PublishedCalls = PublishedCalls(called.get, refused.get)

  private[stream] def publish(): Unit =
    try {
      called.incrementAndGet()
      // Ends in time by itself.
      send(names.map(name => name -> gauges(name)())).join(): Unit
      failing = false
    } catch {
      case _: Throwable if thread.isShutdown => ()
      case e: Throwable                      =>
        refused.incrementAndGet()
        if (!failing)
          log.warn(
            s"CloudWatch did not take the source's metrics; the query is not affected: ${KinesisFault.inOneLine(e)}. " +
              "The next interval tries again. Further failures are not logged until a publication succeeds."
          )
        failing = true
    }

  override def close(): Unit = {
    thread.shutdownNow()
    held.close()
  }
}

private[stream] object CloudWatchPublisher {

  /** None where the options don't ask for it.
    *
    * @param streams names of the streams
    */
  def of(options: SourceOptions, streams: Seq[String], gauges: Map[String, () => Long]): Option[CloudWatchPublisher] =
    options.cloudWatch.map { asked =>
      val first      = options.streams.head
      val service    = new CloudWatch(first.client, Regions.resolve(first.stream, first.client), asked.endpoint)
      val dimensions = Seq("Streams" -> streams.mkString("+").take(MostOfDimension))
      new CloudWatchPublisher(asked.interval, gauges, service.put(asked.namespace, dimensions, _), service)
    }

  private val MostOfDimension = 1024
}

/** Calls of PutMetricData since the query started. */
final case class PublishedCalls(made: Long, failed: Long)

object PublishedCalls {
  val none: PublishedCalls = PublishedCalls(0, 0)
}
