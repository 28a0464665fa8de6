package io.github.kinesisspark.it

/** What is known of how a target differs from the service. */
sealed trait KnownDifferences {

  /** Whether the target is known to have this difference. */
  def has(difference: Difference): Boolean

  /** Those that a scenario of the conformance suite must show. */
  def all: Set[Difference]
}

object KnownDifferences {

  /** The conformance suite has run on the target and shows these, and no others. */
  final case class Measured(all: Set[Difference]) extends KnownDifferences {
    override def has(difference: Difference): Boolean = all(difference)
  }

  /** The conformance suite has not run on the target yet. A run holds it to the service's promises.
    *
    * @param refuted what others have recorded that it does not have; nothing is known of the rest
    */
  final case class NotRunYet(refuted: Map[Difference, Recording]) extends KnownDifferences {
    override def has(difference: Difference): Boolean = false
    override def all: Set[Difference]                 = Set.empty
  }
}
