package io.github.kinesisspark

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

/** Waits up to a minute, in which a busy machine gets to everything. */
trait EventuallyInAMinute extends Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(60, Seconds), Span(10, Millis))
}
