package io.github.kinesisspark.runtime

import java.util.UUID
import java.util.concurrent.ThreadLocalRandom

/** Time, waiting, chance and threads of one process. The engine has them from here alone, so that a simulation can put its own in their place.
  *
  * Threads of the AWS SDK and of Spark are not from here; what they bring enters through mailboxes.
  */
final class Runtime(val clock: Clock, val waits: Waits, val ids: Ids, val workers: Workers) {

  /** For time limits of calls: what is scheduled here must not block. */
  lazy val timers: Worker = workers.fixed("kinesis-timers", 1)

  /** For log lines of each shard or attempt. */
  val lines: RepeatedLines = new RepeatedLines(timers)
}

object Runtime {

  val ofJvm: Runtime = {
    val clock = JvmClock
    new Runtime(clock, new JvmWaits(clock), JvmIds, new JvmWorkers)
  }

  private object JvmClock extends Clock {
    override def nanos(): Long  = System.nanoTime()
    override def millis(): Long = System.currentTimeMillis()
  }

  private object JvmIds extends Ids {
    override def uuid(): String   = UUID.randomUUID().toString
    override def chance(): Double = ThreadLocalRandom.current().nextDouble()
  }
}

/** Two clocks, of which one never goes back. */
trait Clock {

  /** In ns since an unknown time; never goes back. Durations and deadlines are measured by it. */
  def nanos(): Long

  /** In ms since 1970, by the machine's clock, which may jump. */
  def millis(): Long
}

/** What two processes must not have in common. */
trait Ids {
  def uuid(): String

  /** Uniform in [0, 1), for jitter. */
  def chance(): Double
}
