package io.github.kinesisspark.aws

import java.util.concurrent.{ThreadLocalRandom, TimeUnit}

import scala.concurrent.duration.FiniteDuration

/** Time and chance as blocking callers have them, and the only place that sleeps. Tests have time of their own.
  *
  * @param now    in ms since 1970
  * @param chance uniform in [0, 1)
  */
final case class Waiting(now: () => Long, chance: () => Double, sleep: FiniteDuration => Unit) {

  /** The same time in ns. */
  private[aws] def nanos: Long = TimeUnit.MILLISECONDS.toNanos(now())
}

object Waiting {
  val real: Waiting = Waiting(
    now = () => System.currentTimeMillis(),
    chance = () => ThreadLocalRandom.current().nextDouble(),
    sleep = d => Thread.sleep(d.toMillis)
  )
}
