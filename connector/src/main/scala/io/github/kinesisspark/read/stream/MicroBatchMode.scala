package io.github.kinesisspark.read.stream

import scala.annotation.tailrec
import scala.collection.mutable
import scala.concurrent.duration._

import org.apache.spark.sql.connector.read.PartitionReaderFactory
import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}

import io.github.kinesisspark.position._
import io.github.kinesisspark.read.catalog.{CurrentEnds, ReadToTip}
import io.github.kinesisspark.read.plan.TriggerPolicy.Decision
import io.github.kinesisspark.read.plan.{
  Bounds,
  HistoryPart,
  IdlePace,
  PlannedBatch,
  PlanningState,
  PlanningView,
  ReaderStatus,
  TriggerPolicy
}
import io.github.kinesisspark.read.reader.StreamAccess
import io.github.kinesisspark.read.task.{KinesisInputPartition, KinesisPartitionReaderFactory}

/** Plans micro-batches over exact ranges: `latestOffset` fixes the batch's end by what the shard readers have reported, and `tasks` turns start and end
  * into ranges. Which batch Spark runs is in [[BatchState]], what the trigger makes of a planning in [[TriggerPolicy]].
  *
  * A query has no new data when a planning finds none in any of its sources, and then `processAllAvailable()` returns. So a planning that finds nothing
  * here is answered at once, by what is known: what a reader has not read yet is for the next. Only where somebody waits in `processAllAvailable()` it
  * has to be proved first, by answers of Kinesis that were asked for since the planning began.
  *
  * Used by the query's own thread only.
  */
