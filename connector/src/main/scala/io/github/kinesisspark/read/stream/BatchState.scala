package io.github.kinesisspark.read.stream

import org.apache.spark.sql.connector.read.streaming.Offset

import io.github.kinesisspark.read.plan.PlannedBatch
import io.github.kinesisspark.read.task.KinesisInputPartition

/** Which batch of a source Spark runs, by its calls. Pure. Everything else that a restart needs is in the offset log.
  *
  * {{{
  * state      NothingFound  Planned(batch)  TasksMade(batch)                        Committed       Stopped
  * Recovered  Idle          Running(batch)  Running(batch): it is one of the log    the same        Ended
  * Idle       Idle          Running(batch)  the same                                the same        Ended
  * Running    Idle          Running(batch)  with its tasks, if the batch is its own the same        Ended
  * Ended      refused       refused         the same                                refused         Ended
  * }}}
  *
  * After a restart the last batch of the log runs again, if it was not committed: its tasks come before the first planning. A batch's tasks are asked for
  * by each action of `foreachBatch`, and later by who looks at an old plan. Committed says that some source of the query had a batch since the last
  * planning.
  */
private[stream] sealed abstract class BatchState {
  import BatchState._

  /** The query ran a batch since the last planning. */
  def hadBatch: Boolean

  /** What is known of a batch. */
  def of(start: Offset, end: Offset): Batch = running.filter(_.isOf(start, end)).getOrElse(Batch.ofLog(start, end))

  /** @throws IllegalStateException where Spark's calls are not in order */
  def after(call: Call): BatchState = (this, call) match {
    case (_, Stopped)                       => Ended
    case (Ended, TasksMade(_))              => Ended
    case (Ended, _)                         => throw new IllegalStateException(s"$call after the source was stopped")
    case (_, NothingFound)                  => Idle(hadBatch = false)
    case (_, Planned(batch))                => Running(batch, hadBatch = false)
    case (Recovered(had), TasksMade(batch)) => Running(batch, had)
    case (Running(own, had), TasksMade(batch)) if own.isOf(batch) => Running(batch, had)
    case (same, TasksMade(_))                                     => same
    case (Recovered(_), Committed)                                => Recovered(hadBatch = true)
    case (Idle(_), Committed)                                     => Idle(hadBatch = true)
    case (Running(batch, _), Committed)                           => Running(batch, hadBatch = true)
  }

  private def running = this match {
    case Running(batch, _) => Some(batch)
    case _                 => None
  }
}

private[stream] object BatchState {
  val begin: BatchState = Recovered(hadBatch = false)

  /** Nothing is planned in this run. */
  final case class Recovered(hadBatch: Boolean) extends BatchState

  /** The last planning found nothing. */
  final case class Idle(hadBatch: Boolean) extends BatchState

  final case class Running(batch: Batch, hadBatch: Boolean) extends BatchState

  case object Ended extends BatchState {
    override def hadBatch: Boolean = false
  }

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

  sealed trait Call
  case object NothingFound                 extends Call
  final case class Planned(batch: Batch)   extends Call
  final case class TasksMade(batch: Batch) extends Call
  case object Committed                    extends Call
  case object Stopped                      extends Call
}
