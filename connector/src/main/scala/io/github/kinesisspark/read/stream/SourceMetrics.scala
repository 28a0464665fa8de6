package io.github.kinesisspark.read.stream

import java.util

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import io.github.kinesisspark.aws.ConsumerCalls
import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.plan.{CutPoint, ReaderStatus, ShardMaps}
import io.github.kinesisspark.read.reader.{ReadCount, ReadersNow, SubscriptionReport}

/** The values of `StreamingQueryProgress.sources[].metrics`, as of the last planning.
  *
  * @param atNanos      when they are looked at, by the driver's clock
  * @param lags         of the shards that are read, as their readers last reported
  * @param shards       those that are to be read
  * @param cuts         the planned batch, by shard
  * @param readers      what all executors hold and have done
  * @param before       `readers` as of the previous planning
  * @param consumers    calls about consumers, where they are registered
  * @param published    calls of CloudWatch
  * @param unknown      lags of shards that have never reported: none at first, and growing since the shard was to be read
  * @param unplanned    until the first planning, the lag of all shards: growing since the source began
  * @param trigger      the time from one planning to the next that the query's trigger asks for; 0 for the next as soon as possible
  */
final case class SourceMetrics(
    atNanos: Long,
    lags: Map[ShardKey, SourceMetrics.Lag],
    shards: Vector[ShardKey],
    cuts: Map[ShardKey, CutPoint],
    readers: ReadersNow,
    before: ReadersNow,
    consumers: Option[ConsumerCalls],
    published: PublishedCalls = PublishedCalls.none,
    unknown: Map[ShardKey, SourceMetrics.Lag] = Map.empty,
    unplanned: Option[SourceMetrics.Lag] = None,
    trigger: FiniteDuration = Duration.Zero
) {
  import SourceMetrics._

  /** For the query's progress. What gauges leave out: a text, and the lag by FLIP-128's name, which CloudWatch would charge for a second time. */
  def toJava: util.Map[String, String] =
    (numbers ++ Seq(
      SourceDetails.Name   -> SourceDetails.json(this),
      "millisBehindLatest" -> maxLagMillis.toString
    )).asJava

  /** How far the planned ends of the shards are behind their newest records: that of a shard without answers grows. */
  private lazy val lagMillis = lags.valuesIterator.map(_.millisAt(atNanos)).toVector

  /** A shard that has never reported is behind by at least the time since it was to be read. */
  private def maxLagMillis =
    (lagMillis ++ (unknown.valuesIterator ++ unplanned).map(_.millisAt(atNanos))).maxOption.getOrElse(0L)

  private def fleet = readers.totals

  /** Reads since the planning before: of all shards, or of one. */
  def reads: ReadCount                  = fleet.reads.since(before.totals.reads)
  def reads(shard: ShardKey): ReadCount = readers.counts(shard).reads.since(before.counts(shard).reads)

  private lazy val numbers =
    general ++ fleet.subscriptions.iterator.flatMap(ofSubscriptions) ++ consumers.iterator.flatMap(ofConsumers)

  private def general = Map(
    "maxMillisBehindLatest"      -> maxLagMillis.toString,
    "avgMillisBehindLatest"      -> (if (lagMillis.isEmpty) 0L else lagMillis.sum / lagMillis.size).toString,
    "minMillisBehindLatest"      -> lagMillis.minOption.getOrElse(0L).toString,
    "records"                    -> cuts.valuesIterator.map(_.records).sum.toString,
    "bytes"                      -> cuts.valuesIterator.map(_.bytes).sum.toString,
    "shardsOpen"                 -> shards.size.toString,
    "bufferedBytes"              -> fleet.bufferedBytes.toString,
    "rereadBytes"                -> fleet.rereadBytes.toString,
    "rereadRecords"              -> fleet.rereadRecords.toString,
    "callsThrottled"             -> fleet.polling.throttled.toString,
    "callsFailed"                -> fleet.polling.failed.toString,
    "readsDecodedBySdk"          -> fleet.sdkReads.toString,
    "userRecords"                -> fleet.delivered.userRecords.toString,
    "userRecordsOfOtherShards"   -> fleet.delivered.ofOthers.toString,
    "malformedAggregatedRecords" -> fleet.delivered.damaged.toString,
    "cloudWatchCalls"            -> published.made.toString,
    "cloudWatchCallsFailed"      -> published.failed.toString,
    // FLIP-128's names. Per read, because a read is what a shard's 2 MB/s come in. All Kinesis records are "aggregated" there,
    // and all user records "deaggregated"; what a read holds of the latter is as many as records have had so far.
    "bytesPerRead"                -> reads.bytesPerRead.toString,
    "numberOfAggregatedRecords"   -> reads.recordsPerRead.toString,
    "numberOfDeaggregatedRecords" -> userRecordsPerRead.toString
  )

  private def userRecordsPerRead =
    reads.copy(records = Math.round(reads.records * fleet.delivered.factor)).recordsPerRead

  /** The same at a later time. Until the next planning is due, the lag stays as the last planning found it. After that it may have grown by the time since
    * then, as nobody knows which records have arrived.
    */
  def at(nowNanos: Long): SourceMetrics = copy(atNanos = math.max(atNanos, nowNanos - trigger.toNanos))

  /** The next planning's. */
  def next(
      open: Iterable[ShardKey],
      statuses: Map[ShardKey, ReaderStatus],
      cuts: Map[ShardKey, CutPoint],
      readers: ReadersNow,
      consumers: Option[ConsumerCalls],
      nowNanos: Long
  ): SourceMetrics = {
    val reported = ShardMaps.collect(statuses) { (shard, status) =>
      for (behind <- status.millisBehind) yield {
        // What is buffered and not admitted comes on top of what the reader itself is behind.
        val held = for {
          newest <- status.newestArrival
          from   <- cuts.get(shard).flatMap(_.newestArrival).orElse(status.oldestArrival)
        } yield math.max(0L, newest - from)
        val ago = status.millisSinceAnswer.getOrElse(0L)
        Lag(behind + held.getOrElse(0L), nowNanos - ago * 1000000)
      }
    }
    val all    = open.toVector
    val silent = all.iterator.filterNot(reported.contains).flatMap(shard => lags.get(shard).map(shard -> _))
    val known  = reported ++ silent
    val begins = unplanned.getOrElse(Lag(0, nowNanos))
    SourceMetrics(
      nowNanos,
      known,
      all,
      cuts,
      readers,
      this.readers,
      consumers,
      unknown = all.iterator.filterNot(known.contains).map(s => s -> unknown.getOrElse(s, begins)).toMap
    )
  }

  /** The next planning's, of a batch that takes all there is. What its tasks read is not counted. */
  def withoutReaders(open: Iterable[ShardKey], consumers: Option[ConsumerCalls], nowNanos: Long): SourceMetrics =
    next(open, Map.empty, Map.empty, ReadersNow.none, consumers, nowNanos)
      .copy(lags = open.iterator.map(_ -> Lag(0, nowNanos)).toMap, unknown = Map.empty)
}

