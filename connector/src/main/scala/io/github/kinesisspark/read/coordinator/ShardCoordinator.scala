package io.github.kinesisspark.read.coordinator

import scala.annotation.tailrec
import scala.concurrent.duration._

import org.slf4j.LoggerFactory

import io.github.kinesisspark.position.{ShardKey, ShardPosition, ShardRange}
import io.github.kinesisspark.read.plan.PlanningView.{Goal, ReportPatience}
import io.github.kinesisspark.read.plan.{
  BatchSlices,
  BoundarySpacing,
  ExecutorId,
  PlanningState,
  PlanningView,
  RangeGrouping,
  ReaderStatus,
  RealTimeTasks,
  ShardClocks,
  WatermarkAlignment
}
import io.github.kinesisspark.read.reader.{ReaderConfig, ReadersNow, ResolvedPublisher}
import io.github.kinesisspark.runtime.Runtime

/** All shard readers of one source, seen from the driver. Has them read what is planned next, and waits until a batch is worth planning. [[PlanningView]]
  * decides when that is, and where the batch ends.
  *
  * Used by the query's own thread only.
  *
  * @param publisher how the readers get their records now
  * @param spacing   how far boundaries lie apart, by the number of shards
  */
final class ShardCoordinator(
    channel: ExecutorChannel,
    val config: ReaderConfig,
    publisher: () => ResolvedPublisher,
    alignment: WatermarkAlignment,
    spacing: Int => BoundarySpacing
)(implicit runtime: Runtime)
    extends AutoCloseable {
  import ShardCoordinator._

  private val log       = LoggerFactory.getLogger(classOf[ShardCoordinator])
  private val directory = new ReaderDirectory(channel, config, publisher)
  private val executors = new UsableExecutors(channel, config.sourceId, directory)
  private val sender    = new OrderSender(channel, config, publisher, spacing, directory, executors)
  private var clocks    = ShardClocks()
  private var lastNews  = runtime.clock.nanos()

  private var waitedSoFar = Duration.Zero

  /** What a task needs to read. */
  def configOfTasks: ReaderConfig = config.copy(hasRead = sender.hasRead)

  /** Why there are no readers; None where there are. Without readers, [[await]] and [[open]] must not be called. */
  def refusal(): Option[String] = channel.refusal()

  /** Whether the query can do without executors for now. Where it can't and there are none, the next order waits for one. */
  def allowNone(isAllowed: Boolean): Unit = channel.allowNone(isAllowed)

  /** Whether there are none, as Spark has removed all of them (dynamic allocation). */
  def areNone: Boolean = channel.executors().present.isEmpty

  /** How far the readers are beyond the positions, once that is worth planning.
    *
    * @param reading  the shards that are read, with where the batch starts in each
    * @param goal     what to wait for
    * @param isUrgent whether somebody waits for the answer that nothing is there
    */
  def await(
      planning: PlanningState,
      reading: Map[ShardKey, ShardPosition],
      goal: Goal,
      isUrgent: => Boolean = false
  ): PlanningView = {
    val began = runtime.clock.nanos()
    clocks = clocks.begin(reading, planning.parents, planning.start.progress(_).isDefined, began)
    var repeatAfter: FiniteDuration = ReportPatience
    @tailrec
    def look(): PlanningView = {
      val since = (runtime.clock.nanos() - began).nanos
      if (since > repeatAfter) {
        directory.repeatUnacknowledged()
        repeatAfter = since * 2
      }
      sender.send(planning, reading, goal.stops)
      // Only now: an order that fails as it is sent is sent again after a wait.
      val seen     = channel.reports.news
      val statuses = statusesOf(reading)
      val now      = runtime.clock.nanos()
      clocks = clocks.afterReports(statuses.valuesIterator.map(s => s.shard -> s.reached), now)
      val view      = PlanningView(reading, statuses, clocks, alignment, began, now)
      val readiness = view.decide(goal, isUrgent)
      if (readiness.hasNews) lastNews = now
      if (readiness.isDue) {
        if (readiness.hasNews) view.leftBehind.foreach(warnOf)
        view
      } else {
        waiting {
          if (readiness.isFilling) runtime.waits.sleep(FillPause)
          else channel.reports.await(seen, readiness.mostWait.foldLeft(idlePause)(_ min _))
        }
        if (readiness.isOver) view else look()
      }
    }
    val view = look()
    // What follows may be a batch of another source.
    sender.handOver(isFollowed = false)
    view
  }

  private def warnOf(leftBehind: ShardKey): Unit =
    runtime.lines.warn(log, s"left behind ${leftBehind.stream}", leftBehind)(
      s"$leftBehind is behind and brings no records, so other shards wait for it no longer (maxShardSkew). Its records may be late for a watermark, " +
        "and Spark drops late rows without an error. Look for failing or throttled reads of the shard, a KMS key that is throttled, or full memory."
    )

  private def statusesOf(reading: Map[ShardKey, ShardPosition]): Map[ShardKey, ReaderStatus] = {
    val statuses = directory.statuses(reading)
    executors.restCutOff(statuses)
    executors.excludeBroken(statuses)
  }

  /** Whether each reader holds nothing, and Kinesis has answered it since that time that nothing more is there. */
  def haveNothing(reading: Map[ShardKey, ShardPosition], sinceNanos: Long): Boolean = {
    val statuses = statusesOf(reading)
    val millis   = (runtime.clock.nanos() - sinceNanos).nanos.toMillis
    statuses.size == reading.size &&
    statuses.valuesIterator.forall(s => !s.hasNews && s.isSettled(millis, hasStop = false))
  }

  /** Has all shards read from the batch's start, and waits until their readers are open, but not for answers of the service. Returns the reports so
    * far.
    */
  def open(planning: PlanningState): Map[ShardKey, ReaderStatus] = {
    val deadline = runtime.clock.nanos() + ReportPatience.toNanos
    val reading  = planning.open
    @tailrec
    def look(): Map[ShardKey, ReaderStatus] = {
      sender.send(planning, reading, stops = Map.empty)
      val seen     = channel.reports.news
      val statuses = statusesOf(reading)
      val left     = (deadline - runtime.clock.nanos()).nanos
      if (statuses.size == reading.size || left <= Duration.Zero) statuses
      else {
        channel.reports.await(seen, LongestPause.min(left.max(ShortestPause)))
        look()
      }
    }
    val statuses = look()
    sender.handOver(isFollowed = true)
    statuses
  }

  /** Leaves so many cores to others, in real-time batches. */
  def reserve(cores: Int): Unit = executors.reserve(cores)

  /** The tasks of a real-time batch, no more than can run at once. */
  def tasks(planning: PlanningState, shards: Iterable[ShardKey]): Vector[RealTimeTasks.Task] = RealTimeTasks.plan(
    shards.map(shard => RealTimeTasks.Placed(shard, planning.hashStart(shard), directory.assignments.of(shard))),
    channel.coresOfAnExecutor,
    executors.realTimeTasks
  )

  /** After a real-time batch: what it took of each shard, in bytes, and which shards were begun in it, where. */
  def recordUsage(taken: Map[ShardKey, Long], begun: Map[ShardKey, ExecutorId]): Unit = {
    sender.adopt(begun)
    directory.assignments.weigh(taken, runtime.clock.nanos())
  }

  /** The batch begins: sends its readers where it ends. */
  def begin(batch: BatchSlices): Unit = {
    sender.announce(batch.moved)
    sender.handOver(isFollowed = false)
    // A planning without records says nothing of the load.
    if (batch.moved.nonEmpty)
      directory.assignments.weigh(batch.ends.transform((_, end) => end.bytes), runtime.clock.nanos())
    clocks = clocks.admit(
      for ((shard, end) <- batch.ends.iterator; newest <- end.newestArrival.iterator) yield shard -> newest
    )
  }

  /** The batch's tasks: ranges stay with their readers, and are cut where there are fewer of them than there shall be tasks.
    *
    * @param leastTasks if the ranges' records can be shared among so many
    */
  def group(batch: BatchSlices, ranges: Seq[ShardRange], leastTasks: Int): Vector[RangeGrouping.Group] = {
    def grouped(parts: Seq[ShardRange], bytes: ShardRange => Long) = RangeGrouping.group(
      parts,
      home = range => directory.assignments.of(range.shard),
      weight = bytes,
      most = executor => if (executor.isDefined) channel.tasksOfAnExecutor else channel.cores,
      leastTasks
    )
    if (leastTasks <= 1) grouped(ranges, batch.weight)
    else {
      val parts = batch.split(ranges, leastTasks)
      grouped(parts.map(_._1), parts.toMap)
    }
  }

  /** Where shards are read, and what has been counted there. */
  def now: ReadersNow = directory.now

  /** Waits a moment, because the next look would find the same. */
  def pause(): Unit = pause(idlePause)

  def pause(time: FiniteDuration): Unit = waiting(runtime.waits.sleep(time))

  /** How long all plannings have waited here for news. */
  def waited: FiniteDuration = waitedSoFar

  private def waiting(wait: => Unit): Unit = {
    val began = runtime.clock.nanos()
    wait
    waitedSoFar += (runtime.clock.nanos() - began).nanos
  }

  override def close(): Unit = sender.close()

  /** The longer nothing comes, the less often the readers are asked. */
  private def idlePause: FiniteDuration =
    ((runtime.clock.nanos() - lastNews).nanos / 10).max(ShortestPause).min(LongestPause)
}

private object ShardCoordinator {
  private val ShortestPause = 10.millis
  private val LongestPause  = 500.millis

  /** From one look to the next while readers fill their buffers. A look at each report of hundreds of readers would take a tenth of a core. */
  private val FillPause = 20.millis
}
