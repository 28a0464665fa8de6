package io.github.kinesisspark.read.stream

import scala.annotation.tailrec
import scala.collection.mutable
import scala.concurrent.duration.FiniteDuration

import org.apache.spark.sql.connector.read.streaming.Offset
import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.FailureReason
import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.catalog.{ConsumerLifecycle, CurrentEnds, ShardCatalog}
import io.github.kinesisspark.read.coordinator.{DriverRuntime, ShardCoordinator}
import io.github.kinesisspark.read.plan.{
  BoundarySpacing,
  PlanningResult,
  PlanningState,
  ReaderStatus,
  Stops,
  WatermarkAlignment
}
import io.github.kinesisspark.read.reader.ReaderConfig
import io.github.kinesisspark.read.retention.{RetentionCheck, RetentionWatch}
import io.github.kinesisspark.runtime.{Closing, Runtime}

/** One source of a streaming query on its driver: its shards, its readers, and what it shows of itself. Micro-batches and real-time batches use it alike.
  *
  * Used by the query's own thread only.
  */
private[read] final class QuerySource(val options: SourceOptions, val host: QueryHost, driver: DriverRuntime)
    extends AutoCloseable {
  import driver.clients

  implicit val runtime: Runtime = driver.runtime

  private val log = LoggerFactory.getLogger(classOf[QuerySource])

  val offsets                      = new SourceOffsets
  val catalog                      = new ShardCatalog(options, clients)
  val removed                      = new RemovedStreams(options.client, catalog.reads, clients)
  val consumers: ConsumerLifecycle =
    Closing.unlessMade(catalog.close())(ConsumerLifecycle.of(options, host.queryId, clients))
  val alignment: WatermarkAlignment = WatermarkAlignment(options.admission.maxShardSkew.map(_.toMillis))
  val readers: ShardCoordinator     = {
    val id = runtime.ids.uuid()
    new ShardCoordinator(
      host.channel(id, driver),
      ReaderConfig(
        id,
        streams = catalog.access,
        bufferBytes = host.readerMemory(options),
        polling = options.polling,
        failOnDataLoss = options.failOnDataLoss
      ),
      () => consumers.publisher,
      alignment,
      BoundarySpacing.of(
        options.admission.maxRecordsPerTrigger.isDefined || options.admission.maxBytesPerTrigger.isDefined,
        options.minPartitions,
        alignment.skewMillis,
        _
      )
    )
  }
  val retention: RetentionCheck   = new RetentionCheck(catalog, options.failOnDataLoss)
  private val lag: RetentionWatch = new RetentionWatch(catalog)

  /** From one trigger of the query to the next, where that is a second at least. */
  lazy val interval: Option[FiniteDuration] = host.interval

  val observer: SourceObserver =
    new SourceObserver(options, catalog.streams.map(_.arn.name), host, interval, readers.now, consumers.calls)

  private val initialPositions = mutable.HashMap.empty[StreamArn, Vector[(String, ShardPosition)]]
  private var isWarned         = false

  /** By the last planning that had all, and when that was, by the driver's clock. */
  private var reported = Option.empty[(Map[ShardKey, ReaderStatus], Long)]

  /** By the last look for them. What was idle then needs no look at the time before. */
  private var ends = Option.empty[Stops]

  /** Whether executors read ahead. If none can be reached, batches are planned as `Trigger.Once` plans them. */
  def hasReaders: Boolean = {
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

  /** A planning begins. Reports what is lost by then.
    *
    * @throws io.github.kinesisspark.aws.KinesisException if anything is and `failOnDataLoss`
    */
  def begin(start: Offset): PlanningState = {
    val from = catalog.accept(SourceOffsets.of(start))
    catalog.refreshIfDue()
    val planning = planningAt(from)
    retention.reportShards(planning)
    retention.reportGaps(KinesisOffset(catalog.givenOffset.streams ++ from.streams))
    planning
  }

  /** The same, and where the shards end now. */
  @tailrec def beginWithEnds(start: Offset): (PlanningState, Stops) = {
    // Shards may have been listed long ago, as the last batch of the run before was run again since.
    val now      = catalog.serviceTime()
    val planning = begin(start)
    CurrentEnds.of(catalog, now, planning, readTo(planning.start)) match {
      case Right(found) =>
        ends = Some(found)
        (planning, found)
      case Left(gone) =>
        beginAnew(gone, planning.start): Unit
        beginWithEnds(start)
    }
  }

  /** A planning is over. Shows what it has found to the observers: progress and gauges, and warnings of retention.
    *
    * @param since the readers have reported then or later, by the driver's clock
    */
  def observe(result: PlanningResult, since: Long = runtime.clock.nanos()): Unit = {
    observer.observe(result)
    lag.observe(result)
    // Where executors are lost meanwhile, what they have said before still holds.
    for (statuses <- result.statuses if statuses.size >= result.open.size)
      reported = Some(statuses -> since)
  }

  /** Up to when all that arrived in a shard comes before a position, in ms by the service's clock, if known: by the offset at which a planning begins, by
    * the shard's reader that last reported from there, or by the last look for its end.
    */
  def readTo(start: KinesisOffset)(shard: ShardKey, position: ShardPosition): Option[Long] =
    (start.streams.get(shard.stream).filter(_.shards.contains(shard.shardId)).flatMap(_.completeTo).map(_.millis) ++
      reportedTo(shard, position) ++ ends.flatMap(_.completeTo(shard, position))).maxOption

  private def reportedTo(shard: ShardKey, position: ShardPosition) = for {
    (statuses, nanos) <- reported
    status            <- statuses.get(shard) if status.records == 0 && status.position == position
    lasted = (runtime.clock.nanos() - nanos) / 1000000
    time <- status.completeTo(status.all, since => catalog.ago(shard.stream, since + lasted))
  } yield time

  /** Where a batch starts: the last one's end, and what enters now. */
  private def planningAt(from: KinesisOffset): PlanningState = {
    val planning = known(from)
    val waiting  = planning.awaitingChildren ++ planning.doubtful.map(_.stream)
    if (waiting.isEmpty) planning
    else {
      catalog.refreshSoon(waiting)
      catalog.askAbout(known(from).doubtful): Unit
      known(from)
    }
  }

  private def known(from: KinesisOffset) = PlanningState(
    from,
    catalog.streams.map { stream =>
      def initial = initialPositions.getOrElseUpdate(stream.arn, stream.initialPositions())
      stream.arn -> PlanningState.Stream(
        stream.createdMillis,
        catalog.lineage(stream.arn),
        if (from.streams.contains(stream.arn)) Vector.empty else initial
      )
    }.toMap
  )

  /** The known hash keys of the shards, by which tasks leave out user records of other shards. None where no record is taken apart. */
  def hashKeysOf(shards: Vector[ShardKey]): Option[Map[ShardKey, HashKeyRange]] =
    Option.when(options.deaggregate)(catalog.hashKeys(shards) ++ removed.hashKeys)

  /** A reader's failure is the query's, unless its shard has gone past retention, or its consumer has gone and there is another: then the
    * batch is to be planned again, and the result is true. A shard that may have gone is left to later plannings, until the service answers; but the first
    * batch of its stream waits for that, as it would store the shard.
    */
  def failIfAny(statuses: Map[ShardKey, ReaderStatus], from: KinesisOffset): Boolean = {
    val failed         = statuses.values.toVector.flatMap(status => status.failure.map(status.shard -> _))
    val (gone, broken) = failed.partition(_._2.reason == FailureReason.NotFound)
    // An answer may come at any time: what is lost is looked at after that.
    val doubtful = catalog.askAbout(gone.map(_._1))
    val answered = gone.filterNot { case (shard, _) => doubtful(shard) }
    val unbegun  = beginAnew(answered.map(_._1), from)
    // Only where a reader failed: at ten thousand shards it is not for every planning.
    lazy val lost = known(from).pastRetention.toSet
    val missing   = answered.filterNot { case (shard, _) => unbegun(shard) || lost(shard) }
    val renewed   = missing.map(_._1.stream).distinct.filter(renew).toSet
    for ((shard, failure) <- broken if failure.reason == FailureReason.ConsumerTaken)
      consumers.leave(shard.stream)
    for ((_, failure) <- broken ++ missing.filterNot { case (shard, _) => renewed(shard.stream) })
      throw failure.exception
    if (doubtful.nonEmpty) readers.pause()
    answered.nonEmpty || doubtful.exists(shard => !from.streams.contains(shard.stream))
  }

  /** A consumer goes with its stream, and the next stream of the name must not get another. */
  private def renew(stream: StreamArn) = {
    catalog.checkIsSame(stream)
    consumers.renew(stream)
  }

  /** A shard that goes past retention before an offset has its stream is not read. Where the stream begins is looked up again. Returns
    * the shards for which that is so.
    *
    * @param missing that were not found, and that the service was asked about
    */
  private def beginAnew(missing: Vector[ShardKey], from: KinesisOffset): Set[ShardKey] = {
    val gone = missing.filter(s => !from.streams.contains(s.stream) && !catalog.lineage(s.stream).has(s.shardId))
    gone.foreach { shard =>
      log.warn("{} went past retention before the first batch; the query begins with what is left", shard)
      initialPositions -= shard.stream
    }
    gone.toSet
  }

  override def close(): Unit = Closing.all(readers, () => endConsumers(), catalog, observer)

  /** Where another driver runs the query from its checkpoint, the consumers are that one's. */
  private def endConsumers(): Unit = {
    if (host.hasLostCheckpoint) catalog.streams.foreach(stream => consumers.leave(stream.arn))
    consumers.close()
  }

  override def toString: String = s"KinesisSource[${catalog.streams.map(_.arn.name).mkString(", ")}]"
}
