package io.github.kinesisspark.read.stream

import java.util
import java.util.Optional

import scala.annotation.tailrec
import scala.collection.mutable
import scala.concurrent.duration._

import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming._
import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.{Closing, FailureReason}
import io.github.kinesisspark.config.{RecordPublisherConfig, SourceOptions}
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.catalog.{ConsumerLifecycle, ShardCatalog}
import io.github.kinesisspark.read.coordinator.{DriverRuntime, ShardCoordinator}
import io.github.kinesisspark.read.plan.{
  BoundarySpacing,
  CutPoint,
  FillTarget,
  HistoryPart,
  IdlePace,
  PlannedBatch,
  PlanningState,
  PlanningView,
  ReaderStatus,
  WatermarkAlignment
}
import io.github.kinesisspark.read.reader.{DataLoss, ReaderConfig, StreamAccess}
import io.github.kinesisspark.read.retention.RetentionWatch
import io.github.kinesisspark.read.task.{KinesisInputPartition, KinesisPartitionReaderFactory}
import io.github.kinesisspark.read.plan.PlanningView.{Admitted, Goal}

/** Spark's face of a [[KinesisOffset]]. */
final case class KinesisSourceOffset(offset: KinesisOffset) extends Offset {
  override lazy val json: String = OffsetJson.write(offset)
}

/** Micro-batches over exact ranges.
  *
  * `latestOffset` fixes the batch's end by what the shard readers have reported; `planInputPartitions` turns
  * start and end into ranges; Spark's offset log is all that is kept. Everything here runs on the query's own thread.
  *
  * A query has no new data when a planning finds none in any of its sources, and then `processAllAvailable()` returns. So a planning that finds nothing
  * here is answered at once, by what is known: what a reader has not read yet is for the next. Only where somebody waits in `processAllAvailable()` it
  * has to be proved first, by answers of Kinesis that were asked for since the planning began.
  *
  * @see [[https://spark.apache.org/docs/latest/api/java/org/apache/spark/sql/connector/read/streaming/SupportsAdmissionControl.html SupportsAdmissionControl]]
  */
