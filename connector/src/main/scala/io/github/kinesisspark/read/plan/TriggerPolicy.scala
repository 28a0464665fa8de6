package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.PlanningView.Goal

/** What a query's trigger makes of a planning: what readers read, how long the planning waits for news, and where the batch ends. It is composed of bounds,
  * limits and the extension that a long trigger has. Pure.
  *
  * {{{
  * trigger                      bounds        waits for news                          the batch ends
  * none, or a short interval    Unbounded     1 s if alone in its query, else less    where readers are, within the limits
  * a longer interval            Unbounded     1 s if alone in its query, else less    beyond the buffers, where they hold too little: Probe
  * a longer interval, limits    Unbounded     1 s if alone in its query, else less    where readers are, within the limits
  * AvailableNow                 AvailableNow  until the stops are reached             where readers are, within the limits; at the stops at last
  * Once                         Once          not at all                              at the stops
  * any, without readers         Once          not at all                              at the stops
  * }}}
  *
  * @param extension where the trigger has an interval of a second at least
  */
final case class TriggerPolicy(bounds: TriggerPolicy.Bounds, limits: BatchLimits, extension: Option[LongTrigger]) {
  import TriggerPolicy._

  /** The shards that are read, with where the batch starts in each. */
  def reading(planning: PlanningState): Map[ShardKey, ShardPosition] = bounds match {
    case AvailableNow(stops) => planning.open.filterNot { case (shard, start) => stops.isDone(shard, start) }
    case _                   => planning.open
  }

  /** What the planning waits for. None where its bounds ask no readers.
    *
    * @param idlePatience how long it may wait for news that others in the query don't wait for
    */
  def goal(planning: PlanningState, idlePatience: => FiniteDuration): Option[Goal] = Option.when(bounds.asksReaders)(
    Goal(
      stops = bounds.stops.fold(Map.empty[ShardKey, ShardPosition])(_.byShard),
      patience =
        if (bounds != Unbounded) Duration.Inf
        else if (planning.hasNewStreams) BeginningPatience
        else idlePatience,
      fill =
        if (!limits.isUnlimited) FillTarget.none
        else if (bounds == Unbounded) FillTarget.behind
        else FillTarget.untilTheEnd,
      planning.hasNewStreams
    )
  )

  /** Where the batch ends, or that it is to wait. With bounds nothing waits: what is there is all there will be.
    *
    * @param view           what readers hold; empty where none is asked
    * @param fairnessOffset grows from batch to batch
    * @param mayWait        nobody waits until all is processed, and no stream begins
    * @param sinceBatch     time since the last batch was planned
    */
  def decide(
      view: PlanningView,
      fairnessOffset: Long,
      mayWait: Boolean,
      sinceBatch: FiniteDuration
  ): Decision = {
    def records = view.statuses.valuesIterator.map(_.records).sum
    // A shard that has ended brings no more, and its children are read only after it.
    def hasEnded = view.statuses.valuesIterator.exists(_.position == ShardPosition.ShardEnd)
    // It brings no more before a batch has taken what it holds. One that holds little only waits for others' memory.
    def isFull = view.statuses.valuesIterator.exists(s => s.isFull && s.heap > s.room / 2)
    if (!bounds.asksReaders) Decision.Ends(BatchSlices.none)
    else if (mayWait && bounds == Unbounded && !hasEnded && limits.holdBack(records, sinceBatch) && !isFull)
      Decision.Wait
    else {
      val admitted  = view.admit(limits.most, fairnessOffset)
      val questions = extension
        .filter(_ => bounds == Unbounded && limits.isUnlimited)
        .flatMap(_.questions(view.statuses, admitted))
      questions.fold(Decision.Ends(admitted.slices): Decision)(Decision.Probe(admitted.slices, _))
    }
  }

  /** Where the batch ends in its shards. */
  def ends(slices: BatchSlices, view: PlanningView): Map[ShardKey, ShardPosition] = bounds match {
    case Once(stops) => stops.left(view.reading)
    // A range is planned although its last record is gone before its reader has read it: its task finds out what is lost.
    case AvailableNow(stops) =>
      slices.positions ++ view.statuses.collect { case (shard, s) if s.hasLostStop => shard -> stops.byShard(shard) }
    case Unbounded => slices.positions
  }

  /** Up to when all that arrived in a shard comes before the batch's end, in ms by the service's clock, if known.
    *
    * @param ago what that clock was so many ms ago
    */
  def completeTo(slices: BatchSlices, view: PlanningView, ago: (ShardKey, Long) => Long)(
      shard: ShardKey,
      at: ShardPosition
  ): Option[Long] = {
    val read = for {
      status <- view.statuses.get(shard)
      cut    <- slices.ends.get(shard)
      time   <- status.completeTo(cut, ago(shard, _))
    } yield time
    (read ++ bounds.stops.flatMap(_.completeTo(shard, at))).maxOption
  }
}

object TriggerPolicy {

  /** Where a query's batches end at last. */
  sealed abstract class Bounds(val stops: Option[Stops], val asksReaders: Boolean)

  /** The query follows its shards. */
  case object Unbounded extends Bounds(None, asksReaders = true)

  /** The query ends at the stops, however many batches it takes. */
  final case class AvailableNow(at: Stops) extends Bounds(Some(at), asksReaders = true)

  /** The batch ends at the stops. Its tasks read all of it from Kinesis, regardless of what readers can hold. */
  final case class Once(at: Stops) extends Bounds(Some(at), asksReaders = false)

  sealed trait Decision

  object Decision {

    /** No batch yet: the records are few, and the delay is not over. It has no time to wait until, because each planning decides anew: records may come at any
      * moment, and the query's other sources plan in between.
      */
    case object Wait extends Decision

    final case class Ends(slices: BatchSlices) extends Decision

    /** The batch ends where the answers say, or as it is without them. */
    final case class Probe(slices: BatchSlices, questions: LongTrigger.Questions) extends Decision
  }

  /** How long the first batch waits for news, unless readers report before that nothing is there. It is worth planning without records, because it stores
    * where the query began. But it costs Spark as much time as the first answers in a JVM take, and records that miss it are in the next.
    */
  private val BeginningPatience = 2.seconds
}
