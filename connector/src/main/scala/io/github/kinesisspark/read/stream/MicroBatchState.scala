package io.github.kinesisspark.read.stream

import org.apache.spark.sql.connector.read.streaming.Offset

import io.github.kinesisspark.read.plan.{Bounds, IdlePace, PlannedBatch}
import io.github.kinesisspark.read.task.KinesisInputPartition

/** All that [[MicroBatchMode]] remembers from one of Spark's calls to the next, and which calls are legal when. Pure. Everything else that a restart needs is
  * in the offset log.
  *
  * {{{
  * phase      EndsSoon   Asked      NothingFound  Planned(batch)  TasksMade(batch)  Stopped
  * Recovered  Recovered  Recovered  Idle          Running(batch)  Running(batch)    Ended
  * Idle       refused    Idle       Idle          Running(batch)  Idle              Ended
  * Running    refused    Running    Idle          Running(batch)  Running           Ended
  * Ended      refused    refused    refused       refused         Ended             Ended
  * }}}
  *
  * Each column is a call, and each row has the phase that follows. Where tasks are made for the batch that runs, it keeps them.
  * After a restart the last batch of the log runs again, if it was not committed: its tasks come before the first planning. A batch's tasks are asked for
  * by each action of `foreachBatch`, and later for an old plan that is looked at. A planning that found nothing looks again where somebody waits in
  * `processAllAvailable()`, and may find a batch. Bounded and Committed leave the phase as it is, and are refused once the source has ended.
  *
  * @param hadBatch       some source of the query had a batch since the last planning
  * @param isEnding       the query ends with what is there when it first plans
  * @param bounds         where that is, from the first planning on
  * @param batches        planned in this run
  * @param lastBatchNanos when the last batch was planned, or the run began, by the driver's clock
  * @param pace           of plannings that find nothing
  */
private[stream] final case class MicroBatchState(
    phase: MicroBatchState.Phase,
    hadBatch: Boolean,
    isEnding: Boolean,
    bounds: Option[Bounds],
    batches: Long,
    lastBatchNanos: Long,
    pace: IdlePace
) {
  import MicroBatchState._

  /** What is known of a batch. */
  def of(start: Offset, end: Offset): Batch = phase match {
    case Running(batch) if batch.isOf(start, end) => batch
    case _                                        => Batch.ofLog(start, end)
  }

  /** @throws IllegalStateException where Spark's calls are not in order */
  def after(call: Call): MicroBatchState = (phase, call) match {
    case (_, Stopped)               => copy(phase = Ended)
    case (Ended, TasksMade(_))      => this
    case (Recovered, EndsSoon)      => copy(isEnding = true)
    case (Ended, _) | (_, EndsSoon) => refuse(call)
    case (_, Asked)                 => this
    case (_, Bounded(found))        => copy(bounds = Some(found))
    case (_, NothingFound(nanos))   => copy(Idle, hadBatch = false, pace = pace.planned(nanos))
    case (_, Planned(batch, now)) => copy(Running(batch), hadBatch = false, batches = batches + 1, lastBatchNanos = now)
    case (Recovered, TasksMade(batch))                       => copy(Running(batch))
    case (Running(own), TasksMade(batch)) if own.isOf(batch) => copy(Running(batch))
    case (_, TasksMade(_))                                   => this
    case (_, Committed)                                      => copy(hadBatch = true)
  }

  private def refuse(call: Call) =
    throw new IllegalStateException(
      s"Spark's calls are not in order: ${call.productPrefix} while ${phase.productPrefix}"
    )
}

private[stream] object MicroBatchState {

  def begin(nowNanos: Long): MicroBatchState = MicroBatchState(
    Recovered,
    hadBatch = false,
    isEnding = false,
    bounds = None,
    batches = 0,
    lastBatchNanos = nowNanos,
    IdlePace.begin
  )

  sealed trait Phase extends Product

  /** Nothing is planned in this run. */
  case object Recovered extends Phase

  /** The last planning found nothing. */
  case object Idle                       extends Phase
  final case class Running(batch: Batch) extends Phase
  case object Ended                      extends Phase

  /** @param tasks once Spark has asked for them */
  final case class Batch(
      start: Offset,
      end: Offset,
      planned: PlannedBatch,
      tasks: Option[Vector[KinesisInputPartition]]
  ) {
    def isOf(start: Offset, end: Offset): Boolean = this.start == start && this.end == end
    def isOf(other: Batch): Boolean               = isOf(other.start, other.end)
  }

  object Batch {
    def ofLog(start: Offset, end: Offset): Batch = Batch(start, end, PlannedBatch.ofLog, None)
  }

  /** A call of Spark, or what a planning has found. */
  sealed trait Call extends Product

  /** The query is to end with what is there. */
  case object EndsSoon extends Call

  /** The next batch is asked for. */
  case object Asked                        extends Call
  final case class Bounded(bounds: Bounds) extends Call

  /** @param nanos what the planning took, without waiting */
  final case class NothingFound(nanos: Long)             extends Call
  final case class Planned(batch: Batch, nowNanos: Long) extends Call
  final case class TasksMade(batch: Batch)               extends Call
  case object Committed                                  extends Call
  case object Stopped                                    extends Call
}
