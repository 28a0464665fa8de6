package io.github.kinesisspark.read.reader

import java.util.concurrent.atomic.LongAdder

import io.github.kinesisspark.position.ShardKey

/** Counts of the polling calls of one source in one executor, since its readers were opened: throttled and failed. */
final class PollingTelemetry(shards: ShardTelemetry) {
  private val refusals = new LongAdder
  private val failures = new LongAdder

  def throttled(shard: ShardKey): Unit = {
    refusals.increment()
    shards.throttled(shard)
  }

  def failed(): Unit = failures.increment()

  def decodedBySdk(): Unit = shards.decodedBySdk()

  def report: PollingReport = PollingReport(refusals.sum, failures.sum)
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
