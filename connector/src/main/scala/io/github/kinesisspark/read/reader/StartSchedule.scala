package io.github.kinesisspark.read.reader

import java.util.concurrent.atomic.AtomicLong

import scala.concurrent.duration._

import io.github.kinesisspark.runtime.Runtime

/** When the readers of one executor make their first calls: one after the other, so that ten thousand shards that begin together make
  * no storm. A reader that begins alone waits for nobody.
  *
  * The service's limits are per shard (GetShardIterator 5 calls/s, SubscribeToShard 1 call/s per consumer), and a reader keeps those
  * by itself; this is for what all shards share: the connections, and the account's control plane.
  */
final class StartSchedule(between: FiniteDuration)(implicit runtime: Runtime) {
  // Far enough in the past, and far from an overflow.
  private val last = new AtomicLong(runtime.clock.nanos() - between.toNanos)

  /** When to begin, by the clock of this process. */
  def next(): Long = {
    val now = runtime.clock.nanos()
    last.updateAndGet { before =>
      val soonest = before + between.toNanos
      if (soonest - now > 0) soonest else now
    }
  }
}

object StartSchedule {

  /** Of the readers of an executor: a thousand shards within five seconds. */
  def ofReaders(implicit runtime: Runtime): StartSchedule = new StartSchedule(5.millis)
}
