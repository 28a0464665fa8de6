package io.github.kinesisspark.aws

import scala.concurrent.duration.{FiniteDuration, MILLISECONDS}

/** How long to wait before the next attempt: exponential, capped, with full jitter, so that callers who failed together don't
  * come back together. Pure: chance is a parameter.
  *
  * @param base   the cap of the first wait
  * @param max    the cap of any wait
  * @param factor by which the cap grows
  * @see [[https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/ exponential backoff and jitter]]
  */
final case class Backoff(base: FiniteDuration, max: FiniteDuration, factor: Double = 2.0) {
  require(base.toMillis > 0 && max >= base && factor >= 1.0, s"not a backoff: $this")

  /** @param attempt failures so far, from 1 */
  def ceiling(attempt: Int): FiniteDuration =
    FiniteDuration(
      math.min(max.toMillis.toDouble, base.toMillis * math.pow(factor, attempt - 1.0)).toLong,
      MILLISECONDS
    )

  /** @param chance uniform in [0, 1) */
  def delay(attempt: Int, chance: Double): FiniteDuration =
    FiniteDuration((ceiling(attempt).toMillis * chance).toLong, MILLISECONDS)
}
