package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.PlanningView.{Admitted, Goal}

/** What a query's trigger makes of a planning: what readers read, how long the planning waits for news, and where the batch ends. Pure.
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
  * @param bounds   where the query ends, if it does
  * @param interval from one trigger to the next, where that is a second at least
  */
final case class TriggerPolicy(
    bounds: Option[Bounds],
    limits: BatchLimits,
    interval: Option[FiniteDuration],
    alignment: WatermarkAlignment
) {
  import TriggerPolicy._

  /** Where readers stop. */
  def stops: Map[ShardKey, ShardPosition] = bounds.fold(Map.empty[ShardKey, ShardPosition])(_.ends)

  /** The query reads nothing more of a shard. */
  def isDone(planning: PlanningState)(shard: ShardKey): Boolean =
    bounds.exists(b => planning.reading.get(shard).forall(b.isDone(shard, _)))

  /** What the planning waits for.
    *
    * @param idlePatience how long it may wait for news that others in the query don't wait for
    */
  def goal(planning: PlanningState, idlePatience: => FiniteDuration): Goal = Goal(
    stops.contains,
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
    * @param isWaitedFor  somebody waits until all is processed
    * @param isNearlyFull readers can't take in much more
    * @param sinceBatch   time since the last batch was planned
    * @param admit        what readers hold, cut by limits
    */
  def decide(
      view: PlanningView,
      hasNewStreams: Boolean,
      isWaitedFor: => Boolean,
      isNearlyFull: => Boolean,
      sinceBatch: FiniteDuration
  )(admit: Admission.Limits => Admitted): Decision = {
    def records = view.statuses.valuesIterator.map(_.records).sum
    if (!hasNewStreams && bounds.isEmpty && !isWaitedFor && limits.holdBack(records, isNearlyFull, sinceBatch))
      Decision.Wait
    else {
      val admitted  = admit(limits.most)
      val questions = interval
        .filter(_ => bounds.isEmpty && limits.isUnlimited)
        .flatMap(LongTrigger.questions(_, view.statuses, admitted, alignment))
      questions.fold(Decision.Ends(admitted.batch): Decision)(Decision.Probe(admitted.batch, _))
    }
  }

  /** Where the batch ends in its shards.
    *
    * @param pastRetention shards past retention
    */
  def ends(
      batch: PlannedBatch,
      statuses: Map[ShardKey, ReaderStatus],
      pastRetention: Vector[ShardKey]
  ): Map[ShardKey, ShardPosition] =
    batch.ends.transform((_, cut) => cut.position) ++ lostStops(statuses) ++ pastRetention.map(
      _ -> ShardPosition.ShardEnd
    )

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

  /** A range whose last record is gone before its reader has come there is planned all the same: its task finds out what is lost. */
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

  /** How long the first batch waits for news, where readers don't say before that there is nothing. It is worth planning without records: it stores
    * where the query began. But a batch costs Spark as much as the first answers in a JVM take, and records that miss it come by the next.
    */
  private val BeginningPatience = 2.seconds
}
