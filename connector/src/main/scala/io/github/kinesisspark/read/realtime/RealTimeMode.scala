package io.github.kinesisspark.read.realtime

import scala.annotation.tailrec

import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming._
import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.{FailureReason, KinesisException}
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.catalog.ReadToTip
import io.github.kinesisspark.read.plan.{ExecutorId, PlanningResult, PlanningState, ReaderStatus}
import io.github.kinesisspark.read.reader.ResolvedPublisher
import io.github.kinesisspark.read.row.SourceSchema
import io.github.kinesisspark.read.stream.{QuerySource, SourceMode}

/** Plans real-time batches, which have no end of their own: their tasks return each record when it
  * comes, until Spark's time is over, and report where they are then. From that the same offsets are made, so a query may change its
  * trigger from run to run.
  *
  * A real-time batch is stored when it is over. One that fails comes again from its start, as Spark defines the mode. So that
  * a query that has just begun at LATEST would not begin at another one then, its first batch reads nothing and stores where it begins. A batch without
  * shards has one task, too: a stage behind a shuffle waits for the end of at least one.
  *
  * A shard that a reader did not find, and of which the service has not answered whether it is past retention, is not in the batch. Its position stays.
  *
  * Used by the query's own thread only.
  */
private final class RealTimeMode(source: QuerySource) extends SourceMode {
  import RealTimeMode._
  import RealTimeState._
  import source.{catalog, observer, offsets, readers, retention, runtime}

  private var state = RealTimeState.begin

  /** Shards that tasks of earlier batches did not find. Used where no executor reads ahead, so that none reports it. */
  private var notFound = Map.empty[ShardKey, ReaderStatus]

  private lazy val callers = source.host.callers

