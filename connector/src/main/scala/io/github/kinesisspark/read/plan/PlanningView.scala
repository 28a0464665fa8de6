package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

import io.github.kinesisspark.position.ShardPosition.ShardEnd
import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.PlanningView._

/** What a planning knows of its shards and their readers at one moment. Decides whether that is worth a batch, and where the batch ends. Pure.
  *
  * @param reading    the batch's shards, with where it starts in each
  * @param statuses   of the readers that have reported from there on
  * @param clocks     how long shards have brought nothing
  * @param beganNanos when the planning began, by the driver's clock
  * @param nowNanos   by the same clock
  */
final case class PlanningView(
    reading: Map[ShardKey, ShardPosition],
    statuses: Map[ShardKey, ReaderStatus],
    clocks: ShardClocks,
    alignment: WatermarkAlignment,
    beganNanos: Long,
    nowNanos: Long
) {

  /** Whether a batch is worth planning: a reader has records that need not wait for others, and all readers have begun; or no reader has anything more.
    *
    * {{{
    * readers                           plan
    * nothing is to be read             no
    * news, and may be taken            once all have reported and begun (2 s at most), and the buffers are filled as wanted
    * news, held back by a slow shard   no; the first batch after the patience
    * no news                           once all have nothing more, or the patience is over, or the answer is urgent
    * some don't report                 no news: after the patience, 0.1 s at least
    * }}}
    *
    * @param isUrgent whether somebody waits for the answer that nothing is there
    */
  def decide(goal: Goal, isUrgent: => Boolean): Readiness = {
    val elapsed         = (nowNanos - beganNanos).nanos
    val hasMoved        = all(_.exists(_.hasMoved))
    val isHeldBack      = hasMoved && all(_.forall(s => !s.hasMoved || s.records > 0)) && isBlocked
    val hasNews         = all(_.exists(_.failure.isDefined)) || (hasMoved && !isHeldBack)
    val haveAllReported = statuses.size == reading.size
    def areSettled      = all(_.forall(s => s.isSettled(elapsed.toMillis, goal.stops.contains(s.shard))))
    val longest         = goal.patience.max(IdleReportPatience)
    val haveBegun       = (haveAllReported && all(_.forall(_.isOpened))) || elapsed > ReportPatience
    val isDue           =
      if (hasNews) haveBegun && (elapsed > goal.fill.patience || goal.fill.isEnough(statuses.values))
      // What others hold up isn't nothing, and their patience passes only here.
      else if (isHeldBack) goal.hasNewStreams && elapsed > goal.patience
      else (haveAllReported && (areSettled || elapsed >= goal.patience || isUrgent)) || elapsed >= longest
    val left = Seq(goal.patience, longest).map(_ - elapsed).collect { case d: FiniteDuration if d > Duration.Zero => d }
    // Where all shards have come to their stops, nothing is waited for.
    Readiness(
      isDue && (reading.nonEmpty || !goal.patience.isFinite),
      isDue,
      hasNews,
      isFilling = hasNews && haveBegun && !isDue,
      left.minOption
    )
  }

  /** Where each shard's part of a batch ends, as far as readers hold it. Shards take turns in the order in which `statuses` has them. That order is the same
    * for each batch, as long as the shards are the same.
    *
    * @param fairnessOffset grows from batch to batch
    */
  def admit(limits: Admission.Limits, fairnessOffset: Long): Admitted = {
    val inOrder     = statuses.values.toVector
    val held        = inOrder.map(s => BatchEnds.BufferedRange(s.all, ahead(s.shard, Some(s)), s.cut))
    val notReported =
      if (reading.size == statuses.size) Vector.empty
      else reading.keysIterator.filterNot(statuses.contains).flatMap(ahead(_, None).earliestPending).toVector
    val taken  = BatchEnds(limits, alignment, fairnessOffset, notReported).of(held)
    val slices = inOrder.iterator.zip(taken.iterator).collect { case (s, Some(end)) =>
      s.shard -> BatchSlices.Slice(if (end.position == s.base) s.base else s.start, end, Some(s.boundaries))
    }
    Admitted(
      BatchSlices(slices.toMap),
      inOrder.zip(held).flatMap { case (s, range) => range.ahead.earliestPending.map(s.shard -> _) },
      notReported
    )
  }

  /** Shards that are behind and that others no longer wait for, because they have brought nothing for their patience. */
  def leftBehind: Vector[ShardKey] =
    if (alignment.skewMillis.isEmpty) Vector.empty
    else
      reading.keysIterator.filter { shard =>
        val status = statuses.get(shard)
        isWaitedFor(status) && ahead(shard, status).earliestPending.isEmpty
      }.toVector

  // Of one that failed it is not known yet whether there is anything left to wait for.
  private def isWaitedFor(status: Option[ReaderStatus]) = status.forall(s => s.isBehind && s.failure.isEmpty)

  private def all[A](question: Iterator[ReaderStatus] => A): A = question(statuses.valuesIterator)

  private def isBlocked = alignment.skewMillis.isDefined && alignment.blocks(
    reading.keysIterator.map(shard => ahead(shard, statuses.get(shard))).toVector,
    isStarved = mayGetMemory && all(_.exists(_.starved))
  )

  private def ahead(shard: ShardKey, status: Option[ReaderStatus]): WatermarkAlignment.Ahead = {
    def patience = status match {
      case Some(s) if s.records > 0 => None
      case Some(s) if s.starved     => if (mayGetMemory) None else Some(StarvedPatience.toNanos)
      case _                        => Some(SilentPatience.toNanos)
    }
    // Of one that ends in the batch, the others wait for the children, which begin in the next.
    def children = status.collect { case s if s.position == ShardEnd => clocks.childrenBegin(shard, s.newestArrival) }
    WatermarkAlignment.Ahead(
      status.flatMap(_.oldestArrival),
      status.flatMap(_.newestArrival),
      if (isWaitedFor(status)) clocks.earliestPending(shard, patience, nowNanos) else children
    )
  }

  /** Whether a shard that waits for memory may get it still: what the last batch took has been dropped since. */
  private def mayGetMemory = nowNanos - beganNanos < StarvedPatience.toNanos
}

