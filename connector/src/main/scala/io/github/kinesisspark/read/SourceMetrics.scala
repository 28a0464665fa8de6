package io.github.kinesisspark.read

import java.util

import scala.jdk.CollectionConverters._

import io.github.kinesisspark.aws.ConsumerCalls
import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.shard.{ReadCount, RecordBuffer, ShardTip}

/** What `StreamingQueryProgress.sources[].metrics` tells, as of the last planning.
  *
  * @param lagMillis how far the planned end of each shard is behind its newest record, by the service's clock
  * @param reading   reads since the planning before
  * @param fleet     what all executors hold and have done
  * @param consumers calls about consumers, where they are registered
  */
final case class SourceMetrics(
    lagMillis: Vector[Long],
    records: Long,
    bytes: Long,
    shards: Int,
    reading: ReadCount,
    fleet: ReaderFleet.Totals,
    consumers: Option[ConsumerCalls]
) {

  def toJava: util.Map[String, String] = (general ++ subscriptions ++ registration).asJava

  private def general = Map(
    "maxMillisBehindLatest"      -> lagMillis.maxOption.getOrElse(0L).toString,
    "avgMillisBehindLatest"      -> (if (lagMillis.isEmpty) 0L else lagMillis.sum / lagMillis.size).toString,
    "minMillisBehindLatest"      -> lagMillis.minOption.getOrElse(0L).toString,
    "records"                    -> records.toString,
    "bytes"                      -> bytes.toString,
    "shardsOpen"                 -> shards.toString,
    "bufferedBytes"              -> fleet.bufferedBytes.toString,
    "rereadBytes"                -> fleet.rereadBytes.toString,
    "rereadRecords"              -> fleet.rereadRecords.toString,
    "callsThrottled"             -> fleet.polling.throttled.toString,
    "callsFailed"                -> fleet.polling.failed.toString,
    "userRecords"                -> fleet.delivered.userRecords.toString,
    "userRecordsOfOtherShards"   -> fleet.delivered.ofOthers.toString,
    "malformedAggregatedRecords" -> fleet.delivered.damaged.toString,
    // FLIP-128's names. Per read, because a read is what a shard's 2 MB/s come in. All Kinesis records are "aggregated" there,
    // and all user records "deaggregated"; what a read holds of the latter is as many as records have had so far.
    "millisBehindLatest"          -> lagMillis.maxOption.getOrElse(0L).toString,
    "bytesPerRead"                -> perRead(reading.bytes).toString,
    "numberOfAggregatedRecords"   -> perRead(reading.records).toString,
    "numberOfDeaggregatedRecords" -> perRead(Math.round(reading.records * fleet.delivered.factor)).toString
  )

  private def perRead(n: Long) = if (reading.reads == 0) 0L else n / reading.reads

  private def subscriptions = fleet.subscriptions.fold(Map.empty[String, String])(s =>
    Map(
      "subscriptionsLive"    -> s.live.toString,
      "subscriptionsWaiting" -> s.waiting.toString,
      "subscriptionsRefused" -> s.refused.toString,
      "subscriptionsFailed"  -> s.failed.toString,
      "resubscriptions"      -> s.resubscriptions.toString,
      "millisSinceLastEvent" -> s.longestSilenceMillis.toString
    )
  )

  private def registration = consumers.fold(Map.empty[String, String])(c =>
    Map(
      "consumerCalls"      -> c.calls.values.sum.toString,
      "consumerWaits"      -> c.waits.toString,
      "consumerWaitMillis" -> c.waitedMillis.toString
    )
  )

  /** The next planning's. */
  def next(
      tips: Map[ShardKey, ShardTip],
      cuts: Map[ShardKey, RecordBuffer.Cut],
      fleet: ReaderFleet.Totals,
      consumers: Option[ConsumerCalls]
  ): SourceMetrics = {
    val lags = tips.values.iterator.flatMap { tip =>
      for {
        behind <- tip.millisBehind
        // What is buffered and not admitted comes on top of what the reader itself is behind.
        held =
          for {
            newest   <- tip.newestArrival
            admitted <- cuts.get(tip.shard).flatMap(_.newestArrival)
          } yield math.max(0L, newest - admitted)
      } yield behind + held.getOrElse(0L)
    }.toVector
    SourceMetrics(
      lags,
      cuts.values.map(_.records).sum,
      cuts.values.map(_.bytes).sum,
      tips.size,
      fleet.reads.since(this.fleet.reads),
      fleet,
      consumers
    )
  }
}

object SourceMetrics {
  val none: SourceMetrics = SourceMetrics(Vector.empty, 0, 0, 0, ReadCount.none, ReaderFleet.Totals.none, None)
}
