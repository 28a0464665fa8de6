package io.github.kinesisspark.it.soak

import java.util.concurrent.TimeUnit

import scala.concurrent.duration.{Duration, FiniteDuration}

/** How long batches take: each waits for the pause in force, or until it is over. */
final class Pace {
  private var pause: FiniteDuration = Duration.Zero

  def set(longer: FiniteDuration): Unit = synchronized {
    pause = longer
    notifyAll()
  }

  def none(): Unit = set(Duration.Zero)

  def pass(): Unit = synchronized {
    val mine     = pause
    val deadline = mine.fromNow
    while (pause == mine && deadline.hasTimeLeft()) TimeUnit.NANOSECONDS.timedWait(this, deadline.timeLeft.toNanos)
  }
}
