package io.github.kinesisspark.read.reader

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicReference, LongAdder}

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.runtime.Runtime

/** Counts what the readers of one source in one executor have done since they were opened, and what tasks have read there: of each shard, and of all. Any
  * thread calls it.
  *
  * @param onChange called after a shard's counts have changed, unless by a delivery, which is reported anyway; must not block
  */
final class ReaderTelemetry(onChange: ShardKey => Unit = _ => ())(implicit runtime: Runtime) {
  import ReaderTelemetry._

  private val reads         = new AtomicReference(ReadCount.none)
  private val delivered     = new AtomicReference(UserRecordCount.none)
  private val rereadBytes   = new LongAdder
  private val rereadRecords = new LongAdder
  private val sdkReads      = new LongAdder

  private val throttledPolls  = new LongAdder
  private val failedPolls     = new LongAdder
  private val resubscriptions = new LongAdder
  private val refusals        = new LongAdder
  private val failures        = new LongAdder

  private val byShard = new ConcurrentHashMap[ShardKey, Counted]
  private val gauges  = ConcurrentHashMap.newKeySet[Gauge]()
  // A shard's latest: the one before may still be leaving its subscription.
  private val latest = new ConcurrentHashMap[ShardKey, Gauge]

  /** A reader has received a delivery. */
  def read(shard: ShardKey, totals: RecordTotals): Unit = {
    val one = ReadCount(1, totals.records, totals.bytes)
    reads.updateAndGet(_.and(one)): Unit
    merge(shard, ShardCounts.none.copy(reads = one))
  }

  /** Tasks have read records from Kinesis again. */
  def reread(shard: ShardKey, records: Array[KinesisRecord]): Unit = {
    rereadBytes.add(RecordTotals.of(records).bytes)
    rereadRecords.add(records.length.toLong)
    add(shard, ShardCounts.none.copy(rereadRecords = records.length.toLong))
  }

  /** Tasks have delivered records. */
  def deliver(records: UserRecordCount): Unit = delivered.updateAndGet(_.and(records)): Unit

  /** The SDK has decoded an answer or an event. */
  def decodedBySdk(): Unit = sdkReads.increment()

  def throttledPoll(shard: ShardKey): Unit = {
    throttledPolls.increment()
    throttled(shard)
  }

  def failedPoll(): Unit = failedPolls.increment()

  /** A publisher begins to subscribe to a shard. */
  def open(shard: ShardKey): Gauge = {
    val gauge = new Gauge(shard, runtime.clock.nanos())
    gauges.add(gauge)
    latest.put(shard, gauge)
    gauge
  }

  def resubscribed(): Unit = resubscriptions.increment()

  def refusedSubscription(shard: ShardKey): Unit = {
    refusals.increment()
    throttled(shard)
  }

  def failedSubscription(): Unit = failures.increment()

  /** Waits until every publisher has left its subscription, and says whether that came to be in time. */
  def awaitClosed(atMost: FiniteDuration): Boolean =
    gauges.synchronized(runtime.waits.until(gauges, atMost)(gauges.isEmpty))

  /** Forgets shards that are not read here any more, an hour after they were counted last. */
  def forget(isRead: ShardKey => Boolean): Unit = {
    val now = runtime.clock.nanos()
    byShard.entrySet.removeIf(e => !isRead(e.getKey) && now - e.getValue.atNanos > Remembered.toNanos): Unit
  }

  /** The counts of those shards that have any. */
  def counts(shards: Vector[ShardKey]): Vector[(ShardKey, ShardCounts)] = for {
    shard   <- shards
    counted <- countsOf(shard)
  } yield shard -> counted

  /** The counts of all shards that have any.
    *
    * @param reading shards that are read now
    */
  def allCounts(reading: Vector[ShardKey]): Vector[(ShardKey, ShardCounts)] =
    counts((byShard.keySet.asScala ++ reading).toVector.distinct)

  /** @param bufferedBytes that the readers hold now
    * @param isFanOut      whether they read through subscriptions now
    */
  def totals(bufferedBytes: Long, isFanOut: Boolean): ReaderTotals = ReaderTotals(
    bufferedBytes,
    rereadBytes = rereadBytes.sum,
    rereadRecords = rereadRecords.sum,
    reads = reads.get,
    sdkReads = sdkReads.sum,
    delivered = delivered.get,
    polling = PollingReport(throttledPolls.sum, failedPolls.sum),
    subscriptions = Option.when(isFanOut)(subscriptions)
  )

  def subscriptions: SubscriptionReport = {
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

  private def countsOf(shard: ShardKey) = {
    val counted = Option(byShard.get(shard)).map(_.counts)
    Option(latest.get(shard)).fold(counted)(gauge =>
      Some(counted.getOrElse(ShardCounts.none).copy(isSubscribed = Some(gauge.live)))
    )
  }

  private def throttled(shard: ShardKey): Unit = add(shard, ShardCounts.none.copy(throttled = 1))

  private def add(shard: ShardKey, more: ShardCounts): Unit = {
    merge(shard, more)
    onChange(shard)
  }

  private def merge(shard: ShardKey, more: ShardCounts): Unit =
    byShard.merge(
      shard,
      Counted(more, runtime.clock.nanos()),
      (a, b) => Counted(a.counts and b.counts, b.atNanos)
    ): Unit

  /** One publisher's subscriptions. */
  final class Gauge private[ReaderTelemetry] (shard: ShardKey, openedAt: Long) extends AutoCloseable {
    @volatile private var isLive                            = false
    @volatile private[ReaderTelemetry] var receivedAt: Long = openedAt

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

object ReaderTelemetry {
  private[reader] val Remembered = 1.hour

  /** @param atNanos the last time */
  private final case class Counted(counts: ShardCounts, atNanos: Long)
}

/** What one executor, or all, have counted of a shard.
  *
  * @param throttled    calls of GetRecords, GetShardIterator or SubscribeToShard that were refused because limits were used up
  * @param isSubscribed whether a subscription is open; None by polling
  */
final case class ShardCounts(
    throttled: Long,
    rereadRecords: Long,
    isSubscribed: Option[Boolean] = None,
    reads: ReadCount = ReadCount.none
) {
  def and(other: ShardCounts): ShardCounts = ShardCounts(
    throttled + other.throttled,
    rereadRecords + other.rereadRecords,
    (isSubscribed ++ other.isSubscribed).reduceOption(_ || _),
    reads and other.reads
  )
}

object ShardCounts {
  val none: ShardCounts = ShardCounts(0, 0)
}

/** Calls of GetRecords and GetShardIterator that brought nothing and were tried again.
  *
  * @param throttled refused, because the shard's limits were used up
  * @param failed    for other reasons than that and an iterator that was too old
  */
final case class PollingReport(throttled: Long, failed: Long) {
  def and(other: PollingReport): PollingReport =
    PollingReport(throttled + other.throttled, failed + other.failed)
}

object PollingReport {
  val none: PollingReport = PollingReport(0, 0)
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
