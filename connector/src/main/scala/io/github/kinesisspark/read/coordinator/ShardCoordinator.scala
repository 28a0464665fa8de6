package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import io.github.kinesisspark.position.ShardPosition.AfterSequenceNumber
import io.github.kinesisspark.position.{ShardKey, ShardPosition, ShardRange}
import io.github.kinesisspark.read.plan.{
  Admission,
  BatchEnds,
  ExecutorId,
  Frontier,
  RangeGrouping,
  RangeSplitting,
  RealTimeTasks,
  ShardClocks,
  WatermarkAlignment
}
import io.github.kinesisspark.read.reader.{
  Grain,
  MemoryBudget,
  ProbeAnswer,
  ProbeRequest,
  ReaderConfig,
  ReaderTotals,
  RecordBuffer,
  ShardTip
}
import io.github.kinesisspark.read.stream.Publishing

/** All shard readers of one source, seen from the driver: who reads what, how far they are, and where a batch may end.
  *
  * Used by the query's own thread only.
  *
  * @param grain how far boundaries lie apart, by the number of shards
  */
final class ShardCoordinator(
    channel: ExecutorChannel,
    val config: ReaderConfig,
    publishing: Publishing,
    alignment: WatermarkAlignment,
    grain: Int => Grain
) extends AutoCloseable {
  import ShardCoordinator._

  private val assignments = new ShardAssignments(channel.idleTimeout, config.bufferBytes)
  private var weights     = Map.empty[ShardKey, Long]
  private var planned     = (_: ShardRange) => Vector.empty[(ShardPosition, Long)]
  private var answers     = Vector.empty[ProbeAnswer]
  private var lastNews    = System.nanoTime()
  private var asked       = 0L
  private var clocks      = ShardClocks()
  private var hasRead     = false

  /** In which shards have their turns. */
  private var order = Vector.empty[ShardKey]

  /** How far the readers are beyond the positions, once that is worth planning: somebody has something that need not wait
    * for others, and everybody has begun, or nobody has anything more.
    *
    * @param stops    where to stop reading, in shards that are not to be read on for ever
    * @param patience how long shards that say nothing may hold up the answer that nothing is there
    */
  def awaitTips(
      frontier: Frontier,
      without: ShardKey => Boolean,
      stops: Map[ShardKey, ShardPosition],
      patience: Duration
  ): Map[ShardKey, ShardTip] = {
    val began   = System.nanoTime()
    val reading = frontier.reading.filterNot { case (shard, _) => without(shard) }
    val ending  = frontier.ending
    clocks = clocks.begin(reading, frontier.parents, frontier.start.progress(_).isDefined, began)
    @annotation.tailrec
    def await(): Map[ShardKey, ShardTip] = {
      val known = channel.news
      probe(frontier, reading, ending, stops, began)
      val tips    = answers.iterator.flatMap(_.tips).map(t => t.shard -> t).toMap
      val elapsed = (System.nanoTime() - began).nanos
      clocks = clocks.hear(tips.values.map(t => t.shard -> t.reached), System.nanoTime())
      val moved = tips.values.filter(t => !reading.get(t.shard).contains(t.position))
      val waits = moved.forall(_.records > 0) && alignment.blocks(reading.keys.map(s => ahead(s, tips.get(s))))
      val news  = tips.values.exists(_.failure.isDefined) || (moved.nonEmpty && !waits)
      val heard = tips.size == reading.size
      // Where a stream begins is worth storing without records.
      val enough =
        if (news) (heard && answers.forall(_.opened)) || elapsed > HearingPatience
        else if (waits) frontier.hasNewStreams && elapsed > patience
        else (heard && answers.forall(_.settled)) || elapsed > patience
      if (news) lastNews = System.nanoTime()
      if (enough && reading.nonEmpty) tips
      else {
        // What is known already would ring at once.
        if (moved.isEmpty) channel.awaitNews(known, idlePause) else pause(shortly = news)
        if (enough) tips else await()
      }
    }
    await()
  }

  /** Has all shards read from where they go on, and waits for nothing. What readers tell so far. */
  def open(frontier: Frontier, without: ShardKey => Boolean): Map[ShardKey, ShardTip] = {
    val began = System.nanoTime()
    probe(
      frontier,
      frontier.reading.filterNot { case (shard, _) => without(shard) },
      frontier.ending,
      stops = Map.empty,
      began
    )
    answers.iterator.flatMap(_.tips).map(t => t.shard -> t).toMap
  }

  /** The tasks of a real-time batch, no more than can run at once. */
  def tasks(frontier: Frontier, shards: Iterable[ShardKey]): Vector[RealTimeTasks.Task] = RealTimeTasks.plan(
    shards.map(shard => RealTimeTasks.Placed(shard, frontier.hashStart(shard), assignments.of(shard))),
    channel.coresOfAnExecutor
  )

  /** After a real-time batch: what it took of each shard, in bytes, and which shards were begun in it, where. */
  def learn(taken: Map[ShardKey, Long], begun: Map[ShardKey, ExecutorId]): Unit = {
    assignments.adopt(begun)
    assignments.weigh(taken, System.nanoTime())
  }

  /** Where each shard's part of the batch ends.
    *
    * @param turn   grows from batch to batch
    * @param beyond the parts that end later than their readers stand, given what they hold of the batch and the earliest arrivals to come
    */
  def admit(
      tips: Map[ShardKey, ShardTip],
      limits: Admission.Limits,
      turn: Long,
      beyond: Beyond
  ): Map[ShardKey, RecordBuffer.Cut] = {
    if (order.size != tips.size || !order.forall(tips.contains))
      order = tips.keys.toVector.sortBy(shard => (shard.stream.text, shard.shardId))
    val held    = order.map(tips).map(t => BatchEnds.Held(t.shard, t.all, ahead(t.shard, Some(t))))
    val unheard = assignments.shards.filterNot(tips.contains).flatMap(ahead(_, None).toCome).toVector
    val within = BatchEnds(limits, alignment, turn, unheard).of(held)(_.map(a => a.shard -> tips(a.shard).cut(a)).toMap)
    val toCome = held.flatMap(h => h.ahead.toCome.map(h.shard -> _))
    val cuts   = within ++ beyond(within, toCome, unheard)
    weights = cuts.transform((_, cut) => cut.bytes)
    planned = range =>
      within.get(range.shard).fold(Vector.empty[(ShardPosition, Long)])(partsOf(range, tips(range.shard), _))
    assignments.weigh(weights, System.nanoTime())
    clocks = clocks.admit(for ((shard, cut) <- cuts; newest <- cut.newestArrival) yield shard -> newest)
    cuts
  }

  /** The batch's tasks: ranges stay with their readers, and are cut where there are fewer of them than there shall be tasks. After
    * a restart the first batch is planned before anybody reads.
    *
    * @param leastTasks as far as the ranges' records can be shared
    */
  def group(ranges: Seq[ShardRange], leastTasks: Int): Vector[RangeGrouping.Group] = {
    def grouped(parts: Seq[ShardRange], bytes: ShardRange => Long) = RangeGrouping.group(
      parts,
      home = range => assignments.of(range.shard),
      weight = bytes,
      most = executor => if (executor.isDefined) channel.tasksOfAnExecutor else channel.cores,
      leastTasks
    )
    if (leastTasks <= 1) grouped(ranges, weight)
    else {
      val parts = split(ranges, leastTasks)
      grouped(parts.map(_._1), parts.toMap)
    }
  }

  /** Over all executors. */
  def totals: ReaderTotals = answers.map(_.totals).foldLeft(ReaderTotals.none)(_ and _)

  /** Some executor's readers have little room left. */
  def nearlyFull: Boolean =
    answers.exists(answer => MemoryBudget.isNearlyFull(config.bufferBytes, answer.totals.bufferedBytes))

  /** A moment, because asking again at once would find the same. */
  def pause(): Unit = pause(shortly = false)

  override def close(): Unit = channel.release(assignments.holding)

  private def probe(
      frontier: Frontier,
      reading: Map[ShardKey, ShardPosition],
      ending: Set[ShardKey],
      stops: Map[ShardKey, ShardPosition],
      began: Long
  ): Unit = {
    asked += 1
    assignments.settle(frontier, reading.keys, channel.executors(), channel.coresOfAnExecutor, System.nanoTime())
    val byHome   = reading.toVector.groupBy { case (shard, _) => assignments.of(shard) }
    val requests = assignments.toAsk.map { executor =>
      val mine = byHome.getOrElse(Some(executor), Vector.empty)
      executor -> ProbeRequest(
        executor.id,
        asked,
        config,
        publishing.publication,
        mine,
        mine.iterator.map(_._1).filter(ending).toSet,
        mine.iterator.flatMap { case (shard, _) => stops.get(shard).map(shard -> _) }.toMap,
        sinceMillis = (System.nanoTime() - began).nanos.toMillis,
        leaseMillis = channel.lease.toMillis,
        grain(reading.size),
        hasRead = hasRead
      )
    }
    val heard = channel.ask(requests)
    assignments.heard(heard.map(_._1))
    answers = heard.map(_._2)
    hasRead ||= answers.exists(_.totals.reads.reads > 0)
  }

  /** Where a range that was planned can be cut, with the bytes up to there. */
  private def partsOf(range: ShardRange, tip: ShardTip, cut: RecordBuffer.Cut): Vector[(ShardPosition, Long)] =
    if (range.start != tip.base || range.end != cut.position) Vector.empty
    else tip.boundaries.all.takeWhile(_.records <= cut.records).map(b => AfterSequenceNumber(b.last) -> b.bytes)

  /** The parts of all ranges with their bytes. Ranges that no reader holds stay whole. */
  private def split(ranges: Seq[ShardRange], leastTasks: Int): Seq[(ShardRange, Long)] =
    RangeSplitting.parts(ranges, range => weights.get(range.shard), leastTasks).flatMap { case (range, wanted) =>
      val ends  = RangeSplitting.ends(planned(range), wanted)
      val parts = RangeSplitting.cut(range, ends)
      parts.map(_ -> weight(range) / parts.size)
    }

  /** As far as it is known. */
  private def weight(range: ShardRange) = weights.getOrElse(range.shard, RangeGrouping.BytesWorthATask)

  private def ahead(shard: ShardKey, tip: Option[ShardTip]): WatermarkAlignment.Ahead = {
    val isWaitedFor = tip.forall(t => !t.isComplete && !t.millisBehind.contains(0L))
    def patience    = tip match {
      case Some(t) if t.records > 0 => None
      case Some(t) if t.starved     => Some(StarvedPatience.toNanos)
      case _                        => Some(SilentPatience.toNanos)
    }
    def toCome = clocks.toCome(shard, patience, System.nanoTime())
    WatermarkAlignment.Ahead(
      tip.flatMap(_.oldestArrival),
      tip.flatMap(_.newestArrival),
      if (isWaitedFor) toCome else None
    )
  }

  private def pause(shortly: Boolean): Unit =
    Thread.sleep((if (shortly) ShortestPause else idlePause).toMillis)

  /** The longer nothing comes, the less often the readers are asked. */
  private def idlePause: FiniteDuration =
    ((System.nanoTime() - lastNews).nanos / 10).max(ShortestPause).min(LongestPause)
}

object ShardCoordinator {
  type Beyond =
    (Map[ShardKey, RecordBuffer.Cut], Vector[(ShardKey, Long)], Vector[Long]) => Map[ShardKey, RecordBuffer.Cut]

  /** How long a shard that is behind and brings nothing holds the others back. Longer than a throttled one is silent. */
  private val SilentPatience = 30.seconds

  /** The same if it has nothing because the others hold all memory, which they give back only when they go on. */
  private val StarvedPatience = 2.seconds

  private val ShortestPause = 10.millis
  private val LongestPause  = 500.millis

  /** How long probes that came to other executors may hold up what is known already. */
  private val HearingPatience = 2.seconds
}
