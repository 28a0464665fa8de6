package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

/** How long a planning that finds nothing waits for news beside other sources of its query, which Spark plans one after the other. It waits longer where a
  * planning costs more, so that an idle query spends a tenth of its time on plannings at most. Pure.
  *
  * @param lastNanos   what the last planning that found nothing took, without waiting
  * @param beforeNanos what the one before it took
  */
final case class IdlePace(lastNanos: Long, beforeNanos: Long) {

  def after(nanos: Long): IdlePace = IdlePace(nanos, lastNanos)

  /** In addition to what Spark waits. One odd planning has no effect. */
  def pause: FiniteDuration =
    ((lastNanos.min(beforeNanos) * 9).nanos - IdlePace.SparkWaits).max(Duration.Zero).min(IdlePace.Longest)
}

object IdlePace {
  val begin: IdlePace = IdlePace(0, 0)

  /** Between two plannings of a query that find nothing: `spark.sql.streaming.pollingDelay`. */
  val SparkWaits: FiniteDuration = 10.millis

  /** Also what a source waits that is alone in its query. */
  val Longest: FiniteDuration = 1.second
}
