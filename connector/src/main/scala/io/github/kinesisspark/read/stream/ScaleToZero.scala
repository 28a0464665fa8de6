package io.github.kinesisspark.read.stream

import scala.concurrent.duration._

import org.apache.spark.sql.connector.read.streaming.Offset

import io.github.kinesisspark.position.{KinesisOffset, ShardKey, ShardPosition, StreamArn}
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

  /** The last look, if it has found nothing. */
  private var looked = Option.empty[Look]

  /** Whether there are no executors, and nothing to plan. Where there is something, the planning that follows waits for an executor.
    *
    * @param isUrgent somebody waits for the answer: Kinesis is asked now, whenever that was before
    */
  def isIdle(start: Offset, isUrgent: Boolean): Boolean = {
    readers.allowNone(true)
    readers.areNone && {
      val recent = looked.filter(last => !isUrgent && runtime.clock.nanos() - last.nanos < Pause.toNanos)
      looked = recent.orElse(look(source.begin(start)))
      // Otherwise the lag would grow between two looks.
      looked.foreach(last => source.observe(last.result))
      if (looked.isEmpty) readers.allowNone(false)
      looked.isDefined
    }
  }

  private def look(planning: PlanningState) = {
    val times = planning.streams.keysIterator.map(stream => stream -> catalog.now(stream)).toMap
    Option.when(hasNothing(planning))(
      Look(
        runtime.clock.nanos(),
        PlanningResult(planning.open.keys, planning.start, statuses = None, cuts = Map.empty),
        planning.open,
        times
      )
    )
  }

  /** By the last look, or by what the source knows, as the last report of its reader, which Spark has removed. */
  private def readTo(start: KinesisOffset)(shard: ShardKey, position: ShardPosition) = {
    val seen = looked.filter(_.positions.get(shard).contains(position)).map(_.times(shard.stream))
    (seen ++ source.readTo(start)(shard, position)).maxOption
  }

  private def hasNothing(planning: PlanningState) = {
    val isBetweenShards = planning.hasNewStreams || planning.ending.nonEmpty || planning.awaitingChildren.nonEmpty ||
      planning.doubtful.nonEmpty || planning.pastRetention.nonEmpty
    !isBetweenShards && !retention
      .isAging(planning.start) && ReadToTip.isSo(catalog, planning.open, readTo(planning.start)).contains(true)
  }
}

private object ScaleToZero {

  /** A look that has found nothing.
    *
    * @param nanos     when it was, by the driver's clock
    * @param result    what it shows
    * @param positions after which nothing was
    * @param times     when it began, by the service's clock
    */
  private final case class Look(
      nanos: Long,
      result: PlanningResult,
      positions: Map[ShardKey, ShardPosition],
      times: Map[StreamArn, Long]
  )

  /** From one look into the shards to the next. */
  private val Pause = 10.seconds
}
