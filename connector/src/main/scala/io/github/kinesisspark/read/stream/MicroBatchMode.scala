package io.github.kinesisspark.read.stream

import scala.annotation.tailrec
import scala.collection.mutable
import scala.concurrent.duration._

import org.apache.spark.sql.connector.read.PartitionReaderFactory
import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}

import io.github.kinesisspark.position._
import io.github.kinesisspark.read.catalog.{CurrentEnds, ReadToTip}
import io.github.kinesisspark.read.plan.TriggerPolicy.Decision
import io.github.kinesisspark.read.plan._
import io.github.kinesisspark.read.reader.StreamAccess
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
private[stream] final class MicroBatchMode(source: QuerySource) {
  import source.{catalog, offsets, readers, retention, runtime}

  private lazy val isAlone = source.host.isAlone
  private lazy val callers = source.host.callers
  private val beyond       = new BeyondBuffers(catalog, source.alignment)
  private var state        = MicroBatchState.begin(runtime.clock.nanos())

  /** By the access to removed streams, which hardly changes. */
  private val factories = mutable.HashMap.empty[Map[StreamArn, StreamAccess], KinesisPartitionReaderFactory]

  /** `Trigger.AvailableNow`: the query ends with what is there at its first planning. */
  def endWithWhatIsThere(): Unit = happened(EndsSoon)

  /** The end of the next batch; its start where there is no batch. */
  def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    happened(Asked)
    val isOnce = SparkLimits.isOnce(limit)
    val began  = runtime.clock.nanos()
    val waited = readers.waited
    // A retry looks for what readers had not read at the first look, because somebody waits for it.
    @tailrec def plan(isRetry: Boolean): Option[Batch] = {
      val isAtOnce           = isOnce || !source.hasReaders
      val (planning, bounds) = begin(start, isAtOnce)
      val batch              = bounds match {
        case Some(all) if isAtOnce => allAtOnce(start, planning, all)
        case _                     => withReaders(start, planning, policy(bounds, limit), isRetry)
      }
      if (batch.isEmpty && !isRetry)
        happened(NothingFound(runtime.clock.nanos() - began - (readers.waited - waited).toNanos))
      if (batch.isDefined) batch
      else if (!isWaitedFor) {
        // Each planning without readers takes calls for all shards.
        if (isAtOnce && !isOnce && !state.isEnding) readers.pause(idlePatience(isRetry = false))
        None
      } else if (isAllRead(planning, began)) {
        callers.foreach(_.answered())
        None
      } else plan(isRetry = true)
    }
    val batch = plan(isRetry = false)
    batch.foreach(found => happened(Planned(found, runtime.clock.nanos())))
    batch.fold(start)(_.end)
  }

  private def happened(call: Call): Unit = state = state.after(call)

  /** Where the batch starts, with the bounds of the query (AvailableNow) or of this batch (all at once), if there are any. */
  private def begin(start: Offset, isAtOnce: Boolean): (PlanningState, Option[Bounds]) = state.bounds match {
    case None if isAtOnce || state.isEnding =>
      val (planning, ends) = currentEnds(start)
      if (state.isEnding) happened(Bounded(ends))
      (planning, Some(ends))
    case known => (source.begin(start), known)
  }

  @tailrec private def currentEnds(start: Offset): (PlanningState, Bounds) = {
    // Shards may have been listed long ago, as the last batch of the run before was run again since.
    val now      = catalog.serviceTime()
    val planning = source.begin(start)
    CurrentEnds.of(catalog, now, planning) match {
      case Right(ends) => (planning, ends)
      case Left(gone)  =>
        source.beginAnew(gone, planning.start): Unit
        currentEnds(start)
    }
  }

  private def policy(bounds: Option[Bounds], limit: ReadLimit) = TriggerPolicy(
    bounds,
    SparkLimits.read(limit),
    source.interval.map(LongTrigger(_, source.alignment))
  )

  /** Whether somebody waits until all is processed that is there now. */
  private def isWaitedFor = !state.isEnding && callers.exists(_.areWaiting)

  /** Whether all records are read that were put before a planning began. Asks Kinesis; where a call fails, the readers' later answers decide. */
  private def isAllRead(planning: PlanningState, began: Long) = planning.awaitingChildren.isEmpty &&
    ReadToTip.isSo(catalog, planning.reading).getOrElse(readers.haveNothing(planning.reading, began))

  /** A batch that ends at the bounds. Its tasks read all of it from Kinesis, regardless of what readers can hold. Children of a shard that ends in this
    * batch are left to the next, as always.
    */
  private def allAtOnce(start: Offset, planning: PlanningState, all: Bounds): Option[Batch] = {
    val moved = all.left(planning.reading)
    source.planned(PlanningResult(planning.open.keys, planning.end(moved), None, Map.empty))
    batch(start, planning, PlannedBatch.ofLog, moved)(all.completeTo)
  }

  @tailrec private def withReaders(
      start: Offset,
      planning: PlanningState,
      policy: TriggerPolicy,
      isRetry: Boolean
  ): Option[Batch] = {
    val view = readers.await(
      planning,
      policy.reading(planning),
      policy.goal(planning, idlePatience(isRetry)),
      isUrgent = !isRetry && !planning.hasNewStreams && isWaitedFor
    )
    val isOutdated = source.failIfAny(view.statuses, planning.start)
    val batch      = if (isOutdated) None else decideEnd(start, planning, policy, view)
    // Without a batch the query would end, but other shards may have more.
    val mayHaveMore = policy.bounds.isDefined && view.statuses.valuesIterator.exists(_.failure.isDefined)
    if (batch.isEmpty && (isOutdated || mayHaveMore)) withReaders(start, source.begin(start), policy, isRetry)
    else batch
  }

  private def decideEnd(
      start: Offset,
      planning: PlanningState,
      policy: TriggerPolicy,
      view: PlanningView
  ): Option[Batch] = {
    import view.statuses
    catalog.addChildren(statuses.values)
    def show(moved: Map[ShardKey, ShardPosition], cuts: Map[ShardKey, CutPoint]) =
      source.planned(PlanningResult(view.reading.keys, planning.end(furthest(statuses, moved)), Some(statuses), cuts))
    def ending(found: PlannedBatch) = {
      readers.begin(found)
      val moved = policy.ends(found, statuses)
      show(moved, found.ends)
      batch(start, planning, found, moved)(policy.completeTo(found, statuses, shard => catalog.now(shard.stream)))
    }
    policy.decide(
      view,
      state.batches,
      mayWait = !planning.hasNewStreams && !isWaitedFor,
      readers.nearlyFull,
      sinceBatch = (runtime.clock.nanos() - state.lastBatchNanos).nanos
    ) match {
      case Decision.Wait =>
        show(Map.empty, Map.empty)
        readers.pause()
        None
      case Decision.Ends(found)             => ending(found)
      case Decision.Probe(found, questions) =>
        ending(found.extended(beyond.ends(questions, statuses), view.reading))
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
    * @param read       where its parts end in shards that are not past retention
    * @param completeTo up to when all that arrived in a shard comes before a position, in ms, if known
    */
  private def batch(start: Offset, planning: PlanningState, planned: PlannedBatch, read: Map[ShardKey, ShardPosition])(
      completeTo: (ShardKey, ShardPosition) => Option[Long]
  ): Option[Batch] = {
    val moved    = read ++ planning.pastRetention.map(_ -> ShardPosition.ShardEnd)
    val hasMoved = moved.exists { case (shard, to) => !planning.reading.get(shard).contains(to) }
    lazy val end = retention.complete(
      planning.end(moved),
      planning.reading,
      (shard, begin) => completeTo(shard, moved.getOrElse(shard, begin))
    )
    Option.when(planning.hasNewStreams || hasMoved || retention.isDue(planning.start, end))(
      Batch(start, offsets.remember(end), planned, None)
    )
  }

  /** A batch's tasks. Spark asks twice at least. */
  def tasks(start: Offset, end: Offset): Vector[KinesisInputPartition] = {
    val batch = state.of(start, end)
    batch.tasks.getOrElse {
      val made = tasksOf(batch.planned, SourceOffsets.of(start), SourceOffsets.of(end))
      happened(TasksMade(batch.copy(tasks = Some(made))))
      made
    }
  }

  private def tasksOf(batch: PlannedBatch, from: KinesisOffset, to: KinesisOffset) = {
    // After a restart this comes first, before anybody looked at the checkpoint.
    catalog.accept(to)
    retention.reportGaps(from)
    val ranges   = source.removed.readable(from.rangesTo(to), to)
    val hashKeys =
      if (source.options.deaggregate) source.hashKeysOf(ranges.map(_.shard)) else Map.empty[ShardKey, HashKeyRange]
    readers.group(batch, ranges, source.options.minPartitions).map(KinesisInputPartition(_, hashKeys))
  }

  def readerFactory(): PartitionReaderFactory = factories.getOrElseUpdate(
    source.removed.access,
    KinesisPartitionReaderFactory(readers.config.copy(streams = readers.config.streams ++ source.removed.access))
  )

  /** Spark calls it when it has planned the batch after. The next planning orders the readers to drop its records; nothing is to be written anywhere. */
  def commit(): Unit = happened(Committed)

  def stop(): Unit = happened(Stopped)
}
