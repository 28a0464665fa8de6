package io.github.kinesisspark.read.reader

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.runtime.Runtime

/** What the subscriptions of one source do in one executor, counted since its readers were opened.
  *
  * @param onChange called when a shard's subscription has opened or ended, or its publisher has left; must not block
  */
final class FanOutTelemetry(shards: ShardTelemetry, onChange: ShardKey => Unit = _ => ())(implicit runtime: Runtime) {

  private val resubscriptions = new LongAdder
  private val refusals        = new LongAdder
  private val failures        = new LongAdder
  private val gauges          = ConcurrentHashMap.newKeySet[Gauge]()
  // A shard's latest: the one before may still be leaving its subscription.
  private val latest = new ConcurrentHashMap[ShardKey, Gauge]

  def open(shard: ShardKey): Gauge = {
    val gauge = new Gauge(shard, runtime.clock.nanos())
    gauges.add(gauge)
    latest.put(shard, gauge)
    gauge
  }

  /** Whether a shard's subscription is open; nothing where it has no reader here. */
  def isLive(shard: ShardKey): Option[Boolean] = Option(latest.get(shard)).map(_.live)

  def resubscribed(): Unit = resubscriptions.increment()

  def refused(shard: ShardKey): Unit = {
    refusals.increment()
    shards.throttled(shard)
  }

  def failed(): Unit = failures.increment()

  def decodedBySdk(): Unit = shards.decodedBySdk()

  /** Waits until every publisher has left its subscription, and says whether that came to be in time. */
  def awaitClosed(atMost: FiniteDuration): Boolean =
    gauges.synchronized(runtime.waits.until(gauges, atMost)(gauges.isEmpty))

  def report: SubscriptionReport = {
    val now = runtime.clock.nanos()
    val all = gauges.asScala.toVector
    SubscriptionReport(
      live = all.count(_.live),
      waiting = all.count(!_.live),
      resubscriptions = resubscriptions.sum,
      refused = refusals.sum,
      failed = failures.sum,
      longestSilenceMillis = all.map(g => (now - g.receivedAt) / 1000000).maxOption.getOrElse(0)
    )
  }

  /** One publisher's part. */
  final class Gauge private[FanOutTelemetry] (shard: ShardKey, openedAt: Long) extends AutoCloseable {
    @volatile private var isLive                            = false
    @volatile private[FanOutTelemetry] var receivedAt: Long = openedAt

    def live: Boolean = isLive

    def live_=(now: Boolean): Unit = if (now != isLive) {
      isLive = now
      onChange(shard)
    }

    def received(now: Long): Unit = receivedAt = now

    override def close(): Unit = {
      val wasOpen = gauges.synchronized {
        latest.remove(shard, this)
        val isRemoved = gauges.remove(this)
        runtime.waits.signal(gauges)
        isRemoved
      }
      if (wasOpen) onChange(shard)
    }
  }
}

/** @param live                 subscriptions that are open
  * @param waiting              shards that are between two subscriptions, or need none at the moment
  * @param resubscriptions      after the first of each reader, for whatever reason
  * @param refused              because another subscription holds the shard, or a limit is used up
  * @param failed               for other reasons than those and the end of their time
  * @param longestSilenceMillis since the last event of the shard that has been silent for the longest time
  */
final case class SubscriptionReport(
    live: Int,
    waiting: Int,
    resubscriptions: Long,
    refused: Long,
    failed: Long,
    longestSilenceMillis: Long
) {
  def and(other: SubscriptionReport): SubscriptionReport = SubscriptionReport(
    live + other.live,
    waiting + other.waiting,
    resubscriptions + other.resubscriptions,
    refused + other.refused,
    failed + other.failed,
    longestSilenceMillis.max(other.longestSilenceMillis)
  )

  /** What stays of them when the publishers have left. */
  def ended: SubscriptionReport = copy(live = 0, waiting = 0, longestSilenceMillis = 0)
}
