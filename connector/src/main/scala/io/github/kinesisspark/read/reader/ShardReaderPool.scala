package io.github.kinesisspark.read.reader

import java.util.concurrent.atomic.{AtomicLong, AtomicReference}

import scala.collection.concurrent.TrieMap
import scala.collection.mutable
import scala.concurrent.Future
import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.ClientKind
import io.github.kinesisspark.position.{ShardKey, ShardPosition, ShardRange, StreamArn}
import io.github.kinesisspark.read.plan.BoundarySpacing

/** The shard readers of one source in one executor, kept across micro-batches.
  *
  * Holds what they share: memory, clients ([[ReadingClients]]), counts ([[ReaderTelemetry]]), and the moment somebody has news ([[ReportSchedule]]). The driver
  * says which shards are read here, and that it still has them read, as [[Liveness]] describes.
  *
  * @param send sends a report to the driver; whether it could make use of it. Must not block
  */
final class ShardReaderPool(
    private[reader] val config: ReaderConfig,
    executorId: () => String,
    shared: ReadersShared,
    send: ReaderReport => Future[Boolean]
) extends AutoCloseable {
  import ShardReaderPool._
  import shared.{runtime, worker}

  private[reader] val memory = shared.memory.join(config.bufferBytes)

  /** Whether some executor has read for this query before. */
  @volatile private var hasRead = config.hasRead

  private val log               = LoggerFactory.getLogger(classOf[ShardReaderPool])
  private[reader] val telemetry = new ReaderTelemetry(shard => change(Some(shard), isNews = false))
  private val clients           = new ReadingClients(config, shared.clients, () => hasRead)
  private val starts            = StartSchedule.ofReaders
  private val pollers           =
    new PollingPublisherFactory(
      clients.of(_, ClientKind.Calls),
      worker,
      telemetry,
      Some(starts),
      config.polling
    )

  private val id      = shared.newPool()
  private val clock   = new DriverClock
  private val reports = new ReportSchedule(worker, what => send(report(what)))

  /** As of the last order. Before the first, the driver knows of no readers here, and gets no reports. */
  @volatile private var liveness = Option.empty[Liveness]

  /** When this executor gave the answer after which the driver last named these readers, by its own clock. */
  private val namedAfter = new AtomicReference(Option.empty[Long])

  /** The first order takes a moment, as clients are made for it. */
  private val leasedUntil = new AtomicLong(runtime.clock.nanos() + Liveness.AfterTask.toNanos)

  /** Tasks of a real-time batch. They are called on each news of their shards. */
  private val followers = TrieMap.empty[ShardKey, () => Unit]

  /** Shards that the orders name. Others are read for tasks of real-time batches. */
  @volatile private var ordered = Set.empty[ShardKey]

  // All below is guarded by `this`.
  private var unwanted                            = Map.empty[ShardKey, Long]
  private val readers                             = mutable.LinkedHashMap.empty[ShardKey, ShardReader]
  private var publisher: ResolvedPublisher        = ResolvedPublisher.Polling
  private var publishers: RecordPublisher.Factory = pollers
  private var closed                              = false
  private var reported                            = 0L

  @volatile private var applied = 0L
  @volatile private var spacing = BoundarySpacing.none

  private val wakeUp =
    worker.every(WakeInterval)(wake())

  /** Carries an order out. Nothing where a later one has come before, or the readers are closed. */
  def applyOrder(order: ReadOrder): Option[OrderAnswer] = {
    prepareClients(order)
    updateClock(order.driverNanos)
    if (order.hasRead) hasRead = true
    liveness = Some(order.liveness)
    renewLease(order.liveness.lease)
    // While a batch runs nobody waits for news; the order before the next batch asks for them.
    reports.setPause(if (order.batchEnds.isEmpty) order.pauseMillis.millis else ReportSchedule.QuietPause)
    val isNext = synchronized {
      if (closed || order.number <= applied) None
      else if (order.settings.isEmpty && order.number != applied + 1) Some(false)
      else {
        changeReaders(order)
        Some(true)
      }
    }
    isNext.map { done =>
      if (done) demand()
      val now =
        if (done && order.settings.isDefined) {
          reports.changeAll()
          None
        } else if (done && order.commit) reports.take(report)
        else None
      OrderAnswer(done, now)
    }
  }

  private def changeReaders(order: ReadOrder): Unit = {
    spacing = order.spacing
    order.settings.foreach(settings => readBy(settings.publisher))
    if (order.commit) commit()
    val named    = order.read.iterator.map(_.shard).toSet
    val released =
      if (order.settings.isDefined) readers.keys.filterNot(shard => named(shard) || isBegun(shard)).toVector
      else order.release
    released.foreach(drop)
    order.read.foreach(read)
    ordered = (if (order.settings.isDefined) Set.empty else ordered -- released) ++ named
    if (released.nonEmpty) telemetry.forget(readers.contains)
    order.batchEnds.foreach { case (shard, end) => readers.get(shard).foreach(_.beginBatch(end)) }
    val changed = order.read.map(_.shard) ++ order.batchEnds.map(_._1) ++ released
    // Only now: an order by which something is thrown has not been carried out.
    applied = order.number
    change(changed, isNews = changed.nonEmpty)
  }

  private def commit(): Unit = readers.values.toVector.foreach { reader =>
    // It may have room now, or still have none.
    if (reader.isHeldUp) change(Some(reader.shard), isNews = false)
    reader.commit().foreach { end =>
      openAnew(reader.shard, end, reader.stop)
      change(Some(reader.shard), isNews = true)
    }
  }

  /** Whether the shard is closed is said once, to its first reader. */
  private def openAnew(shard: ShardKey, at: ShardPosition, stop: Option[ShardPosition]): ShardReader = {
    val isClosed = readers.get(shard).exists(_.isOfClosedShard)
    drop(shard)
    val reader = open(shard, at, stop)
    if (isClosed) reader.shardIsClosed()
    reader
  }

  /** By a task, which has taken from it since the order was made. Where a batch begins again, or the reader has failed, its tasks see to it themselves. */
  private def isFollowed(shard: ShardKey) = followers.contains(shard) && readers.contains(shard)

  /** By a task, which may be ahead of all orders. */
  private def isBegun(shard: ShardKey) = isFollowed(shard) && !ordered(shard)

  private def read(wanted: ReadOrder.ShardToRead): Unit = {
    val shard = wanted.shard
    if (!isFollowed(shard) && !readers.get(shard).exists(_.startAt(wanted.position))) {
      openAnew(shard, wanted.position, wanted.stop): Unit
    }
    if (wanted.isClosed) readers(shard).shardIsClosed()
  }

  /** The driver lives, and has shards read here. Returns the last order that was carried out.
    *
    * @param epoch the last order that changed which shards they are: before it is carried out, some of the readers may be meant for others
    */
  def named(epoch: Long, by: Heartbeat): Long = {
    val now = applied
    updateClock(by.driverNanos)
    renewLease(Liveness.Heartbeats.lease)
    if (now >= epoch) namedAfter.set(by.answeredNanos)
    now
  }

  /** Whether the driver has named these readers since then, after an answer of this executor: it may have had them read elsewhere meanwhile. */
  private[reader] def isNamedSince(nanos: Long): Boolean =
    liveness.contains(Liveness.SameProcess) || namedAfter.get.exists(_ - nanos > 0)

  /** The same of one shard's reader. */
  private[reader] def isNamedSince(shard: ShardKey, nanos: Long): Boolean = isWanted(shard) && isNamedSince(nanos)

  /** An order names its reader, or a task follows it. */
  private def isWanted(shard: ShardKey) = ordered(shard) || followers.contains(shard)

  private def updateClock(driverNanos: Long): Unit = clock.update(driverNanos, runtime.clock.nanos())

  /** Memory comes free in other sources, too. */
  private def wake(): Unit =
    try {
      closeUnwanted()
      demand()
      // Counts change without any answer.
      change(Nil, isNews = false)
    } catch { case NonFatal(e) => log.warn(s"${config.sourceId}: readers could not be woken.", e) }

  /** What a task of a real-time batch has begun to read, and no order has named by then: the task failed, or another executor reads the shard. */
  private def closeUnwanted(): Unit = synchronized {
    val now = runtime.clock.nanos()
    unwanted = readers.keysIterator.filterNot(isWanted).map(shard => shard -> unwanted.getOrElse(shard, now)).toMap
    unwanted.foreach { case (shard, since) => if (now - since > Liveness.AfterTask.toNanos) drop(shard) }
  }

  private def demand(): Unit = all.foreach(_.demand())

  private[kinesisspark] def all: Vector[ShardReader] = synchronized(readers.values.toVector)
  private[reader] def isFanOut: Boolean              = synchronized(publisher != ResolvedPublisher.Polling)

  private def change(shards: Iterable[ShardKey], isNews: Boolean): Unit =
    if (liveness.isDefined) reports.change(shards, isNews)

  private def report(what: ReportSchedule.What): ReaderReport = {
    val (own, some, gone, number, at) = synchronized {
      reported += 1
      val some = if (what.isOfAllReaders) readers.values.toVector else what.changed.flatMap(readers.get)
      (readers.values.toVector, some, what.changed.filterNot(readers.contains), reported, applied)
    }
    // Before the readers are looked at: what they report may be newer, not older.
    val now = clock.at(runtime.clock.nanos())
    ReaderReport(
      executorId(),
      config.sourceId,
      id,
      number,
      what.isOfAllReaders,
      at,
      now,
      some.map(_.status(spacing)),
      gone,
      if (what.isOfAllReaders) telemetry.allCounts(own.map(_.shard)) else telemetry.counts(what.changed),
      what.hasNews,
      telemetry.totals(own.map(_.held).sum, isFanOut)
    )
  }

  /** The range's records, if the shard's reader holds all of them. */
  def slice(range: ShardRange): Option[Iterator[KinesisRecord]] =
    readerOf(range.shard).flatMap(_.slice(range.start, range.end))

  /** The shard's reader, if it has not gone past a position. */
  def at(shard: ShardKey, position: ShardPosition): Option[ShardReader] =
    readerOf(shard).filter(_.advance(position).isDefined)

  /** The reader of a shard from a position on, for a task of a real-time batch, which drops from it what it has taken. One that has
    * failed begins anew.
    *
    * @param by     as the batch was planned, of which this executor may have no order yet
    * @param onNews called when there may be more to take, or the reader fails; must not block
    */
  def follow(shard: ShardKey, from: ShardPosition, by: ResolvedPublisher, onNews: () => Unit): ShardReader = {
    clients.prepare(shard.stream, kindOf(by))
    val reader = synchronized {
      require(!closed, s"the readers of ${config.sourceId} are closed")
      readBy(by)
      val own =
        readers.get(shard).filter(r => !r.hasFailed && r.dropTo(from)).getOrElse(openAnew(shard, from, stop = None))
      followers(shard) = onNews
      own
    }
    reader.demand()
    reader
  }

  /** The reader reads ahead for the next batch. */
  def unfollow(shard: ShardKey, onNews: () => Unit): Unit = {
    followers.remove(shard, onNews): Unit
    renewLease(Liveness.AfterTask)
  }

  /** Whether some executor has read for this query before. */
  def hasEverRead: Boolean = hasRead

  /** Counts what tasks have read here. */
  def count(records: UserRecordCount): Unit = {
    telemetry.deliver(records)
    change(Nil, isNews = true)
  }

  override def close(): Unit = {
    wakeUp.cancel()
    reports.close()
    val own = synchronized {
      closed = true
      val all = readers.values.toVector
      readers.clear()
      all
    }
    own.foreach(_.close())
    // Whoever deregisters the consumers next must not do it under a subscription.
    if (!telemetry.awaitClosed(LeavingTime)) log.warn("{}: subscriptions are still open", config.sourceId)
    clients.close()
    memory.close()
  }

  /** A task takes from it, so the query lives.
    *
    * @param by as the task has it, which may come before all orders
    */
  private[reader] def use(by: ReaderConfig): Unit = {
    if (by.hasRead) hasRead = true
    renewLease(Liveness.AfterTask)
  }

  def isExpired: Boolean = followers.isEmpty && runtime.clock.nanos() - leasedUntil.get > 0

  /** The readers continue for so long at the least. */
  def renewLease(length: FiniteDuration): Unit = {
    val until = runtime.clock.nanos() + length.toNanos
    leasedUntil.updateAndGet(before => if (until - before > 0) until else before): Unit
  }

  private def readerOf(shard: ShardKey): Option[ShardReader] = synchronized(readers.get(shard))

  /** An order or a task that comes late may name an older consumer: the readers stay with the newer one. */
  private def readBy(wanted: ResolvedPublisher): Unit = if (
    wanted != publisher && wanted.renewals >= publisher.renewals
  ) {
    readers.keys.filter(s => wanted.consumer(s.stream) != publisher.consumer(s.stream)).toVector.foreach(drop)
    publisher = wanted
    publishers = wanted match {
      case ResolvedPublisher.Polling        => pollers
      case fanOut: ResolvedPublisher.FanOut =>
        FanOutRecordPublisher.factory(
          fanOut,
          clients.of(_, ClientKind.Subscriptions),
          worker,
          telemetry,
          starts,
          pollers,
          isNamedSince
        )
    }
  }

  private def open(shard: ShardKey, position: ShardPosition, stop: Option[ShardPosition]): ShardReader = {
    log.debug(s"reading $shard from ${ShardPosition.encode(position)}")
    val reader =
      new ShardReader(
        shard,
        position,
        stop,
        publishers,
        memory,
        telemetry.read(shard, _),
        () => notifyNews(shard)
      )
    readers(shard) = reader
    reader
  }

  private def drop(shard: ShardKey): Unit = {
    readers.remove(shard).foreach(_.close())
    change(Some(shard), isNews = false)
  }

  /** Makes the clients of the readers that an order opens, before the lock is taken. */
  private def prepareClients(order: ReadOrder): Unit = {
    val (by, before) = synchronized {
      order.settings.fold((publisher, Set.empty[StreamArn]))(settings =>
        (settings.publisher, readers.keysIterator.map(_.stream).toSet)
      )
    }
    (before ++ order.read.iterator.map(_.shard.stream)).foreach(clients.prepare(_, kindOf(by)))
    // The end of one that reads through a subscription may have to be polled.
    for (closed <- order.read if closed.isClosed) clients.prepare(closed.shard.stream, ClientKind.Calls)
  }

  private def kindOf(publisher: ResolvedPublisher) = publisher match {
    case ResolvedPublisher.Polling   => ClientKind.Calls
    case _: ResolvedPublisher.FanOut => ClientKind.Subscriptions
  }

  private def notifyNews(shard: ShardKey): Unit = {
    val follower = followers.get(shard)
    follower.foreach(_())
    readerOf(shard).foreach(reader => change(Some(shard), reader.takeUnreported() && follower.isEmpty))
  }
}

object ShardReaderPool {

  /** How often readers look whether there is room for them. */
  private val WakeInterval = 500.millis

  private val LeavingTime = 5.seconds
}
