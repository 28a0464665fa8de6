package io.github.kinesisspark.read.reader

import java.util.concurrent.atomic.{AtomicLong, AtomicReference}

import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.runtime.Runtime

/** Counts what the readers of one source in one executor have done since they were opened, and what tasks have read there: of each shard, and of all. Any thread
  * calls it.
  *
  * @param onChange called after a shard's counts have changed, unless by a delivery, which is reported anyway; must not block
  */
private[reader] final class PoolTelemetry(onChange: ShardKey => Unit)(implicit runtime: Runtime) {
  private val rereadBytes   = new AtomicLong
  private val rereadRecords = new AtomicLong
  private val reads         = new AtomicReference(ReadCount.none)
  private val delivered     = new AtomicReference(UserRecordCount.none)
  private val byShard       = new ShardTelemetry(onChange)

  val polled     = new PollingTelemetry(byShard)
  val subscribed = new FanOutTelemetry(byShard, onChange)

  /** A reader has received a delivery. */
  def read(shard: ShardKey, totals: RecordTotals): Unit = {
    val one = ReadCount(1, totals.records, totals.bytes)
    reads.updateAndGet(_.and(one)): Unit
    byShard.read(shard, one)
  }

  /** Tasks have read records from Kinesis again. */
  def reread(shard: ShardKey, records: Array[KinesisRecord]): Unit = {
    rereadBytes.addAndGet(RecordTotals.of(records).bytes)
    rereadRecords.addAndGet(records.length.toLong)
    byShard.reread(shard, records.length.toLong)
  }

  /** Tasks have delivered records. */
  def deliver(records: UserRecordCount): Unit = delivered.updateAndGet(_.and(records)): Unit

  /** As [[ShardTelemetry.forget]]. */
  def forget(isRead: ShardKey => Boolean): Unit = byShard.forget(isRead)

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
    counts((byShard.shards ++ reading).toVector.distinct)

  private def countsOf(shard: ShardKey) = {
    val counted = byShard.of(shard)
    subscribed
      .isLive(shard)
      .fold(counted)(live => Some(counted.getOrElse(ShardCounts.none).copy(isSubscribed = Some(live))))
  }

  /** @param bufferedBytes that the readers hold now
    * @param isFanOut      whether they read through subscriptions now
    */
  def totals(bufferedBytes: Long, isFanOut: Boolean): ReaderTotals = ReaderTotals(
    bufferedBytes,
    rereadBytes = rereadBytes.get,
    rereadRecords = rereadRecords.get,
    reads = reads.get,
    sdkReads = byShard.readsBySdk,
    delivered = delivered.get,
    polling = polled.report,
    subscriptions = Option.when(isFanOut)(subscribed.report)
  )
}
