package io.github.kinesisspark.testkit

import java.time.{Duration, Instant}
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.atomic.AtomicLong

/** The time of the service: its `Date` header, arrival times, iterator expiry, retention and rate limits all read it, and
  * subscriptions live and beat by it. No call waits on it, so a clock that stands still never blocks one.
  */
trait ServiceClock {

  /** Milliseconds since the epoch. */
  def millis: Long

  /** Whether it moves by itself, as fast as the machine's. */
  def runs: Boolean = true

  final def instant: Instant = Instant.ofEpochMilli(millis)
}

/** A clock that a test moves. */
abstract class MovableClock extends ServiceClock {
  private val listeners = new CopyOnWriteArrayList[Runnable]

  final def advance(by: Duration): Unit = { add(by.toMillis); listeners.forEach(_.run()) }
  final def set(to: Instant): Unit      = { moveTo(to.toEpochMilli); listeners.forEach(_.run()) }

  protected def add(millis: Long): Unit
  protected def moveTo(millis: Long): Unit

  /** Calls it after every move, until what is returned is closed. */
  private[testkit] def onMove(listener: Runnable): AutoCloseable = {
    listeners.add(listener)
    () => { listeners.remove(listener); () }
  }
}

object ServiceClock {

  /** The machine's clock. */
  val system: ServiceClock = new ServiceClock { def millis: Long = System.currentTimeMillis() }

  /** The machine's clock plus an offset that a test moves: time runs, and can be made to jump. */
  def shifted(): MovableClock = new MovableClock {
    private val offset                       = new AtomicLong
    def millis: Long                         = System.currentTimeMillis() + offset.get
    protected def add(millis: Long): Unit    = { offset.addAndGet(millis); () }
    protected def moveTo(millis: Long): Unit = offset.set(millis - System.currentTimeMillis())
  }
}

/** A clock that moves only when a test moves it. */
final class ManualClock(start: Instant) extends MovableClock {
  private val now                          = new AtomicLong(start.toEpochMilli)
  def millis: Long                         = now.get
  override def runs: Boolean               = false
  protected def add(millis: Long): Unit    = { now.addAndGet(millis); () }
  protected def moveTo(millis: Long): Unit = now.set(millis)
}

object ManualClock {

  /** A manual clock that starts at the machine's time. */
  def apply(): ManualClock               = apply(Instant.ofEpochMilli(System.currentTimeMillis()))
  def apply(start: Instant): ManualClock = new ManualClock(start)
}
