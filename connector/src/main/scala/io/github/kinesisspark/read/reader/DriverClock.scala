package io.github.kinesisspark.read.reader

import java.util.concurrent.atomic.AtomicReference

import io.github.kinesisspark.read.reader.DriverClock.Message

/** The driver's clock as an executor knows it: what it was when the last message was sent, and the time since that came. So it is
  * never ahead of the driver, and behind by as long as the message was on its way: clocks of two machines are not compared.
  *
  * Thread-safe; of two messages the one counts that was sent later.
  */
private[reader] final class DriverClock {
  private val last = new AtomicReference(Option.empty[Message])

  def update(driverNanos: Long, nowNanos: Long): Unit =
    last.updateAndGet(before =>
      before.filter(_.driverNanos - driverNanos > 0).orElse(Some(Message(driverNanos, nowNanos)))
    ): Unit

  /** The executor's own, before the driver's first message. */
  def at(nowNanos: Long): Long = last.get.fold(nowNanos)(message => message.driverNanos + (nowNanos - message.nowNanos))
}

private object DriverClock {
  private final case class Message(driverNanos: Long, nowNanos: Long)
}
