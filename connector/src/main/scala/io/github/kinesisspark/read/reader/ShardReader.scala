package io.github.kinesisspark.read.reader

import java.util.concurrent.CopyOnWriteArrayList

import scala.concurrent.duration._

import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.position.{Shard, ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.{Boundaries, BoundarySpacing, ReaderFailure, ReaderStatus}
import io.github.kinesisspark.read.reader.RecordPublisher.{Delivery, Sink}
import io.github.kinesisspark.runtime.{Closing, Runtime}

/** Reads one shard ahead of the batches, as far as its share of the memory allows.
  *
  * Owns the buffer and the publisher's demand: a delivery is asked for whenever there is room and none is on its way. The driver plans what it
  * holds; tasks take it out, which makes room, or leave it to the next planning to drop it. Publishers call it on their worker threads, tasks
  * orders and reports on theirs.
  *
  * @param stop   where to stop, if anywhere before the shard's end
  * @param onRead called with the totals of every delivery; must not block
  * @param onNews called after every delivery and failure; must not block
  */
final class ShardReader(
    val shard: ShardKey,
    start: ShardPosition,
    val stop: Option[ShardPosition],
    publishers: RecordPublisher.Factory,
    budget: MemoryBudget.Member,
    onRead: RecordTotals => Unit,
    onNews: () => Unit
)(implicit runtime: Runtime)
    extends Sink
    with AutoCloseable {

  override val memory: MemoryBudget.Account = budget.account(() => starve())
  private val tasks                         = new CopyOnWriteArrayList[() => Unit]

  private var buffer     = RecordBuffer.at(start)
  private val ahead      = new RecordsAhead
  private var fresh      = false
  private var requested  = false
  private val opened     = runtime.clock.nanos()
  private var hasBegun   = false
  private var closed     = false
  private var lastAnswer = Option.empty[ShardReader.Answer]
  private var time       = ReadingTime.unknown
  private var emptySince = Option.empty[Long]
  private var failure    = Option.empty[KinesisException]
  private var isPast     = false
  private var children   = Vector.empty[Shard]
  private val publisher  = Closing.unlessMade(memory.close())(publishers.open(shard, start, this))

  @volatile private var hasClosedShard = false

  override def deliver(delivery: Delivery): Unit = {
    val (records, position) = untilStop(delivery)
    val isWhole             = records.length == delivery.records.length
    val totals              = if (isWhole) delivery.totals else RecordTotals.of(records)
    val unwanted            = delivery.totals.heap - totals.heap
    val wanted              = synchronized {
      requested = false
      if (!closed) {
        fresh ||= records.nonEmpty || position != buffer.tip || (lastAnswer.isEmpty && !hasBegun)
        buffer = buffer.append(records, totals, position)
        ahead.append(records, totals, position)
        time = time.after(delivery.totals, delivery.millisBehind)
        lastAnswer = Some(ShardReader.Answer(delivery.asOfNanos, delivery.millisBehind))
        emptySince = Option.when(records.isEmpty)(emptySince.getOrElse(delivery.asOfNanos))
        children = delivery.children
      }
      !closed
    }
    onRead(delivery.totals)
    memory.giveBack(if (wanted) unwanted else delivery.totals.heap)
    if (wanted) demand()
    onNews()
    notifyTasks()
  }

  private def untilStop(delivery: Delivery): (Array[KinesisRecord], ShardPosition) =
    stop.fold((delivery.records, delivery.position)) { end =>
      val reach = RangeEnds.reach(end, delivery.records, delivery.position)
      synchronized { isPast = reach == RangeEnds.Passed }
      (RangeEnds.before(end, delivery.records), if (reach == RangeEnds.Before) delivery.position else end)
    }

  /** Nothing more is to be read. */
  private def isComplete = buffer.ended || stop.contains(buffer.tip)

  override def begun(): Unit = {
    val first = synchronized {
      val before = hasBegun
      hasBegun = true
      fresh ||= !before
      !before
    }
    if (first) onNews()
  }

  override def fail(cause: KinesisException): Unit = {
    synchronized {
      failure = Some(cause)
      fresh = true
    }
    onNews()
    notifyTasks()
  }

  /** It waits for memory. */
  private def starve(): Unit = {
    synchronized { fresh = true }
    onNews()
    notifyTasks()
  }

  /** It has asked for memory that isn't there, or can't ask for more. */
  def isHeldUp: Boolean = memory.isWaiting || synchronized(!requested && !hasRoom(buffer.heap))

  /** Once the batch's records are dropped. */
  private def isFull = !isComplete && (if (requested) memory.isWaiting else !hasRoom(ahead.of(buffer).heap))

  /** Asks for more if there is room for it. Called after whatever may have made room. */
  def demand(): Unit = {
    val ask = synchronized {
      val room = !requested && !closed && failure.isEmpty && !isComplete && hasRoom(buffer.heap)
      if (room) requested = true
      room
    }
    if (ask) publisher.request()
  }

  /** The next answer must fit in, too: a shard that is ahead and has to wait for the others must not hold the memory that they read by. */
  private def hasRoom(held: Long) = {
    val own = memory.share
    held == 0 || held + MemoryBudget.answer(own) <= own
  }

  /** The driver knows that the shard takes no more records: its end is looked for where the publisher doesn't report it. */
  def shardIsClosed(): Unit = {
    hasClosedShard = true
    publisher.shardIsClosed()
  }

  /** The driver has said so. */
  def isOfClosedShard: Boolean = hasClosedShard

  /** The next batch starts at `position`, whatever batch began before: the order that commits it may have been lost. False as of [[dropTo]]. */
  def startAt(position: ShardPosition): Boolean = {
    synchronized(ahead.forgetBatch())
    dropTo(position)
  }

  /** Drops what comes before `position`; false where this reader is somewhere else, or closed, and must be opened anew. */
  def dropTo(position: ShardPosition): Boolean = {
    val freed = synchronized {
      (if (closed) None else buffer.dropTo(position)).map { rest =>
        val before = buffer
        ahead.dropTo(position, isChanged = rest ne before)
        buffer = rest
        before.heap - rest.heap
      }
    }
    freed.foreach(memory.giveBack)
    freed.isDefined
  }

  /** A batch begins to run that ends there: what comes after it is what this reader holds ahead. Its records stay till they are committed. */
  def beginBatch(end: ShardPosition): Unit = synchronized(ahead.beginBatch(end))

  /** The batch is written. Returns its end where this reader is somewhere else, or closed, and must be opened anew there. */
  def commit(): Option[ShardPosition] = {
    val (end, left) = synchronized((ahead.batchEnd, Option.when(closed)(buffer.base)))
    end.orElse(left).filterNot(dropTo)
  }

  /** For a task that has taken what comes before `position`: the next answer's records, which stay in the buffer until the task comes again. None
    * where this reader is somewhere else by now: another task has taken more, or it is closed.
    */
  def advance(position: ShardPosition): Option[RecordBuffer.Head] = {
    val head = if (synchronized(!closed) && dropTo(position)) headAt(position) else None
    demand()
    head
  }

  /** A task has taken all that comes before `position`, where its range ends. Where readers hold more than they may, that goes at once. If anything comes after
    * it, all of it goes, as what each shard of a large batch leaves may be more than there is: this reader is closed, and the order that commits the batch
    * begins it anew.
    */
  def leave(position: ShardPosition): Unit = if (memory.isOverdrawn) {
    val (freed, isOver) = synchronized {
      // Without a batch that runs, no such order comes.
      val rest = if (closed || ahead.batchEnd.isEmpty) None else buffer.dropTo(position)
      rest.fold((0L, false)) { left =>
        val held = buffer.heap
        if (left.heap > 0) end(position)
        else {
          ahead.dropTo(position, isChanged = true)
          buffer = left
        }
        (held, closed)
      }
    }
    if (isOver) ended(freed) else memory.giveBack(freed)
  }

  private def headAt(position: ShardPosition) = synchronized(Option.when(buffer.base == position)(buffer.head))

  /** What keeps a task waiting that has taken what comes before `position`; nothing once there is more. */
  def standstill(position: ShardPosition): Option[ShardReader.Standstill] = synchronized {
    Option.when(closed || buffer.tip == position)(
      ShardReader.Standstill(
        failure,
        closed,
        nothingMore = lastAnswer.exists(_.millisBehind == 0),
        emptyFor
      )
    )
  }

  /** Calls the task back on news, and when this reader waits for memory. From any thread. */
  def listen(task: () => Unit): Unit = tasks.add(task): Unit

  def unlisten(task: () => Unit): Unit = tasks.remove(task): Unit

  private def notifyTasks(): Unit = tasks.forEach(_())

  /** It has come to where it stops, and the record there is gone. */
  def missesStop: Boolean = synchronized(isPast)

  /** The records of a range, if it holds all of them. */
  def slice(start: ShardPosition, end: ShardPosition): Option[Iterator[KinesisRecord]] =
    if (missesStop && stop.contains(end)) None else synchronized(buffer).slice(start, end)

  /** How far it is, with where a batch can be cut. */
  def status(spacing: BoundarySpacing): ReaderStatus = synchronized {
    if (spacing == BoundarySpacing.none) status else status.copy(boundaries = ahead.boundariesOf(buffer, spacing))
  }

  def status: ReaderStatus = synchronized {
    val rest = ahead.of(buffer)
    ReaderStatus(
      shard = shard,
      base = rest.base,
      first = if (rest.base.isTime) rest.first else None,
      position = rest.tip,
      boundaries = Boundaries.none(BoundarySpacing.none),
      records = rest.records,
      bytes = rest.bytes,
      heap = KinesisRecord.heapOf(rest.records, rest.bytes),
      room = memory.share,
      isFull = isFull,
      oldestArrival = rest.oldestArrival,
      newestArrival = rest.newestArrival,
      reached = time.reached,
      density = time.density,
      starved = rest.records == 0 && memory.isWaiting,
      isComplete = isComplete,
      millisBehind = lastAnswer.map(_.millisBehind),
      millisSinceAnswer = lastAnswer.map(a => millisSince(a.asOfNanos)),
      openingMillis = if (isOpening) Some(millisSince(opened)) else None,
      isOnItsWay = isOnItsWay,
      failure = failure.map(ReaderFailure(_)),
      children = children
    )
  }

  /** Where to stop is a record: that one answer says there is nothing more is no reason to doubt it, but several are. It may be
    * past retention by now.
    */
  private def isOnItsWay = stop.isDefined && emptyFor.forall(_ < ShardReader.DoubtAfter)

  /** Between the first and the last of the latest answers, if they had no records. Calls that failed since, or wait, say nothing of the shard. */
  private def emptyFor =
    for {
      since <- emptySince
      last  <- lastAnswer
    } yield (last.asOfNanos - since).nanos

  /** Whether there is unreported news that the driver may wait for. */
  def takeUnreported(): Boolean = synchronized {
    val isNew = fresh
    fresh = false
    isNew
  }

  def hasFailed: Boolean = synchronized(failure.isDefined)

  /** Whether its first answer is still to come. */
  private def isOpening = !hasBegun && lastAnswer.isEmpty && failure.isEmpty

  private def millisSince(nanos: Long) = (runtime.clock.nanos() - nanos) / 1000000

  /** All that it holds of the shard. */
  private[reader] def contents: RecordBuffer = synchronized(buffer)

  /** An answer is on its way. */
  private[reader] def isAsking: Boolean = synchronized(requested)

  /** Bytes of heap in the records ahead of the batch. */
  def held: Long = synchronized(ahead.of(buffer).heap)

  override def close(): Unit = {
    val held = synchronized(Option.unless(closed) {
      val all = buffer.heap
      end(buffer.base)
      all
    })
    held.foreach(ended)
  }

  private def end(position: ShardPosition): Unit = {
    closed = true
    buffer = RecordBuffer.at(position)
    ahead.forget()
  }

  private def ended(held: Long): Unit = {
    publisher.close()
    memory.giveBack(held)
    memory.close()
    notifyTasks()
  }
}

object ShardReader {

  /** Three of the events that a subscription to an idle shard brings. */
  val DoubtAfter: FiniteDuration = 15.seconds

  /** Why nothing more has come.
    *
    * @param nothingMore by the last answer
    * @param emptyFor    how long answers have had no records, if the last one had none
    */
  final case class Standstill(
      failure: Option[KinesisException],
      isClosed: Boolean,
      nothingMore: Boolean,
      emptyFor: Option[FiniteDuration]
  )

  private final case class Answer(asOfNanos: Long, millisBehind: Long)
}
