package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

/** How long a planning that finds nothing waits for news beside other sources of its query, which Spark plans one after the other: the longer, the
  * more a planning costs, so that a query that stands idle plans for a tenth of the time at most. Pure.
  *
  * @param lastNanos   what the last planning that found nothing took, without waiting
  * @param beforeNanos what the one before it took
  */
final case class IdlePace(lastNanos: Long, beforeNanos: Long) {

  def planned(nanos: Long): IdlePace = IdlePace(nanos, lastNanos)

  /** Beside what Spark waits. One odd planning counts for nothing. */
  def pause: FiniteDuration =
    ((lastNanos.min(beforeNanos) * 9).nanos - IdlePace.SparkWaits).max(Duration.Zero).min(IdlePace.Longest)
}

object IdlePace {
  val begin: IdlePace = IdlePace(0, 0)

  /** Between two plannings of a query that find nothing: `spark.sql.streaming.pollingDelay`. */
  val SparkWaits: FiniteDuration = 10.millis

  /** As where the source is alone in its query. */
  val Longest: FiniteDuration = 1.second
}
