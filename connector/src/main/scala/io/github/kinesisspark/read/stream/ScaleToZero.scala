package io.github.kinesisspark.read.stream

import scala.concurrent.duration._

import org.apache.spark.sql.connector.read.streaming.Offset

import io.github.kinesisspark.read.catalog.ReadToTip
import io.github.kinesisspark.read.plan.{PlanningResult, PlanningState}

/** Leaves an idle query without executors where Spark has removed all of them: dynamic allocation with `spark.dynamicAllocation.minExecutors` = 0, its
  * default. The driver then looks into the shards every 10 s, and an executor is started only when there is something to plan.
  *
  * Used by the query's own thread only.
  */
private[stream] final class ScaleToZero(source: QuerySource) {
  import ScaleToZero._
  import source.{catalog, readers, retention, runtime}

  /** The last look, if it has found nothing: when it was, and what it shows. */
  private var looked = Option.empty[(Long, PlanningResult)]

  /** Whether there are no executors, and nothing to plan. Where there is something, the planning that follows waits for an executor.
    *
    * @param isUrgent somebody waits for the answer: Kinesis is asked now, whenever that was before
    */
  def isIdle(start: Offset, isUrgent: Boolean): Boolean = {
    readers.allowNone(true)
    readers.areNone && {
      val recent = looked.filter { case (at, _) => !isUrgent && runtime.clock.nanos() - at < Pause.toNanos }
      looked = recent.orElse(look(source.begin(start)))
      // Otherwise the lag would grow between two looks.
      looked.foreach { case (_, nothing) => source.observe(nothing) }
      if (looked.isEmpty) readers.allowNone(false)
      looked.isDefined
    }
  }

  private def look(planning: PlanningState) = Option.when(hasNothing(planning))(
    runtime.clock.nanos() -> PlanningResult(planning.open.keys, planning.start, statuses = None, cuts = Map.empty)
  )

  private def hasNothing(planning: PlanningState) = {
    val isBetweenShards = planning.hasNewStreams || planning.ending.nonEmpty || planning.awaitingChildren.nonEmpty ||
      planning.doubtful.nonEmpty || planning.pastRetention.nonEmpty
    !isBetweenShards && !retention.isAging(planning.start) && ReadToTip.isSo(catalog, planning.open).contains(true)
  }
}

private object ScaleToZero {

  /** From one look into the shards to the next. */
  private val Pause = 10.seconds
}
