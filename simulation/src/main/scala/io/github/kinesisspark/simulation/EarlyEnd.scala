package io.github.kinesisspark.simulation

/** How an attempt of a task ends that does not take all of its rows: after so many, or with its last one where it has fewer. */
sealed trait EarlyEnd extends Product with Serializable {
  def rows: Int
}

object EarlyEnd {

  /** The query's own code fails. */
  final case class Failure(rows: Int) extends EarlyEnd

  /** Spark kills the attempt, and interrupts its thread.
    *
    * @param isSeen Spark sees it before the next row; otherwise the thread is interrupted where it waits next
    */
  final case class Kill(rows: Int, isSeen: Boolean) extends EarlyEnd

  /** The query wants no more, as with `limit()`: the attempt succeeds. */
  final case class Limit(rows: Int) extends EarlyEnd
}
