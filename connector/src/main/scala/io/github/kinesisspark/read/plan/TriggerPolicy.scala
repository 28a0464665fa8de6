package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.PlanningView.Goal

/** What a query's trigger makes of a planning: what readers read, how long the planning waits for news, and where the batch ends. It is composed of bounds,
  * limits and the extension that a long trigger has. Pure.
  *
  * {{{
  * trigger                      waits for news                          the batch ends
  * none, or a short interval    1 s if alone in its query, else less    where readers are, within the limits
  * a longer interval            the same                                beyond the buffers, where they hold too little: Probe
  * the same, with limits        the same                                where readers are, within the limits
  * AvailableNow                 until the bounds are reached            where readers are, within the limits; at the bounds at last
  * }}}
  *
  * `Trigger.Once`, and a query that no executor reads ahead for, ask no reader: their batch ends at the bounds ([[Bounds.left]]).
  *
  * @param bounds    where the query ends, if it does
  * @param extension where the trigger has an interval of a second at least
  */
final case class TriggerPolicy(bounds: Option[Bounds], limits: BatchLimits, extension: Option[LongTrigger]) {
  import TriggerPolicy._

  /** The shards that the query reads on in, with where the batch starts in each. */
  def reading(planning: PlanningState): Map[ShardKey, ShardPosition] =
    bounds.fold(planning.open)(b => planning.open.filterNot { case (shard, start) => b.isDone(shard, start) })

  /** What the planning waits for.
    *
    * @param idlePatience how long it may wait for news that others in the query don't wait for
    */
  def goal(planning: PlanningState, idlePatience: => FiniteDuration): Goal = Goal(
    stops = bounds.fold(Map.empty[ShardKey, ShardPosition])(_.ends),
    patience =
      if (bounds.nonEmpty) Duration.Inf
      else if (planning.hasNewStreams) BeginningPatience
      else idlePatience,
    fill =
      if (!limits.isUnlimited) FillTarget.none
      else if (bounds.isDefined) FillTarget.untilTheEnd
      else FillTarget.behind,
    planning.hasNewStreams
  )

  /** Where the batch ends, or that it is to wait. AvailableNow waits for nothing: what is there is all there will be.
    *
    * @param fairnessOffset grows from batch to batch
    * @param mayWait        nobody waits until all is processed, and no stream begins
    * @param isNearlyFull   readers can't take in much more
    * @param sinceBatch     time since the last batch was planned
    */
  def decide(
      view: PlanningView,
      fairnessOffset: Long,
      mayWait: Boolean,
      isNearlyFull: => Boolean,
      sinceBatch: FiniteDuration
  ): Decision = {
    def records = view.statuses.valuesIterator.map(_.records).sum
    if (mayWait && bounds.isEmpty && limits.holdBack(records, isNearlyFull, sinceBatch)) Decision.Wait
    else {
      val admitted  = view.admit(limits.most, fairnessOffset)
      val questions = extension
        .filter(_ => bounds.isEmpty && limits.isUnlimited)
        .flatMap(_.questions(view.statuses, admitted))
      questions.fold(Decision.Ends(admitted.batch): Decision)(Decision.Probe(admitted.batch, _))
    }
  }

  /** Where the batch ends in its shards. */
  def ends(batch: PlannedBatch, statuses: Map[ShardKey, ReaderStatus]): Map[ShardKey, ShardPosition] =
    batch.ends.transform((_, cut) => cut.position) ++ lostStops(statuses)

  /** Up to when all that arrived in a shard comes before the batch's end, in ms by the service's clock, if known.
    *
    * @param serviceNow by the service's clock
    */
  def completeTo(batch: PlannedBatch, statuses: Map[ShardKey, ReaderStatus], serviceNow: ShardKey => Long)(
      shard: ShardKey,
      at: ShardPosition
  ): Option[Long] = {
    val read = for {
      status <- statuses.get(shard)
      cut    <- batch.ends.get(shard)
      time   <- status.completeTo(cut, serviceNow(shard))
    } yield time
    (read ++ bounds.flatMap(_.completeTo(shard, at))).maxOption
  }

  /** A range is planned although its last record is gone before its reader has read it: its task finds out what is lost. */
  private def lostStops(statuses: Map[ShardKey, ReaderStatus]) = for {
    now             <- bounds.toVector
    (shard, status) <- statuses if status.hasLostStop
  } yield shard -> now.ends(shard)
}

object TriggerPolicy {

  sealed trait Decision

  object Decision {

    /** No batch yet. */
    case object Wait extends Decision

    final case class Ends(batch: PlannedBatch) extends Decision

    /** The batch ends where the answers say, or as it is without them. */
    final case class Probe(batch: PlannedBatch, questions: LongTrigger.Questions) extends Decision
  }

  /** How long the first batch waits for news, unless readers report before that nothing is there. It is worth planning without records, because it stores
    * where the query began. But it costs Spark as much time as the first answers in a JVM take, and records that miss it are in the next.
    */
  private val BeginningPatience = 2.seconds
}
