package io.github.kinesisspark.read.reader

/** The driver's `System.nanoTime` as an executor knows it: what it was when the last message was sent, and the time since that came. So it is
  * never ahead of the driver, and behind by as long as the message was on its way: clocks of two machines are not compared.
  *
  * Heard of on one thread, asked on any.
  */
private[reader] final class DriverClock {
  @volatile private var behind = 0L

  def hear(driverNanos: Long, nowNanos: Long): Unit = behind = nowNanos - driverNanos

  def at(nowNanos: Long): Long = nowNanos - behind
}
