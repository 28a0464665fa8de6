package io.github.kinesisspark.read.stream

import scala.annotation.tailrec
import scala.collection.concurrent.TrieMap
import scala.concurrent.duration._

import org.apache.spark.sql.connector.read.PartitionReaderFactory
import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}

import io.github.kinesisspark.config.OptionException
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.catalog.ReadToTip
import io.github.kinesisspark.read.plan.TriggerPolicy.{AvailableNow, Decision, Once, Unbounded}
import io.github.kinesisspark.read.plan._
import io.github.kinesisspark.read.reader.ReaderConfig
import io.github.kinesisspark.read.stream.MicroBatchState._
import io.github.kinesisspark.read.task.{KinesisInputPartition, KinesisPartitionReaderFactory}

/** Plans micro-batches over exact ranges: `latestOffset` fixes the batch's end by what the shard readers have reported, and `tasks` turns start and end
  * into ranges. What is remembered between Spark's calls is one [[MicroBatchState]]; what the trigger makes of a planning, a [[TriggerPolicy]].
  *
  * A planning that finds nothing normally returns at once: what readers have not read yet is left to the next one. `processAllAvailable()` returns once
  * a planning finds nothing in any source of the query, so while somebody waits in it, a planning that finds nothing asks Kinesis whether all is read.
  *
  * Used by the query's own thread only.
  */
