package io.github.kinesisspark.read.plan

import scala.concurrent.duration.FiniteDuration

/** A batch's limits.
  *
  * @param most  what a batch takes at most
  * @param least wait until there are this many records, but no longer than the time after the last batch
  */
final case class BatchLimits(most: Admission.Limits, least: Option[(Long, FiniteDuration)]) {

  /** A batch may take all that readers hold. */
  def isUnlimited: Boolean = most == Admission.Limits.none

  /** Whether so few records are no batch yet.
    *
    * @param sinceBatch time since the last batch was planned
    */
  def holdBack(records: Long, sinceBatch: FiniteDuration): Boolean =
    least.exists { case (wanted, delay) => records < wanted && sinceBatch < delay }
}

object BatchLimits {
  val none: BatchLimits = BatchLimits(Admission.Limits.none, None)
}