  /** A real-time batch has no end when it is planned. Here alone can be seen who waits. */
  override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    callers.foreach(_.areWaiting)
    start
  }

  override def readerFactory(): PartitionReaderFactory =
    // Stages behind a shuffle have rows of a task that fails by then: Spark ends the query.
    new RealTimeReaderFactory(readers.configOfTasks, SourceSchema.schema, runsAgain = shuffleTasks == 0)

  private lazy val shuffleTasks = source.host.shuffleTasks
  private lazy val reserved     = source.options.reservedCores.getOrElse(shuffleTasks)

  /** The tasks of a batch that begins. */
  def begin(start: Offset): Vector[InputPartition] = {
    failIfShortOfCores()
    readers.reserve(reserved)
    observer.begins()
    val (planning, doubtful) = opened(start)
    val reading = if (planning.hasNewStreams) Vector.empty else partitions(planning, planning.open -- doubtful)
    // Children that no listing shows yet would have batches follow each other without a pause.
    if (reading.isEmpty && !planning.hasNewStreams) readers.pause()
    val tasks: Vector[InputPartition] = if (reading.isEmpty) Vector(NothingToRead) else reading
    happened(Begins(Batch(planning, runtime.clock.nanos())))
    tasks
  }

  /** The offset where a batch has ended, by where its tasks are. */
  def end(reported: Seq[PartitionOffset]): Offset = {
    val now      = state.batch
    val progress = reported.toVector.collect { case ours: RealTimeProgress => ours }
    val reads    = progress.flatMap(_.reads)
    val begun    = progress.flatMap(p => p.reads.filter(_.isBegun).map(r => Begun(r.shard, p.executor)))
    // In this order, because a shard's parents must be known. A child whose other parent was read in another task begins with the next batch.
    catalog.addChildren(reads.map(_.status))
    val moved =
      reads.map(r => r.shard -> r.taken.position).toMap ++ now.planning.pastRetention.map(_ -> ShardPosition.ShardEnd)
    val end = now.planning.end(moved, begun.map(_.shard).toSet)
    show(now, reads, begun)
    notFound ++= reads.map(_.status).filter(_.failure.exists(_.reason == FailureReason.NotFound)).map(s => s.shard -> s)
    val unasked  = progress.filterNot(_.isAsked)
    val repeated = unasked.count(_.isRepeated)
    if (unasked.nonEmpty)
      log.warn(
        s"${unasked.size} of the batch's ${progress.size} tasks read nothing before it was over: $repeated ran again after a failed attempt, and the others found " +
          "no free core, or came too late"
      )
    val completed = complete(now, end, reads, begun)
    happened(Ends(isShortOfCores = unasked.nonEmpty, runtime.clock.nanos() - now.nanos))
    val isAnswer = begun.isEmpty && isAllRead(now.planning, moved)
    if (isAnswer) callers.foreach(_.answered())
    offsets.remember(if (isAnswer) now.planning.start else completed.differingFrom(now.planning.start))
  }

  /** Whether somebody waits for that all is processed, and it is. Spark answers them where a batch ends at its start. */
  private def isAllRead(planning: PlanningState, moved: Map[ShardKey, ShardPosition]) =
    callers.exists(_.areWaiting) && !planning.hasNewStreams && planning.awaitingChildren.isEmpty &&
      moved.forall { case (shard, to) => planning.reading.get(shard).contains(to) } &&
      ReadToTip.isSo(catalog, planning.reading, source.readTo(planning.start)).contains(true)

  private def happened(call: Call): Unit = state = state.after(call)

  /** Its readers need no word. */
  override def commit(): Unit = ()

  override def stop(): Unit = happened(Stopped)

  /** The readers stand at the batch's start, and no loss of records is known. Also returns the shards that may be past retention. */
  @tailrec private def opened(start: Offset): (PlanningState, Set[ShardKey]) = {
    val planning = source.begin(start)
    if (planning.hasNewStreams) (planning, Set.empty)
    else {
      notFound = notFound.filter { case (shard, _) => planning.open.contains(shard) }
      val statuses   = if (source.hasReaders) readers.open(planning) else notFound
      val isOutdated = source.failIfAny(statuses, planning.start)
      catalog.addChildren(statuses.values)
      // Once it is known what they failed for, their shards are lost, or have another consumer.
      if (isOutdated) {
        notFound = Map.empty
        opened(start)
      } else (planning, statuses.collect { case (shard, status) if status.failure.isDefined => shard }.toSet)
    }
  }

  private def partitions(planning: PlanningState, reading: Map[ShardKey, ShardPosition]): Vector[RealTimePartition] = {
    val ended    = planning.start.shards.collect { case (shard, p) if p.isAtEnd => shard }.toSet
    val known    = planning.besideParents
    val hashKeys = source.hashKeysOf(reading.keys.toVector)
    readers.tasks(planning, reading.keys).map { task =>
      val streams                       = task.shards.map(_.stream).toSet
      def ofStreams(all: Set[ShardKey]) = all.filter(shard => streams(shard.stream))
      RealTimePartition(
        task.shards.map(shard => shard -> reading(shard)),
        ofStreams(ended),
        ofStreams(known),
        hashKeys.map(_.view.filterKeys(task.shards.toSet).toMap),
        task.executor,
        if (task.executor.isDefined) source.consumers.publisher else ResolvedPublisher.Polling
      )
    }
  }

  /** With the times up to which it is complete, by what the service's clock was when the batch began: they err to the safe side. */
  private def complete(
      now: Batch,
      end: KinesisOffset,
      reads: Vector[ShardRead],
      begun: Vector[Begun]
  ): KinesisOffset = {
    val lasted = (runtime.clock.nanos() - now.nanos) / 1000000
    val times  = reads
      .flatMap(r =>
        r.status.completeTo(r.taken, since => catalog.ago(r.shard.stream, since + lasted)).map(r.shard -> _)
      )
      .toMap
    val all = now.planning.reading ++ begun.map(_.shard -> ShardPosition.TrimHorizon)
    retention.complete(end, all, (shard, _) => times.get(shard))
  }

  private def show(now: Batch, reads: Vector[ShardRead], begun: Vector[Begun]): Unit = {
    val statuses = reads.map(r => r.shard -> r.status).toMap
    val cuts     = reads.map(r => r.shard -> r.taken).toMap
    val reached  = now.planning.end(statuses.transform((_, status) => status.position), begun.map(_.shard).toSet)
    val open     = now.planning.open.keySet ++ begun.map(_.shard)
    // Its tasks reported when they ended, and others may have run for much longer.
    source.observe(PlanningResult(open, reached, Some(statuses), cuts), now.nanos)
    readers.recordUsage(cuts.view.mapValues(_.bytes).toMap, begun.flatMap(b => b.executor.map(b.shard -> _)).toMap)
  }

  /** Once may be an executor's loss, whose tasks had nowhere to go, or a machine that stood still. */
  private def failIfShortOfCores(): Unit = if (state.shortage.isLasting)
    throw new KinesisException(
      TooFewCores,
      s"$source: in most real-time batches there are tasks that begin when the batch is over, so that their shards are not read. All tasks of " +
        "such a batch run at once; this source asks for no more of them than the executors can run, so others need cores as well: " +
        "another source of this query, or another query. Give the cluster more cores, or read all streams by one source: " +
        "streamName takes several. Where the log says that tasks ran again, the errors of their first attempts are in the driver's log, such as that the sink " +
        "could not write. An executor whose clock is ahead of the driver's by the length of a batch begins too late as well."
    )
}

private object RealTimeMode {
  private val log = LoggerFactory.getLogger(classOf[RealTimeMode])

  private val TooFewCores = "KINESIS_TOO_FEW_CORES"

  /** A child that a task began. */
  private final case class Begun(shard: ShardKey, executor: Option[ExecutorId])
}