private[stream] final class MicroBatchMode(source: QuerySource, offsets: SourceOffsets) {
  import MicroBatchMode._
  import source.{catalog, observer, readers, retention, runtime}

  private lazy val isAlone   = source.host.isAlone
  private lazy val callers   = source.host.callers
  private val beyond         = new BeyondBuffers(catalog, source.alignment)
  private var state          = BatchState.begin
  private var endsNow        = false
  private var bounds         = Option.empty[Bounds]
  private var pace           = IdlePace.begin
  private var fairnessOffset = 0L
  private var lastBatch      = runtime.clock.nanos()

  /** By the access to streams that are not read any more: hardly ever more than one. */
  private val factories = mutable.HashMap.empty[Map[StreamArn, StreamAccess], KinesisPartitionReaderFactory]

  /** From here on the query reads what is there when it first plans, and ends. */
  def endWithWhatIsThere(): Unit = endsNow = true

  /** Where the next batch ends, or its start if there is none. */
  def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    val waitedBefore = readers.waited
    val began        = runtime.clock.nanos()
    val batch        = plan(start, limit, began, waitedBefore, isRetry = false)
    state = state.after(batch.fold(BatchState.NothingFound: BatchState.Call)(BatchState.Planned(_)))
    batch.fold(start)(_.end)
  }

  /** @param began   when this planning began
    * @param isRetry somebody waits for what has not been read yet
    */
  @tailrec private def plan(
      start: Offset,
      limit: ReadLimit,
      began: Long,
      waitedBefore: FiniteDuration,
      isRetry: Boolean
  ): Option[BatchState.Batch] = {
    val round = if (endsNow && bounds.isEmpty) bounded(roundAt(start)) else roundAt(start)
    val batch =
      if (SparkLimits.isOnce(limit)) allAtOnce(round)
      else if (!source.hasReaders) withoutReaders(round)
      else withReaders(round, policy(limit), isRetry)
    if (batch.isEmpty && !isRetry)
      pace = pace.planned(runtime.clock.nanos() - began - (readers.waited - waitedBefore).toNanos)
    if (batch.isDefined || !isWaitedFor) batch
    else if (isAllRead(round.planning, began)) {
      callers.foreach(_.answered())
      None
    } else plan(start, limit, began, waitedBefore, isRetry = true)
  }

  private def roundAt(start: Offset): Round = {
    val from = catalog.accept(SourceOffsets.of(start))
    catalog.refreshIfDue()
    val planning      = source.planningAt(from)
    val pastRetention = retention.reportShards(planning)
    retention.reportGaps(from)
    Round(start, from, planning, pastRetention)
  }

  private def bounded(round: Round): Round = {
    val (now, ends) = withEnds(round)
    bounds = Some(ends)
    now
  }

  /** With where its shards end now. */
  @tailrec private def withEnds(round: Round): (Round, Bounds) = CurrentEnds.of(catalog, round.planning.reading) match {
    case Right(ends) => (round, ends)
    case Left(gone)  =>
      source.beginAnew(gone, round.from): Unit
      withEnds(roundAt(round.start))
  }

  private def policy(limit: ReadLimit) =
    TriggerPolicy(bounds, SparkLimits.read(limit), observer.interval, source.alignment)

  /** Whether somebody waits until all is processed that is there now. */
  private def isWaitedFor = bounds.isEmpty && callers.exists(_.areWaiting)

  /** Whether nothing is left of what was put before a planning began: by Kinesis, or, where it can't be asked, by the readers' later answers. */
  private def isAllRead(planning: PlanningState, began: Long) = planning.awaitingChildren.isEmpty &&
    ReadToTip.isSo(catalog, planning.reading).getOrElse(readers.haveNothing(planning.reading, began))

  /** Ends where the shards end now, or at the query's bounds. The tasks read all of it from Kinesis, however much readers can hold.
    * As always, children of a shard that ends with this batch are left to the next.
    */
  private def allAtOnce(round: Round): Option[BatchState.Batch] = {
    val (now, all) = bounds.fold(withEnds(round))(round -> _)
    val moved      = all.left(now.planning.reading)
    source.reached = now.planning.end(moved)
    batch(now, PlannedBatch.ofLog, moved ++ now.pastRetention.map(_ -> ShardPosition.ShardEnd))(all.completeTo)
  }

  private def withoutReaders(round: Round): Option[BatchState.Batch] = {
    val found = allAtOnce(round)
    observer.plannedWithoutReaders(round.planning.reading.keys)
    // Each look takes calls of all shards.
    if (found.isEmpty && bounds.isEmpty && !isWaitedFor) readers.pause(if (isAlone) IdlePace.Longest else pace.pause)
    found
  }

  @tailrec private def withReaders(round: Round, policy: TriggerPolicy, isRetry: Boolean): Option[BatchState.Batch] = {
    import round.planning
    def isLeftOut(shard: ShardKey) = round.pastRetention.contains(shard) || policy.isDone(planning)(shard)
    val view                       = readers.await(
      planning,
      excluded = isLeftOut,
      policy.stops,
      policy.goal(planning, idlePatience(isRetry)),
      isUrgent = !isRetry && !planning.hasNewStreams && isWaitedFor
    )
    val beginsElsewhere = source.failIfAny(view.statuses, round.from)
    val batch           = if (beginsElsewhere) None else decideEnd(round, policy, view, isLeftOut)
    // Without a batch AvailableNow ends, and other shards may have more.
    val mayHaveMore = bounds.isDefined && view.statuses.valuesIterator.exists(_.failure.isDefined)
    if (batch.isEmpty && (beginsElsewhere || mayHaveMore)) withReaders(roundAt(round.start), policy, isRetry) else batch
  }

  private def decideEnd(
      round: Round,
      policy: TriggerPolicy,
      view: PlanningView,
      isLeftOut: ShardKey => Boolean
  ): Option[BatchState.Batch] = {
    import round.planning
    val statuses = view.statuses
    catalog.addChildren(statuses.values)
    retention.warnIfOvertaken(statuses.values)
    val open     = planning.reading.keysIterator.filterNot(isLeftOut).toVector
    val decision = policy.decide(
      view,
      planning.hasNewStreams,
      isWaitedFor,
      readers.nearlyFull,
      sinceBatch = (runtime.clock.nanos() - lastBatch).nanos
    ) { limits =>
      fairnessOffset += 1
      readers.admit(view, limits, fairnessOffset)
    }
    def ending(found: PlannedBatch) = {
      readers.begin(found)
      val moved = policy.ends(found, statuses, round.pastRetention)
      source.reached = planning.end(furthest(statuses, moved))
      observer.planned(open, statuses, found.ends)
      batch(round, found, moved)(policy.completeTo(found, statuses, shard => catalog.now(shard.stream)))
    }
    decision match {
      case Decision.Wait =>
        source.reached = planning.end(statuses.transform((_, status) => status.position))
        observer.planned(open, statuses, Map.empty)
        readers.pause()
        None
      case Decision.Ends(found)             => ending(found)
      case Decision.Probe(found, questions) =>
        ending(found.extended(beyond.ends(questions, statuses), view.reading))
    }
  }

  /** How long a planning waits for news where only other sources of the query may be held up. */
  private def idlePatience(isRetry: Boolean) =
    if (isRetry || isAlone) IdlePace.Longest
    else if (state.hadBatch) Duration.Zero
    else pace.pause

  /** A batch may end later than its readers stand. */
  private def furthest(statuses: Map[ShardKey, ReaderStatus], moved: Map[ShardKey, ShardPosition]) =
    statuses.transform { (shard, status) =>
      moved.get(shard).filter(HistoryPart.isBefore(status.position, _)).getOrElse(status.position)
    }

  /** The batch, if it is worth planning.
    *
    * @param moved      where its parts end
    * @param completeTo up to when all that arrived in a shard comes before a position, in ms, if known
    */
  private def batch(round: Round, planned: PlannedBatch, moved: Map[ShardKey, ShardPosition])(
      completeTo: (ShardKey, ShardPosition) => Option[Long]
  ): Option[BatchState.Batch] = {
    import round.planning
    def read(shard: ShardKey, begin: ShardPosition) = completeTo(shard, moved.getOrElse(shard, begin))
    lazy val end                                    = retention.complete(planning.end(moved), planning.reading, read)
    val hasMoved = moved.exists { case (shard, to) => !planning.reading.get(shard).contains(to) }
    Option.when(planning.hasNewStreams || hasMoved || retention.isDue(round.from, end)) {
      lastBatch = runtime.clock.nanos()
      BatchState.Batch(round.start, offsets.remember(end), planned, None)
    }
  }

  /** A batch's tasks. Spark asks twice at least. */
  def tasks(start: Offset, end: Offset): Vector[KinesisInputPartition] = {
    val batch = state.of(start, end)
    batch.tasks.getOrElse {
      val made = tasksOf(batch.planned, SourceOffsets.of(start), SourceOffsets.of(end))
      state = state.after(BatchState.TasksMade(batch.copy(tasks = Some(made))))
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
  def commit(): Unit = state = state.after(BatchState.Committed)

  def stop(): Unit = state = state.after(BatchState.Stopped)
}

private[stream] object MicroBatchMode {

  /** One planning.
    *
    * @param from what Spark's start says
    * @param pastRetention shards past retention
    */
  private final case class Round(
      start: Offset,
      from: KinesisOffset,
      planning: PlanningState,
      pastRetention: Vector[ShardKey]
  )
}
