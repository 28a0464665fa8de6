package io.github.kinesisspark.config

import scala.concurrent.duration.FiniteDuration

/** The four options that say how one call is retried. */
final case class RetryOpts(
    maxRetries: Opt[Int],
    base: Opt[FiniteDuration],
    max: Opt[FiniteDuration],
    factor: Opt[Double]
) {
  def all: Seq[Opt[?]] = Seq(maxRetries, base, max, factor)
}

/** Their defaults, as text. */
private[config] final case class RetryDefaults(base: String, max: String, factor: String)

private[config] object RetryDefaults {
  val FLIP128: RetryDefaults = RetryDefaults("200ms", "1s", "1.5")
}