object PlanningView {

  /** Of a planning that asks no reader. */
  def withoutReaders(reading: Map[ShardKey, ShardPosition]): PlanningView =
    PlanningView(reading, Map.empty, ShardClocks(), WatermarkAlignment.off, 0, 0)

  /** What a planning waits for.
    *
    * @param stops         where to stop reading, in shards that are not to be read without end
    * @param patience      how long nothing may hold up the answer that nothing is there
    * @param fill          how long readers are to read on before what they hold is worth a batch
    * @param hasNewStreams a batch is worth planning without records, as it stores where these begin
    */
  final case class Goal(
      stops: Map[ShardKey, ShardPosition],
      patience: Duration,
      fill: FillTarget = FillTarget.none,
      hasNewStreams: Boolean = false
  )

  /** @param isDue     plan now
    * @param isOver    the planning ends, if only after a pause, as where nothing is to be read
    * @param hasNews   that may be taken
    * @param isFilling a batch could be planned, but readers are to fill their buffers first
    * @param mostWait  time after which it may be another, even if no reader reports anything
    */
  final case class Readiness(
      isDue: Boolean,
      isOver: Boolean,
      hasNews: Boolean,
      isFilling: Boolean,
      mostWait: Option[FiniteDuration]
  )

  /** @param earliestPending the earliest arrivals that others wait for, of shards or of their children, before the batch
    * @param notReported     the same of shards whose readers have not reported
    */
  final case class Admitted(slices: BatchSlices, earliestPending: Vector[(ShardKey, Long)], notReported: Vector[Long])

  /** How long a shard that is behind and brings nothing holds the others back. Longer than a throttled one is silent. */
  private val SilentPatience = 30.seconds

  /** The same if it has nothing because the others hold all memory, which they give back only when they continue. */
  private val StarvedPatience = 2.seconds

  /** How long executors that don't report may hold up the answer that nothing is there: more than the answer to an order takes. */
  private val IdleReportPatience = 100.millis

  /** How long executors that don't report may hold up what is known already. They are then sent all orders again, each time after twice as long. */
  val ReportPatience: FiniteDuration = 2.seconds
}