private[stream] final class MicroBatchMode(source: QuerySource) extends SourceMode {
  import MicroBatchMode._
  import source.{catalog, offsets, readers, retention, runtime}

  private lazy val isAlone = source.host.isAlone
  private lazy val callers = source.host.callers
  private lazy val hasGaps = source.host.leavesOffsetsOut
  private val beyond       = new BeyondBuffers(catalog)
  private val scaleToZero  = new ScaleToZero(source)
  private var state        = MicroBatchState.begin(runtime.clock.nanos())

  /** `Trigger.AvailableNow`: the query ends with what is there at its first planning. */
  def endWithWhatIsThere(): Unit = happened(EndsSoon)

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    if (hasGaps) throw new OptionException(Seq(LeftOut))
    happened(Asked)
    source.observer.begins()
    val began  = runtime.clock.nanos()
    val waited = readers.waited
    // A retry looks for what readers had not read at the first look, because somebody waits for it.
    @tailrec def look(isRetry: Boolean): Option[PlannedBatch] = if (isIdle(start, limit)) None
    else {
      val (planning, policy) = begin(start, limit)
      val batch              = plan(start, planning, policy, isRetry)
      if (batch.isEmpty && !isRetry)
        happened(FoundNothingYet(runtime.clock.nanos() - began - (readers.waited - waited).toNanos))
      if (batch.isDefined) batch
      else if (!isWaitedFor) {
        // Each planning without readers takes calls for all shards. Where the query ends, there is none after this.
        if (!policy.bounds.asksReaders && !SparkLimits.isOnce(limit) && !state.isEnding)
          readers.pause(idlePatience(isRetry = false))
        None
      } else if (isAllRead(planning, began)) {
        callers.foreach(_.answered())
        None
      } else look(isRetry = true)
    }
    look(isRetry = false) match {
      case Some(batch) =>
        happened(Planned(batch, runtime.clock.nanos()))
        offsets.remember(batch.end)
      case None =>
        happened(NothingFound)
        start
    }
  }

  /** Whether nothing is to be planned, and no executor is there that would have to be asked. */
  private def isIdle(start: Offset, limit: ReadLimit) = !SparkLimits.isOnce(limit) && !state.isEnding && {
    val isAwaited = isWaitedFor
    val isIdle    = scaleToZero.isIdle(start, isUrgent = isAwaited)
    if (isIdle && isAwaited) callers.foreach(_.answered())
    else if (isIdle) readers.pause(idlePatience(isRetry = false))
    isIdle
  }

  private def happened(call: Call): Unit = state = state.after(call)

  /** Where the batch starts, and what the trigger makes of it. */
  private def begin(start: Offset, limit: ReadLimit): (PlanningState, TriggerPolicy) = {
    val isOnce            = SparkLimits.isOnce(limit) || !source.hasReaders
    val (planning, stops) =
      if (state.stops.isEmpty && (isOnce || state.isEnding)) {
        val (begun, ends) = source.beginWithEnds(start)
        (begun, Some(ends))
      } else (source.begin(start), state.stops)
    if (state.isEnding) stops.foreach(found => happened(Bounded(found)))
    val bounds = stops.fold[TriggerPolicy.Bounds](Unbounded)(at => if (isOnce) Once(at) else AvailableNow(at))
    (
      within(bounds, planning),
      TriggerPolicy(bounds, SparkLimits.read(limit), source.interval.map(LongTrigger(_, source.alignment)))
    )
  }

  /** Shards begin with the records that were seen when their ends were looked for. */
  private def within(bounds: TriggerPolicy.Bounds, planning: PlanningState) =
    bounds.stops.fold(planning)(stops => planning.beginningWith(stops.firsts))

  /** Whether somebody waits until all is processed that is there now. */
  private def isWaitedFor = !state.isEnding && callers.exists(_.areWaiting)

  /** Whether all records are read that were put before a planning began. Asks Kinesis; where a call fails, the readers' later answers decide. */
  private def isAllRead(planning: PlanningState, began: Long) = planning.awaitingChildren.isEmpty &&
    ReadToTip
      .isSo(catalog, planning.reading, source.readTo(planning.start))
      .getOrElse(readers.haveNothing(planning.reading, began))

  @tailrec private def plan(
      start: Offset,
      planning: PlanningState,
      policy: TriggerPolicy,
      isRetry: Boolean
  ): Option[PlannedBatch] = {
    val reading = policy.reading(planning)
    val view    = policy.goal(planning, idlePatience(isRetry)) match {
      case Some(goal) =>
        readers.await(planning, reading, goal, isUrgent = !isRetry && !planning.hasNewStreams && isWaitedFor)
      case None => PlanningView.withoutReaders(reading)
    }
    val isOutdated = source.failIfAny(view.statuses, planning.start)
    val batch      = if (isOutdated) None else decideEnd(start, planning, policy, view)
    // Without a batch the query would end, but other shards may have more.
    val mayHaveMore = policy.bounds != Unbounded && view.statuses.valuesIterator.exists(_.failure.isDefined)
    if (batch.isEmpty && (isOutdated || mayHaveMore))
      plan(start, within(policy.bounds, source.begin(start)), policy, isRetry)
    else batch
  }

  private def decideEnd(
      start: Offset,
      planning: PlanningState,
      policy: TriggerPolicy,
      view: PlanningView
  ): Option[PlannedBatch] = {
    catalog.addChildren(view.statuses.values)
    def show(moved: Map[ShardKey, ShardPosition], cuts: Map[ShardKey, CutPoint]) = source.observe(
      if (policy.bounds.asksReaders)
        PlanningResult(view.reading.keys, planning.end(furthest(view.statuses, moved)), Some(view.statuses), cuts)
      else PlanningResult(view.reading.keys, planning.end(moved), None, cuts)
    )
    def ending(slices: BatchSlices) = {
      if (policy.bounds.asksReaders) readers.begin(slices)
      val moved = policy.ends(slices, view)
      show(moved, slices.ends)
      batch(start, planning, slices, moved)(
        policy.completeTo(slices, view, (shard, millis) => catalog.ago(shard.stream, millis))
      )
    }
    policy.decide(
      view,
      state.batches,
      mayWait = !planning.hasNewStreams && !isWaitedFor,
      sinceBatch = (runtime.clock.nanos() - state.lastBatchNanos).nanos
    ) match {
      case Decision.Wait =>
        show(Map.empty, Map.empty)
        readers.pause(state.pace.pause.max(LeastPause))
        None
      case Decision.Ends(slices)             => ending(slices)
      case Decision.Probe(slices, questions) =>
        ending(slices.extended(beyond.ends(questions, view.statuses), view.statuses))
    }
  }

  /** How long a planning waits for news, which holds up the other sources of the query. */
  private def idlePatience(isRetry: Boolean) =
    if (isRetry || isAlone) IdlePace.Longest
    else if (state.hadBatch) Duration.Zero
    else state.pace.pause

  /** How far shards are read. A batch may end later than its readers stand. */
  private def furthest(statuses: Map[ShardKey, ReaderStatus], moved: Map[ShardKey, ShardPosition]) =
    statuses.transform { (shard, status) =>
      moved.get(shard).filter(status.position.isBefore(_)).getOrElse(status.position)
    }

  /** The batch, if it is worth planning.
    *
    * @param read       where it ends in shards that are not past retention. Children of a shard that ends in it are left to the next
    * @param completeTo up to when all that arrived in a shard comes before a position, in ms, if known
    */
  private def batch(start: Offset, planning: PlanningState, slices: BatchSlices, read: Map[ShardKey, ShardPosition])(
      completeTo: (ShardKey, ShardPosition) => Option[Long]
  ): Option[PlannedBatch] = {
    val moved    = read ++ planning.pastRetention.map(_ -> ShardPosition.ShardEnd)
    val hasMoved = moved.exists { case (shard, to) => !planning.reading.get(shard).contains(to) }
    lazy val end = retention.complete(
      planning.beginningWith(slices.firsts).end(moved),
      planning.starts,
      (shard, begin) => completeTo(shard, moved.getOrElse(shard, begin))
    )
    Option.when(planning.hasNewStreams || hasMoved || retention.isDue(planning.start, end))(
      PlannedBatch(SourceOffsets.of(start), end, slices)
    )
  }

  /** A batch's tasks. Spark asks twice at least. */
  def tasks(start: Offset, end: Offset): Vector[KinesisInputPartition] = {
    val run = state.of(SourceOffsets.of(start), SourceOffsets.of(end))
    run.tasks.getOrElse {
      val made = tasksOf(run.batch)
      happened(TasksMade(run.copy(tasks = Some(made))))
      made
    }
  }

  private def tasksOf(batch: PlannedBatch) = {
    // After a restart this comes first, before anybody looked at the checkpoint.
    catalog.accept(batch.end)
    // A stream that is new in a batch that runs again was complete up to the batch's end.
    retention.reportGaps(KinesisOffset(batch.end.streams ++ batch.start.streams))
    val ranges   = source.removed.readable(batch.start.rangesTo(batch.end), batch.end)
    val hashKeys = source.hashKeysOf(ranges.map(_.shard))
    readers.group(batch.slices, ranges, source.options.minPartitions).map(KinesisInputPartition(_, hashKeys))
  }

  /** Few: before anything was read and after it, and with removed streams, of which a batch or two read the rest. */
  private val factories = TrieMap.empty[ReaderConfig, KinesisPartitionReaderFactory]

  override def readerFactory(): PartitionReaderFactory = {
    val known  = readers.configOfTasks
    val config = known.copy(
      streams = known.streams ++ source.removed.access,
      // What an earlier run has planned was readable then, and this driver has listed its streams.
      hasRead = known.hasRead || state.isOfEarlierRun
    )
    factories.getOrElseUpdate(config, KinesisPartitionReaderFactory(config))
  }

  override def commit(): Unit = happened(Committed)

  override def stop(): Unit = happened(Stopped)
}

private object MicroBatchMode {

  /** From one planning that holds records back to the next. */
  private val LeastPause = 10.millis

  private val LeftOut =
    "The query leaves offsets of batches out of its log (asyncProgressTrackingEnabled is true, and asyncProgressTrackingCheckpointIntervalMs is above 0). " +
      "After a restart, shards that came or ended in between could not be read exactly. Leave both options out. With an interval of 0 the query runs, but not exactly once."
}
