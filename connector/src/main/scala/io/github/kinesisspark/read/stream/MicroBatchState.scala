package io.github.kinesisspark.read.stream

import io.github.kinesisspark.position.KinesisOffset
import io.github.kinesisspark.read.plan.{BatchSlices, IdlePace, PlannedBatch, Stops}
import io.github.kinesisspark.read.task.KinesisInputPartition

/** All that [[MicroBatchMode]] remembers from one of Spark's calls to the next, and which calls are legal when. Pure. Everything else that a restart needs is
  * in the offset log.
  *
  * {{{
  * phase      EndsSoon   Asked     Bounded, FoundNothingYet  NothingFound  Planned(batch)  TasksMade(batch)  Committed  Stopped
  * Recovered  Recovered  Planning  refused                   refused       refused         Rerun(batch)      refused    Ended
  * Rerun      refused    Planning  refused                   refused       refused         Rerun             refused    Ended
  * Planning   refused    refused   Planning                  Idle          Running(batch)  Planning          refused    Ended
  * Idle       refused    Planning  refused                   refused       refused         Idle              Idle       Ended
  * Running    refused    Planning  refused                   refused       refused         Running           Running    Ended
  * Ended      refused    refused   refused                   refused       refused         Ended             Ended      Ended
  * }}}
  *
  * Each column is a call, and each row has the phase that follows. Where tasks are made for the batch that runs, it keeps them.
  * After a restart the last batch of the log runs again, if it was not committed: its tasks come before the first planning. A batch's tasks are asked for
  * by each action of `foreachBatch`, and later for an old plan that is looked at. A planning that found nothing yet looks again where somebody waits in
  * `processAllAvailable()`, and may find a batch. Spark commits the batch before once all sources of the query have planned, and one of them has a batch. With
  * asynchronous progress tracking it commits the last one after the end.
  *
  * @param hadBatch       some source of the query had a batch since the last planning
  * @param isEnding       the query ends with what is there when it first plans
  * @param stops          where that is, from the first planning on
  * @param batches        planned in this run
  * @param lastBatchNanos when the last batch was planned, or the run began, by the driver's clock
  * @param pace           of plannings that find nothing
  */
private[stream] final case class MicroBatchState(
    phase: MicroBatchState.Phase,
    hadBatch: Boolean,
    isEnding: Boolean,
    stops: Option[Stops],
    batches: Long,
    lastBatchNanos: Long,
    pace: IdlePace
) {
  import MicroBatchState._

  /** What is known of a batch. */
  def of(start: KinesisOffset, end: KinesisOffset): Run =
    phase.run.filter(_.batch.isOf(start, end)).getOrElse(Run(PlannedBatch(start, end, BatchSlices.none), None))

  /** Whether the batch that runs was planned by an earlier run of the query, as none is planned in this run. */
  def isOfEarlierRun: Boolean = phase match {
    case Recovered | Rerun(_) => true
    case _                    => false
  }

  /** @throws IllegalStateException where Spark's calls are not in order */
  def after(call: Call): MicroBatchState = (phase, call) match {
    case (_, Stopped)                                             => copy(phase = Ended)
    case (Recovered, TasksMade(run))                              => copy(Rerun(run))
    case (Running(own), TasksMade(run)) if own.batch == run.batch => copy(Running(run))
    case (_, TasksMade(_))                                        => this
    case (Recovered, EndsSoon)                                    => copy(isEnding = true)
    case (Recovered | Rerun(_) | Idle | Running(_), Asked)        => copy(Planning)
    case (Planning, Bounded(found))                               => copy(stops = Some(found))
    case (Planning, FoundNothingYet(nanos))                       => copy(hadBatch = false, pace = pace.after(nanos))
    case (Planning, NothingFound)                                 => copy(Idle)
    case (Planning, Planned(batch, now))                          =>
      copy(Running(Run(batch, None)), hadBatch = false, batches = batches + 1, lastBatchNanos = now)
    case (Idle | Running(_), Committed) => copy(hadBatch = true)
    case (Ended, Committed)             => this
    case _                              =>
      throw new IllegalStateException(
        s"Spark's calls are not in order: ${call.productPrefix} while ${phase.productPrefix}"
      )
  }
}

private[stream] object MicroBatchState {

  def begin(nowNanos: Long): MicroBatchState = MicroBatchState(
    Recovered,
    hadBatch = false,
    isEnding = false,
    stops = None,
    batches = 0,
    lastBatchNanos = nowNanos,
    IdlePace.begin
  )

  sealed abstract class Phase(val run: Option[Run]) extends Product

  /** Nothing is planned in this run. */
  case object Recovered extends Phase(None)

  /** Nothing is planned in this run, and a batch of the log runs again. */
  final case class Rerun(own: Run) extends Phase(Some(own))
  case object Planning             extends Phase(None)

  /** The last planning found nothing. */
  case object Idle                   extends Phase(None)
  final case class Running(own: Run) extends Phase(Some(own))
  case object Ended                  extends Phase(None)

  /** @param tasks once Spark has asked for them */
  final case class Run(batch: PlannedBatch, tasks: Option[Vector[KinesisInputPartition]])

  /** A call of Spark, or what a planning has found. */
  sealed trait Call extends Product

  /** The query is to end with what is there. */
  case object EndsSoon extends Call

  /** The next batch is asked for. */
  case object Asked                      extends Call
  final case class Bounded(stops: Stops) extends Call

  /** The first look of a planning, which may look again.
    *
    * @param nanos what it took, without waiting
    */
  final case class FoundNothingYet(nanos: Long)                 extends Call
  case object NothingFound                                      extends Call
  final case class Planned(batch: PlannedBatch, nowNanos: Long) extends Call
  final case class TasksMade(run: Run)                          extends Call
  case object Committed                                         extends Call
  case object Stopped                                           extends Call
}
