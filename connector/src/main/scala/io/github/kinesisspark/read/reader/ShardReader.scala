package io.github.kinesisspark.read.reader

import java.util.concurrent.CopyOnWriteArrayList

import scala.concurrent.duration._

import io.github.kinesisspark.aws.{FailureReason, KinesisException}
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, AtSequenceNumber, Within}
import io.github.kinesisspark.position.{SequenceNumber, Shard, ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.Admission.Allotment
import io.github.kinesisspark.read.plan.ArrivalDensity
import io.github.kinesisspark.read.reader.PollingRecordPublisher.LargestAnswer
import io.github.kinesisspark.read.reader.RecordPublisher.{Delivery, Sink}

/** Reads one shard ahead of the batches, as far as its share of the memory allows.
  *
  * Owns the buffer and the publisher's demand: a delivery is asked for whenever there is room and none is on its way. The driver plans what it
  * holds; tasks take it out, which makes room, or leave it to the next planning to drop it. Publishers call it on their worker threads, tasks
  * and probes on theirs.
  *
  * @param stop    where to stop, if anywhere before the shard's end
  * @param share   bytes this reader may hold; above it, it asks for nothing more
  * @param onRead  told the records of every delivery; must not block
  * @param onNews  told after every delivery and failure; must not block
  */
final class ShardReader(
    val shard: ShardKey,
    start: ShardPosition,
    stop: Option[ShardPosition],
    publishers: RecordPublisher.Factory,
    budget: MemoryBudget.Member,
    share: () => Long,
    onRead: Array[KinesisRecord] => Unit,
    onNews: () => Unit
) extends Sink
    with AutoCloseable {

  override val memory: MemoryBudget.Account = budget.account(() => tellTasks())
  private val tasks                         = new CopyOnWriteArrayList[() => Unit]

  private var buffer     = RecordBuffer.at(start)
  private var boundaries = Option.empty[Boundaries] // Of the buffer, since somebody has asked for them.
  private var heap       = 0L
  private var requested  = false
  private val opened     = System.nanoTime()
  private var hasBegun   = false
  private var closed     = false
  private var lastAnswer = Option.empty[ShardReader.Answer]
  private var time       = ReadingTime.unknown
  private var emptySince = Option.empty[Long]
  private var failure    = Option.empty[KinesisException]
  private var isPast     = false
  private var children   = Vector.empty[Shard]
  private val publisher  = publishers.open(shard, start, this)

  override def deliver(delivery: Delivery): Unit = {
    val (records, position) = untilStop(delivery)
    val isWhole             = records.length == delivery.records.length
    val unwanted            = if (isWhole) 0L else delivery.heap - KinesisRecord.heapOf(records)
    val wanted              = synchronized {
      requested = false
      if (!closed) {
        buffer = buffer.append(records, position)
        boundaries = boundaries.map(_.add(records, 0, records.length))
        heap += delivery.heap - unwanted
        time = time.after(delivery.records, delivery.millisBehind)
        lastAnswer = Some(ShardReader.Answer(delivery.asOfNanos, delivery.millisBehind))
        emptySince = Option.when(records.isEmpty)(emptySince.getOrElse(System.nanoTime()))
        children = delivery.children
      }
      !closed
    }
    onRead(delivery.records)
    memory.giveBack(if (wanted) unwanted else delivery.heap)
    if (wanted) demand()
    onNews()
    tellTasks()
  }

  private def untilStop(delivery: Delivery): (Array[KinesisRecord], ShardPosition) = {
    def cut(number: SequenceNumber)(isWithin: SequenceNumber => Boolean) =
      if (delivery.records.lastOption.exists(_.sequenceNumber >= number)) {
        synchronized { isPast = !delivery.records.exists(_.sequenceNumber == number) }
        (delivery.records.takeWhile(r => isWithin(r.sequenceNumber)), stop.get)
      } else (delivery.records, delivery.position)
    stop match {
      case Some(AfterSequenceNumber(last)) => cut(last)(_ <= last)
      case Some(Within(last, _))           => cut(last)(_ <= last)
      case Some(AtSequenceNumber(next))    => cut(next)(_ < next)
      case _                               => (delivery.records, delivery.position)
    }
  }

  /** Nothing more is to be read. */
  private def isComplete = buffer.ended || stop.contains(buffer.tip)

  override def begun(): Unit = {
    val first = synchronized {
      val before = hasBegun
      hasBegun = true
      !before
    }
    if (first) onNews()
  }

  override def fail(cause: KinesisException): Unit = {
    synchronized {
      failure = Some(cause)
    }
    onNews()
    tellTasks()
  }

  /** Asks for more if there is room for it. Called after whatever may have made room. */
  def demand(): Unit = {
    val ask = synchronized {
      val room = !requested && !closed && failure.isEmpty && !isComplete && hasRoom
      if (room) requested = true
      room
    }
    if (ask) publisher.request()
  }

  /** Where shares are large enough for it, the next answer must fit in, too: a shard that is ahead and has to wait for the
    * others must not hold the memory that they read by.
    */
  private def hasRoom = {
    val mine = share()
    heap < (if (mine > 2 * LargestAnswer) mine - LargestAnswer else mine)
  }

  def shardIsClosed(): Unit = publisher.shardIsClosed()

  /** Drops what comes before `position`; false where this reader is somewhere else and must be opened anew. */
  def dropTo(position: ShardPosition): Boolean = {
    val freed = synchronized {
      buffer.dropTo(position).map { rest =>
        val before = heap
        if (rest ne buffer) boundaries = None
        buffer = rest
        heap = rest.heap
        before - heap
      }
    }
    freed.foreach(memory.giveBack)
    freed.isDefined
  }

  /** For a task that has taken what comes before `position`: the next answer's records, which stay in the buffer until the task comes again. None
    * where this reader is somewhere else by now: another task has taken more, or it is closed.
    */
  def advance(position: ShardPosition): Option[RecordBuffer.Head] = {
    val head = if (synchronized(!closed) && dropTo(position)) headAt(position) else None
    demand()
    head
  }

  private def headAt(position: ShardPosition) = synchronized(Option.when(buffer.base == position)(buffer.head))

  /** What keeps a task waiting that has taken what comes before `position`; nothing once there is more. */
  def standstill(position: ShardPosition): Option[ShardReader.Standstill] = synchronized {
    Option.when(closed || buffer.tip == position)(
      ShardReader.Standstill(
        failure,
        closed,
        nothingMore = lastAnswer.exists(_.millisBehind == 0),
        emptySince.map(since => (System.nanoTime() - since).nanos)
      )
    )
  }

  /** Has a task told of news, or that this reader waits for memory; from any thread. */
  def listen(task: () => Unit): Unit = tasks.add(task): Unit

  def unlisten(task: () => Unit): Unit = tasks.remove(task): Unit

  private def tellTasks(): Unit = tasks.forEach(_())

  /** It has come to where it stops, and the record there is gone. */
  def missesStop: Boolean = synchronized(isPast)

  def slice(start: ShardPosition, end: ShardPosition): Option[Iterator[KinesisRecord]] =
    synchronized(buffer).slice(start, end)

  /** How far it is, with where a batch can end. */
  def tip(grain: Grain): ShardTip = synchronized {
    val mine = boundaries.filter(_.grain == grain).getOrElse(buffer.boundaries(grain))
    boundaries = Some(mine)
    tip.copy(boundaries = mine)
  }

  def tip: ShardTip = synchronized {
    ShardTip(
      shard = shard,
      base = buffer.base,
      position = buffer.tip,
      boundaries = Boundaries.none(Grain.none),
      records = buffer.records,
      bytes = buffer.bytes,
      room = share(),
      isFull = !isComplete && (if (requested) memory.isWaiting else !hasRoom),
      oldestArrival = buffer.oldestArrival,
      newestArrival = buffer.newestArrival,
      reached = time.reached,
      density = time.density,
      starved = buffer.records == 0 && memory.isWaiting,
      isComplete = isComplete,
      millisBehind = lastAnswer.map(_.millisBehind),
      millisSinceAnswer = lastAnswer.map(a => (System.nanoTime() - a.asOfNanos) / 1000000),
      failure = failure.map(ReaderFailure(_)),
      children = children
    )
  }

  /** Whether an answer that was asked for at `sinceNanos` or later says that nothing more is there. A reader that has
    * something, or is at its end, has settled as well, and so has one that waits for memory that others hold: they give it back only when they are
    * planned.
    */
  def settledSince(sinceNanos: Long): Boolean = synchronized {
    failure.isDefined || isComplete || buffer.tip != buffer.base ||
    (lastAnswer.exists(a => a.asOfNanos - sinceNanos >= 0 && a.millisBehind == 0) && !isOnItsWay) ||
    (stop.isEmpty && memory.isWaiting)
  }

  /** Where to stop is a record: that one answer says there is nothing more is no reason to doubt it, but several are. It may be
    * past retention by now.
    */
  private def isOnItsWay =
    stop.isDefined && emptySince.forall(since => System.nanoTime() - since < ShardReader.DoubtAfter.toNanos)

  /** Something to plan, or to fail with. */
  def hasNews: Boolean = synchronized(failure.isDefined || buffer.tip != buffer.base)

  def hasFailed: Boolean = synchronized(failure.isDefined)

  /** Whether its first answer is still to come, and others may wait for it. */
  def isOpening: Boolean = synchronized(!hasBegun && lastAnswer.isEmpty && failure.isEmpty) &&
    System.nanoTime() - opened < ShardReader.OpeningPatience.toNanos

  /** Bytes of heap in records. */
  def held: Long = synchronized(heap)

  override def close(): Unit = {
    val (held, isFirst) = synchronized {
      val isFirst = !closed
      closed = true
      val all = heap
      buffer = RecordBuffer.at(buffer.base)
      boundaries = None
      heap = 0
      (all, isFirst)
    }
    publisher.close()
    memory.giveBack(held)
    if (isFirst) memory.close()
    tellTasks()
  }
}

object ShardReader {

  /** Three of the events that a subscription to an idle shard brings. */
  val DoubtAfter: FiniteDuration = 15.seconds

  /** How long the first answer of one may hold up what others have already. */
  private val OpeningPatience = 2.seconds

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

/** How far a reader has read beyond the batch's start, as it tells the driver.
  *
  * @param base          where what it holds begins
  * @param position      where it ends
  * @param boundaries    where a batch can end within it; none where nobody cuts it
  * @param records       after the start, up to `position`
  * @param bytes         of data and keys
  * @param room          bytes that its reader may hold
  * @param isFull        its reader stands still for lack of room, its own or that of all readers
  * @param oldestArrival of the first record, in ms by the service's clock
  * @param newestArrival the latest of all records, in ms by the service's clock
  * @param reached       what arrived before it is read; in ms by the service's clock, nothing before the first record
  * @param density       of what it has read lately
  * @param starved       it has nothing, and can't read before others give memory back
  * @param isComplete    nothing more is to be read: `position` is the shard's end, or where its reader was told to stop
  * @param millisBehind  how far `position` is behind the newest record of the shard; nothing before the first answer
  * @param millisSinceAnswer how long ago that was so
  * @param children      of a shard that is read to its end, where the service told them
  */
final case class ShardTip(
    shard: ShardKey,
    base: ShardPosition,
    position: ShardPosition,
    boundaries: Boundaries,
    records: Long,
    bytes: Long,
    room: Long,
    isFull: Boolean,
    oldestArrival: Option[Long],
    newestArrival: Option[Long],
    reached: Option[Long],
    density: ArrivalDensity,
    starved: Boolean,
    isComplete: Boolean,
    millisBehind: Option[Long],
    millisSinceAnswer: Option[Long],
    failure: Option[ReaderFailure],
    children: Vector[Shard]
) {

  /** There is more than its reader can hold, or more than arrives between two triggers. */
  def outlasts(interval: FiniteDuration): Boolean =
    failure.isEmpty && !isComplete && (isFull || starved || millisBehind.exists(_ > interval.toMillis))

  /** All of it as a batch's part. */
  def all: RecordBuffer.Cut = RecordBuffer.Cut(position, records, bytes, newestArrival, nextArrival = None)

  /** The longest prefix within an allotment that ends at a boundary; all of it where it fits. */
  def cut(most: Allotment): RecordBuffer.Cut = {
    val ends   = boundaries.all
    val within = boundaries.countWhile(b =>
      b.records <= most.maxRecords && b.bytes <= most.maxBytes && b.newest <= most.maxArrival
    )
    if (within == ends.size) all
    else if (within == 0) RecordBuffer.Cut(base, 0, 0, None, Some(ends.head.oldest))
    else {
      val last = ends(within - 1)
      val next = last.newest.max(ends(within).oldest)
      RecordBuffer.Cut(AfterSequenceNumber(last.last), last.records, last.bytes, Some(last.newest), Some(next))
    }
  }

  /** Up to when all that arrived is read after a batch that takes this part; in ms by the service's clock, as far as it is known.
    *
    * @param serviceMillis that clock, now
    */
  def completeTo(part: RecordBuffer.Cut, serviceMillis: Long): Option[Long] = {
    val isAll = part.position == position && position != ShardPosition.ShardEnd
    val asked = for {
      behind <- millisBehind if isAll
      ago    <- millisSinceAnswer
    } yield serviceMillis - ago - behind
    (asked ++ part.newestArrival).maxOption
  }
}

/** Why a reader ended, without the exception itself, which may not survive the way from an executor to the driver. */
final case class ReaderFailure(reason: FailureReason, errorClass: String, message: String) {
  def exception: KinesisException = new KinesisException(errorClass, message, reason = reason)
}

object ReaderFailure {
  def apply(cause: KinesisException): ReaderFailure =
    ReaderFailure(cause.reason, cause.errorClass, cause.bareMessage)
}
