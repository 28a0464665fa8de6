package io.github.kinesisspark.it

/** Every known difference between a server and the service, and whose it is. `SERVERS.md` is this table in prose; a
  * conformance scenario shows each, and fails when a server no longer has it.
  */
object Differences {
  val NoRateLimits: Difference = Difference(
    "no-rate-limits",
    "answers as many reads and writes as it can",
    "throttling cannot be tested against it"
  )
  val all: Seq[Difference] = Seq(NoRateLimits)

  val ofKinesisLocal: Set[Difference] = Set(NoRateLimits)
  val ofLocalStack: Set[Difference]   = Set(NoRateLimits)
}
