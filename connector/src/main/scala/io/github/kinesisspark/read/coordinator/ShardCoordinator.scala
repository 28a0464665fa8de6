package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.FailureReason
import io.github.kinesisspark.position.ShardPosition.AfterSequenceNumber
import io.github.kinesisspark.position.{ShardKey, ShardPosition, ShardRange}
import io.github.kinesisspark.read.plan.{
  Admission,
  BatchEnds,
  ExecutorId,
  PlanningState,
  RangeGrouping,
  RangeSplitting,
  RealTimeTasks,
  ShardClocks,
  ShardMaps,
  WatermarkAlignment
}
import io.github.kinesisspark.read.reader.{
  Grain,
  MemoryBudget,
  ReadOrder,
  ReaderConfig,
  ReadersNow,
  RecordBuffer,
  ResolvedPublisher,
  ShardTip
}
import io.github.kinesisspark.runtime.Runtime

/** All shard readers of one source, seen from the driver: who reads what, how far they are, and where a batch may end.
  *
  * Used by the query's own thread only.
  *
  * @param publisher how the readers get their records now
  * @param grain     how far boundaries lie apart, by the number of shards
  */
final class ShardCoordinator(
    channel: ExecutorChannel,
    val config: ReaderConfig,
    publisher: () => ResolvedPublisher,
    alignment: WatermarkAlignment,
    grain: Int => Grain
)(implicit runtime: Runtime)
    extends AutoCloseable {
  import ShardCoordinator._

  private val log         = LoggerFactory.getLogger(classOf[ShardCoordinator])
  private val assignments = new ShardAssignments(channel.idleTimeout, config.bufferBytes)
  private var parts       = Map.empty[ShardKey, RecordBuffer.Cut]
  private var planned     = (_: ShardRange) => Vector.empty[(ShardPosition, Long)]
  private var orders      = Map.empty[ExecutorId, ReaderOrders]
  private var failing     = FailingExecutors.none
  private var lastNews    = runtime.clock.nanos()

  /** The highest number of all orders: an executor that is lost and found again knows those it had before. */
  private var lastNumber = 0L

  /** Cores that tasks of a real-time batch leave to others. */
  private var reserved = 0

  /** When the readers were first looked at for the next batch. */
  private var planningSince = runtime.clock.nanos()
  private var waitedSoFar   = Duration.Zero
  private var clocks        = ShardClocks()
  private var hasRead       = false

  /** In which shards have their turns. */
  private var order = Vector.empty[ShardKey]

  /** Why there are no readers; None where there are. Nothing else must be asked of readers that aren't there. */
  def refusal(): Option[String] = channel.refusal()

  /** How far the readers are beyond the positions, once that is worth planning: somebody has something that need not wait
    * for others, and everybody has begun, or nobody has anything more.
    *
    * @param stops    where to stop reading, in shards that are not to be read without end
    * @param patience how long nothing may hold up the answer that nothing is there
    * @param filling  how long readers are to read on before what they hold is worth a batch
    * @param isUrgent whether somebody waits for that answer
    */
  def awaitTips(
      planning: PlanningState,
      without: ShardKey => Boolean,
      stops: Map[ShardKey, ShardPosition],
      patience: Duration,
      filling: Filling = Filling.none,
      isUrgent: => Boolean = false
  ): Map[ShardKey, ShardTip] = {
    val began   = runtime.clock.nanos()
    val reading = planning.reading.filterNot { case (shard, _) => without(shard) }
    val ending  = planning.ending
    clocks = clocks.begin(reading, planning.parents, planning.start.progress(_).isDefined, began)
    planningSince = began
    var repeatAfter: FiniteDuration = HearingPatience
    @annotation.tailrec
    def await(): Map[ShardKey, ShardTip] = {
      val known = channel.reports.news
      val since = (runtime.clock.nanos() - began).nanos
      if (since > repeatAfter) {
        repeatUnheard()
        repeatAfter = since * 2
      }
      assign(planning, reading, ending, stops)
      val tips    = sound(heard(reading))
      val elapsed = (runtime.clock.nanos() - began).nanos
      clocks = clocks.hear(tips.valuesIterator.map(t => t.shard -> t.reached), runtime.clock.nanos())
      val hasMoved    = tips.valuesIterator.exists(_.hasMoved)
      lazy val waits  = tips.valuesIterator.forall(t => !t.hasMoved || t.records > 0) && isBlocked(reading, tips)
      val news        = tips.valuesIterator.exists(_.failure.isDefined) || (hasMoved && !waits)
      val heardAll    = tips.size == reading.size
      def isSettled   = tips.valuesIterator.forall(t => t.isSettled(elapsed.toMillis, stops.contains(t.shard)))
      lazy val isOver = elapsed >= patience || isUrgent
      val enough      =
        if (news)
          ((heardAll && tips.valuesIterator.forall(_.isOpened)) || elapsed > HearingPatience) &&
          (elapsed > filling.patience || filling.isEnough(tips.values))
        // What others hold up isn't nothing, and their patience passes only here.
        else if (waits) planning.hasNewStreams && elapsed > patience
        else (heardAll && (isSettled || isOver)) || elapsed >= patience.max(ReportingPatience)
      if (news) lastNews = runtime.clock.nanos()
      if (enough && reading.nonEmpty) tips
      else {
        val left    = Seq(patience, patience.max(ReportingPatience)).map(_ - elapsed).filter(_ > Duration.Zero)
        val longest = left.collect { case d: FiniteDuration => d }.foldLeft(idlePause)(_ min _)
        waiting(channel.reports.await(known, longest))
        if (enough) tips else await()
      }
    }
    await()
  }

  /** Whether an answer to each reader, asked for since a time, says that nothing is there. */
  def haveNothing(reading: Map[ShardKey, ShardPosition], sinceNanos: Long): Boolean = {
    val tips   = heard(reading)
    val millis = (runtime.clock.nanos() - sinceNanos).nanos.toMillis
    tips.size == reading.size && tips.valuesIterator.forall(t => !t.hasNews && t.isSettled(millis, hasStop = false))
  }

  /** Has all shards read from the batch's start, and waits until their readers are open, but not for answers of the service. Returns the reports so
    * far.
    */
  def open(planning: PlanningState, without: ShardKey => Boolean): Map[ShardKey, ShardTip] = {
    val deadline = runtime.clock.nanos() + HearingPatience.toNanos
    val reading  = planning.reading.filterNot { case (shard, _) => without(shard) }
    val ending   = planning.ending
    @annotation.tailrec
    def await(): Map[ShardKey, ShardTip] = {
      val known = channel.reports.news
      assign(planning, reading, ending, stops = Map.empty)
      val tips = sound(heard(reading))
      val left = (deadline - runtime.clock.nanos()).nanos
      if (tips.size == reading.size || left <= Duration.Zero) tips
      else {
        channel.reports.await(known, LongestPause.min(left.max(ShortestPause)))
        await()
      }
    }
    await()
  }

  /** Leaves so many cores to others, in real-time batches. */
  def reserve(cores: Int): Unit = reserved = cores

  /** The tasks of a real-time batch, no more than can run at once. */
  def tasks(planning: PlanningState, shards: Iterable[ShardKey]): Vector[RealTimeTasks.Task] = RealTimeTasks.plan(
    shards.map(shard => RealTimeTasks.Placed(shard, planning.hashStart(shard), assignments.of(shard))),
    channel.coresOfAnExecutor,
    channel.cores - reserved
  )

  /** After a real-time batch: what it took of each shard, in bytes, and which shards were begun in it, where. */
  def learn(taken: Map[ShardKey, Long], begun: Map[ShardKey, ExecutorId]): Unit = {
    assignments.adopt(begun)
    assignments.weigh(taken, runtime.clock.nanos())
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
    val inTurn  = ordered(tips)
    val now     = runtime.clock.nanos()
    val held    = inTurn.map(t => BatchEnds.Held(t.all, ahead(t.shard, Some(t), now), t.cut))
    val unheard =
      if (assignments.shards.size == tips.size) Vector.empty
      else assignments.shards.iterator.filterNot(tips.contains).flatMap(ahead(_, None, now).toCome).toVector
    val taken  = BatchEnds(limits, alignment, turn, unheard).of(held)
    val within = inTurn.iterator.zip(taken.iterator).collect { case (tip, Some(cut)) => tip.shard -> cut }.toMap
    def toCome = inTurn.zip(held).flatMap { case (tip, h) => h.ahead.toCome.map(tip.shard -> _) }
    val more   = beyond(within, toCome, unheard)
    val cuts   = if (more.isEmpty) within else within ++ more
    parts = cuts
    val moved = cuts.iterator.collect {
      case (shard, cut) if cut.position != tips(shard).base => shard -> cut.position
    }
    plan(moved.toVector)
    planned = range =>
      within.get(range.shard).fold(Vector.empty[(ShardPosition, Long)])(partsOf(range, tips(range.shard), _))
    assignments.weigh(cuts.transform((_, cut) => cut.bytes), runtime.clock.nanos())
    clocks =
      clocks.admit(for ((shard, cut) <- cuts.iterator; newest <- cut.newestArrival.iterator) yield shard -> newest)
    cuts
  }

  /** In the order of their shards, which rarely changes. */
  private def ordered(tips: Map[ShardKey, ShardTip]): Vector[ShardTip] = {
    val asBefore = if (order.size == tips.size) order.flatMap(tips.get(_)) else Vector.empty
    if (asBefore.size == tips.size) asBefore
    else {
      val sorted = tips.values.toVector.sortBy(t => (t.shard.stream.text, t.shard.shardId))
      order = sorted.map(_.shard)
      sorted
    }
  }

  /** The batch's tasks: ranges stay with their readers, and are cut where there are fewer of them than there shall be tasks. After
    * a restart the first batch is planned before anybody reads.
    *
    * @param leastTasks if the ranges' records can be shared among so many
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

  /** Where shards are read, and what has been counted there. */
  def now: ReadersNow = {
    val known = channel.reports.now
    val mine  = assignments.holding.toVector.flatMap(executor => known.get(executor.id).map(executor -> _))
    ReadersNow(
      mine.map { case (executor, reported) => executor -> reported.totals },
      assignments.all,
      mine.map { case (_, reported) => reported.counts }
    )
  }

  /** Some executor's readers have little room left. */
  def nearlyFull: Boolean =
    reported.exists(told => MemoryBudget.isNearlyFull(config.bufferBytes, told.totals.bufferedBytes))

  /** A moment, because asking again at once would find the same. */
  def pause(): Unit = pause(idlePause)

  def pause(time: FiniteDuration): Unit = waiting(runtime.waits.sleep(time))

  /** How long all plannings have waited here for news. */
  def waited: FiniteDuration = waitedSoFar

  private def waiting(wait: => Unit): Unit = {
    val began = runtime.clock.nanos()
    wait
    waitedSoFar += (runtime.clock.nanos() - began).nanos
  }

  override def close(): Unit = channel.release(assignments.holding)

  /** No more executors than tasks of a real-time batch can run: each with shards has one. */
  private def fewer(executors: ExecutorsNow): ExecutorsNow =
    if (reserved == 0) executors
    else executors.copy(usable = executors.usable.toVector.sortBy(_.id).take((channel.cores - reserved).max(1)).toSet)

  /** The executors now, without those that fail while others are left to read. */
  private def present(): ExecutorsNow = {
    val now = channel.executors()
    channel.reports.takeFailures().foreach { case (id, failure) =>
      now.present.find(_.id == id).foreach(spare(_, failure))
    }
    failing = failing.answered(executor => orders.get(executor).exists(known => isDone(executor, known)))
    failing = failing.keepOnly(now.present)
    fewer(failing.spared(now, runtime.clock.nanos()).fold(throw _, identity))
  }

  private def spare(executor: ExecutorId, failure: OrderFailure): Unit = {
    val before = failing
    failing = failing.failed(executor, failure, runtime.clock.nanos())
    val now = failing.failures(executor)
    if (!before.failures.get(executor).exists(_.times == now.times))
      log.warn(
        s"${failure.what}; others read its shards, if there are any. executor=${executor.id} host=${executor.host} " +
          s"source=${config.source} rest=${now.rest.toSeconds}s",
        failure.thrown.orNull
      )
  }

  /** Without those of readers that failed by an Error in their executor: others read their shards next. Throws it where there are no others. */
  private def sound(tips: Map[ShardKey, ShardTip]): Map[ShardKey, ShardTip] = {
    val broken = for {
      (shard, tip) <- tips
      failure      <- tip.failure if failure.reason == FailureReason.BrokenJvm
      executor     <- assignments.of(shard)
    } yield shard -> (executor -> failure.exception)
    if (broken.isEmpty) tips
    else {
      broken.values.toMap.foreach { case (executor, cause) => spare(executor, OrderFailure.Thrown(cause)) }
      present(): Unit
      tips -- broken.keys
    }
  }

  /** Orders the readers what has changed since they were last ordered. */
  private def assign(
      planning: PlanningState,
      reading: Map[ShardKey, ShardPosition],
      ending: Set[ShardKey],
      stops: Map[ShardKey, ShardPosition]
  ): Unit = {
    val executors = present()
    assignments.settle(planning, reading.keys, executors, channel.coresOfAnExecutor, runtime.clock.nanos())
    val undone = channel.reports.takeUndone()
    channel.reports.keepOnly(executors.present.map(_.id))
    val holding = assignments.holding
    orders = orders.filter { case (executor, _) => holding(executor) }.transform { (executor, known) =>
      undone.get(executor.id).fold(known)(known.lost)
    }
    val wanted = reading.iterator.map { case (shard, position) =>
      ReadOrder.Task(shard, position, stops.get(shard), ending(shard))
    }
    val byHome = wanted.toVector.groupBy(task => assignments.of(task.shard))
    send(holding.toVector.sortBy(_.id).flatMap { executor =>
      val known = orders.getOrElse(executor, ReaderOrders.none.copy(number = lastNumber))
      // An executor that doesn't answer is sent the release of its shards, and carries it out once it answers again.
      val isDue = failing.mayBeOrdered(executor, runtime.clock.nanos()) &&
        (executors.answering(executor) || (!known.isLost && known.whole > 0))
      def mine = byHome.getOrElse(Some(executor), Vector.empty)
      (if (isDue) known.next(mine, publisher()) else None).map(executor -> _)
    })
    assignments.heard(orders.iterator.collect {
      case (executor, known) if isHeard(executor, known) => executor
    }.toVector)
    hasRead ||= reported.exists(_.totals.reads.reads > 0)
  }

  /** Announces to readers where the batch ends: what they report from now on comes after it, and has time until the next order. */
  private def plan(ends: Vector[(ShardKey, ShardPosition)]): Unit = {
    val byHome = ends.groupBy { case (shard, _) => assignments.of(shard) }
    send(for {
      (home, mine)   <- byHome.toVector
      executor       <- home
      known          <- orders.get(executor)
      (now, changes) <- known.plan(mine)
    } yield executor -> (now -> changes))
  }

  private def send(changes: Vector[(ExecutorId, (ReaderOrders, ReaderOrders.Changes))]): Unit = {
    orders ++= changes.map { case (executor, (now, _)) => executor -> now }
    // Before the orders are sent: an executor that lost its shards must no longer be named when another begins to read them.
    channel.reports.assign(orders.collect {
      case (executor, known) if assignments.isReading(executor) => executor.id -> known.epoch
    })
    lastNumber = changes.iterator.map { case (_, (now, _)) => now.number }.foldLeft(lastNumber)(_ max _)
    if (changes.nonEmpty) channel.order(changes.map { case (executor, (now, change)) =>
      executor -> ReadOrder(
        config.source,
        now.number,
        Option.when(change.isWhole)(ReadOrder.Way(config, publisher())),
        change.commit,
        change.read,
        change.release,
        change.planned,
        runtime.clock.nanos(),
        channel.liveness,
        grain(assignments.shards.size),
        channel.reportPause.toMillis,
        hasRead
      )
    })
  }

  /** The reports of readers that stand at the batch's start. */
  private def heard(reading: Map[ShardKey, ShardPosition]): Map[ShardKey, ShardTip] = {
    val now   = runtime.clock.nanos()
    val known = channel.reports.now
    val told  = for {
      (executor, mine) <- orders
      reported         <- known.get(executor.id) if reported.applied >= mine.awaited
    } yield executor -> (reported.tips -> mine.committed)
    ShardMaps.collect(reading) { (shard, start) =>
      for {
        executor          <- assignments.of(shard)
        (tips, committed) <- told.get(executor)
        tip               <- tips.get(shard) if tip.tip.base == start
      } yield tip.now(now, committed)
    }
  }

  private def isHeard(executor: ExecutorId, known: ReaderOrders) =
    channel.reports.now.get(executor.id).exists(_.applied >= known.awaited)

  private def isDone(executor: ExecutorId, known: ReaderOrders) = channel.reports.isDone(executor.id, known.number)

  /** Sends all orders again to executors that have carried out theirs and have not reported in time. */
  private def repeatUnheard(): Unit = orders = orders.transform { (executor, known) =>
    if (isHeard(executor, known) || !isDone(executor, known)) known else known.lost(known.number)
  }

  private def reported = assignments.holding.toVector.flatMap(executor => channel.reports.now.get(executor.id))

  /** Where a range that was planned can be cut, with the bytes up to there. */
  private def partsOf(range: ShardRange, tip: ShardTip, cut: RecordBuffer.Cut): Vector[(ShardPosition, Long)] =
    if (range.start != tip.base || range.end != cut.position) Vector.empty
    else tip.boundaries.all.takeWhile(_.records <= cut.records).map(b => AfterSequenceNumber(b.last) -> b.bytes)

  /** The parts of all ranges with their bytes. Ranges that no reader holds stay whole. */
  private def split(ranges: Seq[ShardRange], leastTasks: Int): Seq[(ShardRange, Long)] =
    RangeSplitting.parts(ranges, range => parts.get(range.shard).map(_.bytes), leastTasks).flatMap {
      case (range, wanted) =>
        val ends = RangeSplitting.ends(planned(range), wanted)
        val some = RangeSplitting.cut(range, ends)
        some.map(_ -> weight(range) / some.size)
    }

  /** As far as it is known. */
  private def weight(range: ShardRange) = parts.get(range.shard).fold(RangeGrouping.BytesWorthATask)(_.bytes)

  private def isBlocked(reading: Map[ShardKey, ShardPosition], tips: Map[ShardKey, ShardTip]) = {
    val now = runtime.clock.nanos()
    alignment.skewMillis.isDefined &&
    alignment.blocks(
      reading.keysIterator.map(shard => ahead(shard, tips.get(shard), now)).toVector,
      isStarved = isNewlyStarved(now) && tips.valuesIterator.exists(_.starved)
    )
  }

  private def ahead(shard: ShardKey, tip: Option[ShardTip], now: Long): WatermarkAlignment.Ahead = {
    val isWaitedFor = tip.forall(t => !t.isComplete && !t.millisBehind.contains(0L))
    def patience    = tip match {
      case Some(t) if t.records > 0 => None
      case Some(t) if t.starved     => if (isNewlyStarved(now)) None else Some(StarvedPatience.toNanos)
      case _                        => Some(SilentPatience.toNanos)
    }
    def toCome = clocks.toCome(shard, patience, now)
    WatermarkAlignment.Ahead(
      tip.flatMap(_.oldestArrival),
      tip.flatMap(_.newestArrival),
      if (isWaitedFor) toCome else None
    )
  }

  /** Whether a shard that waits for memory may get it still: what the last batch took has been dropped since. */
  private def isNewlyStarved(now: Long) = now - planningSince < StarvedPatience.toNanos

  /** The longer nothing comes, the less often the readers are asked. */
  private def idlePause: FiniteDuration =
    ((runtime.clock.nanos() - lastNews).nanos / 10).max(ShortestPause).min(LongestPause)
}

object ShardCoordinator {
  type Beyond =
    (Map[ShardKey, RecordBuffer.Cut], Vector[(ShardKey, Long)], Vector[Long]) => Map[ShardKey, RecordBuffer.Cut]

  /** How long a shard that is behind and brings nothing holds the others back. Longer than a throttled one is silent. */
  private val SilentPatience = 30.seconds

  /** The same if it has nothing because the others hold all memory, which they give back only when they continue. */
  private val StarvedPatience = 2.seconds

  private val ShortestPause = 10.millis
  private val LongestPause  = 500.millis

  /** How long executors that don't report may hold up the answer that nothing is there: more than the answer to an order takes. */
  private val ReportingPatience = 100.millis

  /** How long executors that don't report may hold up what is known already. They are then sent all orders again, each time after twice as long. */
  private val HearingPatience = 2.seconds
}
