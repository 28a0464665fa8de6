package io.github.kinesisspark.read.reader

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.runtime.Runtime

/** Counts by shard of one source in one executor, since its readers were opened. Any thread calls it.
  *
  * @param onChange called after a shard's counts have changed; must not block
  */
final class ShardTelemetry(onChange: ShardKey => Unit)(implicit runtime: Runtime) {
  import ShardTelemetry._

  private val counts   = new ConcurrentHashMap[ShardKey, Counted]
  private val sdkReads = new LongAdder

  /** A call was refused because limits were used up. */
  def throttled(shard: ShardKey): Unit = add(shard, ShardCounts(throttled = 1, rereadRecords = 0))

  /** A task has read records again. */
  def reread(shard: ShardKey, records: Long): Unit = add(shard, ShardCounts(throttled = 0, records))

  /** Counts what a reader received. Does not call `onChange`, because the reader reports each delivery anyway. */
  def read(shard: ShardKey, more: ReadCount): Unit = merge(shard, ShardCounts.none.copy(reads = more))

  /** Counts a read that the SDK has decoded. */
  def decodedBySdk(): Unit = sdkReads.increment()

  /** Such reads of all shards. */
  def readsBySdk: Long = sdkReads.sum

  def of(shard: ShardKey): Option[ShardCounts] = Option(counts.get(shard)).map(_.counts)

  def shards: Iterable[ShardKey] = counts.keySet.asScala

  /** Forgets shards that are not read here any more, an hour after they were counted last. */
  def forget(isRead: ShardKey => Boolean): Unit = {
    val now = runtime.clock.nanos()
    counts.entrySet.removeIf(e => !isRead(e.getKey) && now - e.getValue.atNanos > Remembered.toNanos): Unit
  }

  private def add(shard: ShardKey, more: ShardCounts): Unit = {
    merge(shard, more)
    onChange(shard)
  }

  private def merge(shard: ShardKey, more: ShardCounts): Unit =
    counts.merge(shard, Counted(more, runtime.clock.nanos()), (a, b) => Counted(a.counts and b.counts, b.atNanos)): Unit
}

object ShardTelemetry {

  private[reader] val Remembered = 1.hour

  /** @param atNanos the last time */
  private final case class Counted(counts: ShardCounts, atNanos: Long)

  /** Of readers that nobody reports on. */
  def ignored(implicit runtime: Runtime): ShardTelemetry = new ShardTelemetry(_ => ())
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
