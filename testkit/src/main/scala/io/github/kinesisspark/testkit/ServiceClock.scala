package io.github.kinesisspark.testkit

import java.time.{Duration, Instant}
import java.util.concurrent.atomic.AtomicLong

/** The time of the service: its `Date` header, arrival times, iterator expiry, retention and rate limits all read it.
  * Nothing in the server waits on it, so a clock that stands still never blocks a call.
  */
trait ServiceClock {

  /** Milliseconds since the epoch. */
  def millis: Long

  final def instant: Instant = Instant.ofEpochMilli(millis)
}

/** A clock that a test moves. */
trait MovableClock extends ServiceClock {
  def advance(by: Duration): Unit
  def set(to: Instant): Unit
}

object ServiceClock {

  /** The machine's clock. */
  val system: ServiceClock = new ServiceClock { def millis: Long = System.currentTimeMillis() }

  /** The machine's clock plus an offset that a test moves: time runs, and can be made to jump. */
  def shifted(): MovableClock = new MovableClock {
    private val offset              = new AtomicLong
    def millis: Long                = System.currentTimeMillis() + offset.get
    def advance(by: Duration): Unit = { offset.addAndGet(by.toMillis); () }
    def set(to: Instant): Unit      = offset.set(to.toEpochMilli - System.currentTimeMillis())
  }
}

/** A clock that moves only when told to. */
final class ManualClock(start: Instant) extends MovableClock {
  private val now                 = new AtomicLong(start.toEpochMilli)
  def millis: Long                = now.get
  def advance(by: Duration): Unit = { now.addAndGet(by.toMillis); () }
  def set(to: Instant): Unit      = now.set(to.toEpochMilli)
}

object ManualClock {

  /** A manual clock that starts at the machine's time. */
  def apply(): ManualClock               = apply(Instant.ofEpochMilli(System.currentTimeMillis()))
  def apply(start: Instant): ManualClock = new ManualClock(start)
}
