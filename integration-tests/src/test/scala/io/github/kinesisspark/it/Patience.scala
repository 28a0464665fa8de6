package io.github.kinesisspark.it

import org.scalatest.time.{Millis, Seconds, Span}

/** How long a condition about a service is awaited, and how often it is checked. Most checks are calls. */
final case class Patience(atMost: Span, every: Span)

object Patience {

  /** An emulator: states change within a second, and calls cost nothing. On a busy machine the first query of a JVM takes two minutes. */
  val emulator: Patience = Patience(Span(300, Seconds), Span(50, Millis))

  /** A server with quotas: DescribeStreamSummary takes 20 calls a second.
    *
    * @see [[https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html Quotas and limits]]
    */
  val limited: Patience = Patience(Span(120, Seconds), Span(200, Millis))

  /** The service takes half a minute to create, split or delete. */
  val service: Patience = Patience(Span(300, Seconds), Span(2, Seconds))
}