object SourceMetrics {

  /** How far the planned end of a shard was behind its newest record, by the service's clock, when the service last answered its reader. */
  final case class Lag(millis: Long, atNanos: Long) {

    /** Where there has been no answer since for longer than even idle shards go without one, the time since counts as well. */
    def millisAt(nowNanos: Long): Long = {
      val since = (nowNanos - atNanos) / 1000000
      if (since > LongestSilence.toMillis) millis + since else millis
    }
  }

  /** Twice the time between two events of a subscription, or between two calls where shards are many. */
  private val LongestSilence = 10.seconds

  /** What Spark's metrics system shows of a source, by the names that its progress has.
    *
    * @param now the metrics when a gauge is looked at
    */
  def gauges(isFanOut: Boolean, now: () => SourceMetrics): Map[String, () => Long] = {
    val names = none.general.keySet ++ (if (isFanOut) fanOutNames else Set.empty)
    names.iterator.map(name => name -> (() => now().numbers.get(name).fold(0L)(_.toLong))).toMap
  }

  /** Those that a source has once its consumers are registered and subscribed through. */
  private val fanOutNames =
    (ofSubscriptions(SubscriptionReport(0, 0, 0, 0, 0, 0)) ++ ofConsumers(ConsumerCalls.none)).keySet

  private def ofSubscriptions(s: SubscriptionReport) = Map(
    "subscriptionsLive"    -> s.live.toString,
    "subscriptionsWaiting" -> s.waiting.toString,
    "subscriptionsRefused" -> s.refused.toString,
    "subscriptionsFailed"  -> s.failed.toString,
    "resubscriptions"      -> s.resubscriptions.toString,
    "millisSinceLastEvent" -> s.longestSilenceMillis.toString
  )

  private def ofConsumers(c: ConsumerCalls) = Map(
    "consumerCalls"      -> c.calls.values.sum.toString,
    "consumerWaits"      -> c.waits.toString,
    "consumerWaitMillis" -> c.waitedMillis.toString
  )

  val none: SourceMetrics =
    SourceMetrics(0, Map.empty, Vector.empty, Map.empty, ReadersNow.none, ReadersNow.none, None)

  /** Of a source that has planned nothing yet. */
  def begun(nowNanos: Long): SourceMetrics = none.copy(atNanos = nowNanos, unplanned = Some(Lag(0, nowNanos)))
}
