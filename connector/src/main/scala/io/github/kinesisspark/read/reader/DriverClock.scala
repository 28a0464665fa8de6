package io.github.kinesisspark.read.reader

import java.util.concurrent.atomic.AtomicReference

import io.github.kinesisspark.read.reader.DriverClock.Heard

/** The driver's clock as an executor knows it: what it was when the last message was sent, and the time since that came. So it is
  * never ahead of the driver, and behind by as long as the message was on its way: clocks of two machines are not compared.
  *
  * Heard of and asked on any thread; of two messages the one counts that was sent later.
  */
private[reader] final class DriverClock {
  private val last = new AtomicReference(Option.empty[Heard])

  def hear(driverNanos: Long, nowNanos: Long): Unit =
    last.updateAndGet(before =>
      before.filter(_.driverNanos - driverNanos > 0).orElse(Some(Heard(driverNanos, nowNanos)))
    ): Unit

  /** The executor's own, before it has heard of the driver. */
  def at(nowNanos: Long): Long = last.get.fold(nowNanos)(heard => heard.driverNanos + (nowNanos - heard.nowNanos))
}

private object DriverClock {
  private final case class Heard(driverNanos: Long, nowNanos: Long)
}