class KinesisMicroBatchStream(options: SourceOptions, host: QueryHost, driver: DriverRuntime)
    extends MicroBatchStream
    with SupportsTriggerAvailableNow
    with ReportsSourceMetrics {
  import KinesisMicroBatchStream._
  import driver.{clients, runtime}

  private val log                     = LoggerFactory.getLogger(classOf[KinesisMicroBatchStream])
  private[read] val catalog           = new ShardCatalog(options, clients)
  private val removed                 = new RemovedStreams(options.client, catalog.reads, clients)
  private[read] val consumerLifecycle =
    Closing.unlessMade(catalog.close())(ConsumerLifecycle.of(options, host.queryId, clients))
  private val source        = runtime.ids.uuid()
  private[read] val readers = new ShardCoordinator(
    host.channel(source, driver),
    ReaderConfig(
      source,
      streams = catalog.streams.map(s => s.arn -> s.access).toMap,
      bufferBytes = host.readerMemory(options),
      callsPerSecond = options.callsPerSecond,
      failOnDataLoss = options.failOnDataLoss
    ),
    () => consumerLifecycle.publisher,
    WatermarkAlignment(options.admission.maxShardSkew.map(_.toMillis)),
    BoundarySpacing.of(
      options.admission.maxRecordsPerTrigger.isDefined || options.admission.maxBytesPerTrigger.isDefined,
      options.minPartitions,
      options.admission.maxShardSkew.map(_.toMillis),
      _
    )
  )
  private val beginnings      = mutable.HashMap.empty[StreamArn, Vector[(String, ShardPosition)]]
  private[read] val retention = new RetentionWatch(catalog)
  private lazy val beyond     = new BeyondBuffers(
    catalog.streams.map(s => s.arn -> s.access).toMap,
    WatermarkAlignment(options.admission.maxShardSkew.map(_.toMillis)),
    catalog.now,
    clients
  )
  private lazy val interval = host.interval
  private lazy val isAlone  = host.isAlone
  private lazy val callers  = host.callers
  private val minimum       = new BatchMinimum(runtime.clock.nanos())
  // Read by the threads of Spark's metrics sinks, too.
  @volatile private[read] var metrics = SourceMetrics.begun(runtime.clock.nanos())
  private var endsNow                 = false
  private var isWarned                = false
  private var hadBatch                = false
  private var pace                    = IdlePace.begin
  private var waitedBefore            = Duration.Zero
  private var bounds                  = Option.empty[AvailableNow]
  private[read] var seen              = KinesisOffset.initial
  private var turn                    = 0L
  private var recent                  = Vector.empty[KinesisSourceOffset]
  private var plannedBatch            = PlannedBatch.ofLog
  private var planned                 = Option.empty[(Offset, Offset, Array[InputPartition])]

  /** By the access to streams that are not read any more: hardly ever more than one. */
  private val factories = mutable.HashMap.empty[Map[StreamArn, StreamAccess], KinesisPartitionReaderFactory]

  private val names  = catalog.streams.map(_.arn.name)
  private val gauges =
    SourceMetrics.gauges(
      options.recordPublisher != RecordPublisherConfig.Polling,
      () => metrics.at(runtime.clock.nanos())
    )
  private val shown      = host.show(names.mkString("+"), gauges)
  private val cloudWatch = Closing.unlessMade(shown.close())(CloudWatchPublisher.of(options, names, gauges))

  override def initialOffset(): Offset = KinesisSourceOffset(KinesisOffset.initial)

  /** Spark writes every offset it gets and reads it again, several times a batch; at ten thousand shards that is worth
    * remembering.
    */
  override def deserializeOffset(json: String): Offset = recent.find(_.json == json).getOrElse {
    remember(KinesisSourceOffset(OffsetJson.read(json)))
  }

  override def getDefaultReadLimit: ReadLimit = AdmissionLimits.toSpark(options.admission)

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is called instead")

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    waitedBefore = readers.waited
    try plan(start, limit, runtime.clock.nanos(), isAgain = false)
    finally hadBatch = false
  }

  /** @param began   when this planning began
    * @param isAgain somebody waits for what has not been read yet
    */
  @tailrec private def plan(start: Offset, limit: ReadLimit, began: Long, isAgain: Boolean): Offset = {
    val from = catalog.accept(offsetOf(start))
    catalog.refreshIfDue()
    val planning = planningAt(from)
    val lost     = loseOrFail(planning)
    checkRetention(from)
    if (endsNow && bounds.isEmpty) bounds = Some(AvailableNow.fix(catalog, planning))
    val end =
      if (AdmissionLimits.isOnce(limit)) allAtOnce(start, from, planning, lost)
      else if (!hasReaders) withoutReaders(start, from, planning, lost)
      else admitted(start, from, planning, lost, AdmissionLimits.fromSpark(limit), isAgain)
    if ((end eq start) && !isAgain)
      pace = pace.planned(runtime.clock.nanos() - began - (readers.waited - waitedBefore).toNanos)
    if ((end ne start) || !isWaitedFor) end
    else if (isAllRead(planning, began)) {
      callers.foreach(_.answered())
      end
    } else plan(start, limit, began, isAgain = true)
  }

  /** Whether somebody waits until all is processed that is there now. */
  private def isWaitedFor = bounds.isEmpty && callers.exists(_.areWaiting)

  /** Whether nothing is left of what was put before a planning began: by Kinesis, or, where it can't be asked, by the readers' later answers. */
  private def isAllRead(planning: PlanningState, began: Long) = planning.awaitingChildren.isEmpty &&
    ReadToTip.isSo(catalog, planning.reading).getOrElse(readers.haveNothing(planning.reading, began))

  /** Ends where the shards end now, or ended when an AvailableNow query began. The tasks read all of it from Kinesis, however much readers can hold.
    * As always, children of a shard that ends with this batch are left to the next.
    */
  private def allAtOnce(start: Offset, from: KinesisOffset, planning: PlanningState, lost: Vector[ShardKey]): Offset = {
    val ends  = bounds.getOrElse(AvailableNow.fix(catalog, planning))
    val moved = planning.reading.collect {
      case (shard, begin) if !ends.isDone(shard, begin) => shard -> ends.ends(shard)
    }
    seen = planning.end(moved)
    plannedBatch = PlannedBatch.ofLog
    endOf(start, from, planning, moved ++ lost.map(_ -> ShardPosition.ShardEnd))(ends.completeTo)
  }

  /** Whether executors read ahead. If none can be reached, batches are planned as `Trigger.Once` plans them. */
  private[read] def hasReaders: Boolean = {
    val refusal = readers.refusal()
    if (!isWarned) refusal.foreach { why =>
      isWarned = true
      log.warn(
        s"$toString: no executor can open its end of the channel to the driver ($why), so none reads ahead. Each batch takes all that is in " +
          "the streams when it is planned, whatever the limits of the options are, and its tasks read it by polling, which is slower. Remove " +
          "the cause and restart the query. The channel is Spark's RPC."
      )
    }
    refusal.isEmpty
  }

  private def withoutReaders(
      start: Offset,
      from: KinesisOffset,
      planning: PlanningState,
      lost: Vector[ShardKey]
  ): Offset = {
    val end = allAtOnce(start, from, planning, lost)
    metrics = metrics.withoutReaders(planning.reading.keys, consumerLifecycle.calls, runtime.clock.nanos())
    // Each look takes calls of all shards.
    if ((end eq start) && bounds.isEmpty && !isWaitedFor)
      readers.pause(if (isAlone) IdlePatience else pace.pause)
    end
  }

  private def admitted(
      start: Offset,
      from: KinesisOffset,
      planning: PlanningState,
      lost: Vector[ShardKey],
      limits: AdmissionLimits,
      isAgain: Boolean
  ): Offset = {
    def isDone(shard: ShardKey)    = bounds.exists(b => planning.reading.get(shard).forall(b.isDone(shard, _)))
    def isLeftOut(shard: ShardKey) = lost.contains(shard) || isDone(shard)
    val stops                      = bounds.fold(Map.empty[ShardKey, ShardPosition])(_.ends)
    val view                       = readers.await(
      planning,
      excluded = isLeftOut,
      stops,
      Goal(
        stops.contains,
        if (isAgain) IdlePatience else patience(planning),
        fillTarget(limits),
        planning.hasNewStreams
      ),
      isUrgent = !isAgain && !planning.hasNewStreams && isWaitedFor
    )
    val statuses = view.statuses
    failIfAny(statuses, from)
    catalog.learn(statuses.values)
    warnIfOvertaken(statuses)
    val open = planning.reading.keysIterator.filterNot(isLeftOut).toVector
    if (isTooLittle(statuses, limits) && !planning.hasNewStreams) {
      seen = planning.end(statuses.transform((_, status) => status.position))
      report(open, statuses, Map.empty)
      readers.pause()
      start
    } else {
      turn += 1
      val batch = extended(view, readers.admit(view, limits.most, turn), limits)
      val cuts  = batch.ends
      readers.begin(batch)
      plannedBatch = batch
      val moved =
        cuts.transform((_, cut) => cut.position) ++ lostStops(statuses) ++ lost.map(_ -> ShardPosition.ShardEnd)
      seen = planning.end(furthest(statuses, moved))
      report(open, statuses, cuts)
      endOf(start, from, planning, moved) { (shard, at) =>
        val read = for {
          status <- statuses.get(shard)
          cut    <- cuts.get(shard)
          time   <- status.completeTo(cut, catalog.now(shard.stream))
        } yield time
        (read ++ bounds.flatMap(_.completeTo(shard, at))).maxOption
      }
    }
  }

  private[read] def report(
      open: Iterable[ShardKey],
      statuses: Map[ShardKey, ReaderStatus],
      cuts: Map[ShardKey, CutPoint]
  ): Unit =
    metrics = metrics
      .next(open, statuses, cuts, readers.now, consumerLifecycle.calls, runtime.clock.nanos())
      .copy(published = cloudWatch.fold(PublishedCalls.none)(_.calls), trigger = trigger)

  private[read] def trigger: FiniteDuration = interval.getOrElse(Duration.Zero)

  /** A range whose last record is gone before its reader has come there is planned all the same: its task finds out what is lost. */
  private def lostStops(statuses: Map[ShardKey, ReaderStatus]) = for {
    now             <- bounds.toVector
    (shard, status) <- statuses if status.hasLostStop
  } yield shard -> now.ends(shard)

  /** A batch may end later than its readers stand. */
  private def furthest(statuses: Map[ShardKey, ReaderStatus], moved: Map[ShardKey, ShardPosition]) =
    statuses.transform { (shard, status) =>
      moved.get(shard).filter(HistoryPart.isBefore(status.position, _)).getOrElse(status.position)
    }

  /** Where readers hold less than the shards give until the next trigger, the batch ends later than they stand. Not with a limit: only what
    * readers hold is counted. AvailableNow has ends of its own.
    */
  private def extended(view: PlanningView, admitted: Admitted, limits: AdmissionLimits): PlannedBatch =
    interval
      .filter(_ => bounds.isEmpty && limits.isUnlimited)
      .map(beyond.ends(_, view.statuses, admitted))
      .fold(admitted.batch)(admitted.batch.extended(_, view.reading))

  /** The batch's end, or its start if it is not worth planning.
    *
    * @param moved      where the batch's parts end
    * @param completeTo up to when all that arrived in a shard comes before a position, in ms, if known
    */
  private def endOf(
      start: Offset,
      from: KinesisOffset,
      planning: PlanningState,
      moved: Map[ShardKey, ShardPosition]
  )(completeTo: (ShardKey, ShardPosition) => Option[Long]): Offset = {
    def read(shard: ShardKey, begin: ShardPosition) = completeTo(shard, moved.getOrElse(shard, begin))
    lazy val end                                    = retention.complete(planning.end(moved), planning.reading, read)
    val hasMoved = moved.exists { case (shard, to) => !planning.reading.get(shard).contains(to) }
    if (planning.hasNewStreams || hasMoved || retention.isDue(from, end)) {
      minimum.batchPlanned(runtime.clock.nanos())
      remember(KinesisSourceOffset(end))
    } else start
  }

  /** How far the readers have read, whether or not a limit let it into a batch. */
  override def reportLatestOffset(): Offset = KinesisSourceOffset(seen)

  /** From here on the query reads what is there when it first plans, and ends. */
  override def prepareForTriggerAvailableNow(): Unit = endsNow = true

  /** Spark asks twice. */
  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val partitions = planned.collect { case (`start`, `end`, known) => known }.getOrElse(partitionsOf(start, end))
    planned = Some((start, end, partitions))
    partitions
  }

  private def partitionsOf(start: Offset, end: Offset) = {
    val to = offsetOf(end)
    // After a restart this comes first, before anybody looked at the checkpoint.
    catalog.accept(to)
    checkRetention(offsetOf(start))
    val ranges   = removed.readable(offsetOf(start).rangesTo(to), to)
    val hashKeys = if (options.deaggregate) hashKeysOf(ranges.map(_.shard)) else Map.empty[ShardKey, HashKeyRange]
    readers
      .group(plannedBatch, ranges, options.minPartitions)
      .map(KinesisInputPartition(_, hashKeys): InputPartition)
      .toArray
  }

  override def createReaderFactory(): PartitionReaderFactory = factories.getOrElseUpdate(
    removed.access,
    KinesisPartitionReaderFactory(readers.config.copy(streams = readers.config.streams ++ removed.access))
  )

  override def metrics(latestConsumedOffset: Optional[Offset]): util.Map[String, String] = metrics.toJava

  /** Spark calls it when it has planned the batch after. The next planning orders the readers to drop its records; nothing is to be written anywhere. */
  override def commit(end: Offset): Unit = hadBatch = true

  override def stop(): Unit =
    try readers.close()
    finally
      try endConsumers()
      finally
        try catalog.close()
        finally
          try cloudWatch.foreach(_.close())
          finally shown.close()

  /** Where another driver runs the query from its checkpoint, the consumers are that one's. */
  private def endConsumers(): Unit = {
    if (host.hasLostCheckpoint) catalog.streams.foreach(stream => consumerLifecycle.leave(stream.arn))
    consumerLifecycle.close()
  }

  override def toString: String = s"KinesisSource[${catalog.streams.map(_.arn.name).mkString(", ")}]"

  private[read] def remember(offset: KinesisSourceOffset): KinesisSourceOffset = {
    recent = (offset +: recent).take(RememberedOffsets)
    offset
  }

  private[read] def planningAt(from: KinesisOffset): PlanningState = {
    val planning = viewOf(from)
    val waiting  = planning.awaitingChildren ++ planning.doubtful.map(_.stream)
    if (waiting.isEmpty) planning
    else {
      catalog.refreshSoon(waiting)
      catalog.askAbout(viewOf(from).doubtful)
      viewOf(from)
    }
  }

  private def viewOf(from: KinesisOffset) = PlanningState(
    from,
    catalog.streams.map { stream =>
      def beginning = beginnings.getOrElseUpdate(stream.arn, stream.beginning(options.failOnDataLoss))
      stream.arn -> PlanningState.Stream(
        stream.createdMillis,
        catalog.lineage(stream.arn),
        if (from.streams.contains(stream.arn)) Vector.empty else beginning
      )
    }.toMap
  )

  /** Where nobody knows a shard's keys any more, none of its records is left out. */
  private[read] def hashKeysOf(shards: Vector[ShardKey]): Map[ShardKey, HashKeyRange] = {
    val known = catalog.hashKeys(shards) ++ removed.hashKeys
    shards.map(shard => shard -> known.getOrElse(shard, HashKeyRange.all)).toMap
  }

  private[read] def checkRetention(from: KinesisOffset): Unit =
    retention.gapsOnce(from).foreach { case (stream, gap) =>
      val records = s"$stream: records that arrived between ${gap.from} and ${gap.until} and were not read"
      val past    = s"past the stream's retention of ${catalog.retention(stream).toHours} hours"
      retention.evidence(stream, gap, from) match {
        case Some(evidence) =>
          lose(s"$records are $past; that there were any is likely, as $evidence", "the oldest that are left")
        case None =>
          log.warn(
            s"$records, if there were any, are $past. That there were none is as likely, as no shard has any of soon after; continuing with the " +
              "oldest that are left"
          )
      }
    }

  /** A suspicion only: no call shows whether there were records. */
  private[read] def warnIfOvertaken(statuses: Map[ShardKey, ReaderStatus]): Unit =
    retention.overtaken(statuses.values).foreach { case (shard, gap) =>
      log.warn(
        s"$shard: the query is further behind than the stream's retention of ${catalog.retention(shard.stream).toHours} hours. " +
          s"Records that arrived between ${gap.from} and ${gap.until} and were not read, if there were any, are lost. Raise the retention, " +
          "or give the query more to work with."
      )
    }

  private[read] def loseOrFail(planning: PlanningState): Vector[ShardKey] = {
    val lost                   = planning.lost
    def named(shard: ShardKey) =
      // One that came and went between two listings was to be read from its beginning.
      s"$shard (from ${ShardPosition.encode(planning.reading.getOrElse(shard, ShardPosition.TrimHorizon))} to its end)"
    if (lost.nonEmpty)
      lose(
        s"${lost.map(named).mkString(", ")}: not read to the end, and the stream does not have them any more, " +
          "so that records past retention are lost",
        "their children"
      )
    lost
  }

  /** @param rest what the query continues with */
  private def lose(what: String, rest: String): Unit = DataLoss.report(
    what,
    s"Set failOnDataLoss to false to continue with $rest, and raise the stream's retention.",
    rest,
    options.failOnDataLoss,
    log
  )

  private def patience(planning: PlanningState): Duration =
    if (bounds.nonEmpty) Duration.Inf
    else if (planning.hasNewStreams) BeginningPatience
    else if (isAlone) IdlePatience
    else if (hadBatch) Duration.Zero
    else pace.pause

  private def fillTarget(limits: AdmissionLimits): FillTarget =
    if (!limits.isUnlimited) FillTarget.none
    else if (bounds.isDefined) FillTarget.untilTheEnd
    else FillTarget.behind

  /** AvailableNow waits for nothing: what is there is all there will be. */
  private def isTooLittle(statuses: Map[ShardKey, ReaderStatus], limits: AdmissionLimits) =
    bounds.isEmpty && !isWaitedFor &&
      minimum.holdsBack(limits, statuses.valuesIterator.map(_.records).sum, readers.nearlyFull, runtime.clock.nanos())

  /** A reader's failure is the query's, unless its shard has gone past retention, which is for the next planning, or its
    * consumer has gone and there is another.
    */
  private[read] def failIfAny(statuses: Map[ShardKey, ReaderStatus], from: KinesisOffset): Unit = {
    val failed         = statuses.values.toVector.flatMap(status => status.failure.map(status.shard -> _))
    val (gone, broken) = failed.partition(_._2.reason == FailureReason.NotFound)
    catalog.askAbout(gone.map(_._1))
    // Looked at only where a reader failed: at ten thousand shards it is not for every planning.
    lazy val lost = viewOf(from).lost.toSet
    val missing   = gone.filterNot { case (shard, _) => lost(shard) }
    val renewed   = missing.map(_._1.stream).distinct.filter(consumerLifecycle.renew).toSet
    for ((shard, failure) <- broken if failure.reason == FailureReason.ConsumerTaken)
      consumerLifecycle.leave(shard.stream)
    for ((_, failure) <- broken ++ missing.filterNot { case (shard, _) => renewed(shard.stream) })
      throw failure.exception
  }

  private[read] def offsetOf(offset: Offset): KinesisOffset = offset match {
    case KinesisSourceOffset(ours) => ours
    case other                     => OffsetJson.read(other.json)
  }
}

object KinesisMicroBatchStream {

  /** A batch's start and end, and those before. */
  private val RememberedOffsets = 4

  /** How long a planning waits for news where it holds up nobody else: so that a query that stands idle plans rarely. */
  private val IdlePatience = IdlePace.Longest

  /** The same for the first batch, which is worth planning without records: it stores where the query began. */
  private val BeginningPatience = 500.millis
}
