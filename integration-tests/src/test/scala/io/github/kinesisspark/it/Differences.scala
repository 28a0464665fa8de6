package io.github.kinesisspark.it

/** Every known difference between a server and the service, and whose it is. `SERVERS.md` is this table in prose; a
  * conformance scenario shows each, and fails when a server no longer has it.
  */
object Differences {
  val all: Seq[Difference] = Seq()

  val ofKinesisLocal: Set[Difference] = Set()
  val ofLocalStack: Set[Difference]   = Set()
}
