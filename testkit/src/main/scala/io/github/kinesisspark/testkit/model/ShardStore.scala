package io.github.kinesisspark.testkit.model

import java.util.SplittableRandom
import java.util.concurrent.CopyOnWriteArrayList

/** One shard's records, the numbers it gives out, and what is left of its quotas. Its lock is the only one that reading
  * and writing take; nothing slow happens under it.
  */
final private[testkit] class ShardStore(val info: ShardInfo, incarnation: Int, seed: Long, limited: Boolean) {
  import ShardStore._

  private val log          = new RecordLog
  private val gaps         = new SplittableRandom(seed * 31 + info.index)
  private var nextOrdinal  = 1L
  private var closed       = false
  private var reads        = RateLimit.full(Quota.GetRecordsCallsPerShard, info.madeAtMillis)
  private var readBytes    = RateLimit.full(Quota.GetRecordsBytesPerShard, info.madeAtMillis)
  private var iterators    = RateLimit.full(Quota.GetShardIteratorCallsPerShard, info.madeAtMillis)
  private var writes       = RateLimit.full(Quota.WriteRecordsPerShard, info.madeAtMillis)
  private var writtenBytes = RateLimit.full(Quota.WriteBytesPerShard, info.madeAtMillis)
  private val watchers     = new CopyOnWriteArrayList[Runnable]

  /** Appends a record.
    *
    * @param metered whether it counts against the write quota
    */
  def append(key: Option[String], data: Array[Byte], now: Long, metered: Boolean): Append = {
    val appended = appendAlone(key, data, now, metered)
    if (!watchers.isEmpty) wake()
    appended
  }

  private def appendAlone(key: Option[String], data: Array[Byte], now: Long, metered: Boolean): Append = synchronized {
    if (closed) Append.Closed
    else if (metered && !takeWrite(key.fold(0)(_.length) + data.length, now)) Append.Throttled
    else {
      val ordinal  = takeOrdinal()
      var sequence = ""
      log.append(ordinal, now, arrived => { sequence = number(ordinal, arrived); sequence }, key, data)
      Append.Stored(sequence)
    }
  }

  /** Takes no more records.
    *
    * @return the ending sequence number, above all records'
    */
  def close(now: Long): String = {
    val ending = synchronized {
      closed = true
      number(takeOrdinal(), now)
    }
    wake()
    ending
  }

  /** Calls it after whatever may matter to a reader, outside the lock; it may be called for nothing. */
  def watch(watcher: Runnable): Unit   = { watchers.add(watcher); () }
  def unwatch(watcher: Runnable): Unit = { watchers.remove(watcher); () }
  def wake(): Unit                     = watchers.forEach(_.run())

  /** The records from a position on.
    *
    * @param horizon records that arrived before it are trimmed first
    */
  def read(position: ReadPosition, maxRecords: Int, now: Long, horizon: Long): Read = synchronized {
    log.trimArrivedBefore(horizon)
    if (limited && !readBytes.isFree(now)) Read.Throttled
    else if (!takeRead(now)) Read.Throttled
    else
      resolve(position, now) match {
        case None          => Read.Records(RecordLog.Slices.empty, Option.when(!closed)(position), 0)
        case Some(ordinal) =>
          val read = cut(ordinal, maxRecords, Quota.GetRecordsMaxBytes, now)
          if (limited) readBytes = readBytes.charge(read.slices.bytes, now)
          read
      }
  }

  private def cut(ordinal: Long, maxRecords: Int, maxBytes: Int, now: Long): Read.Records = {
    val slices = log.read(ordinal, maxRecords, maxBytes)
    val next   = slices.lastOrdinal.fold(ordinal)(_ + 1)
    val more   = log.lastOrdinal.exists(_ >= next)
    // More than zero while there is more, even if it arrived this very millisecond: zero means caught up.
    val behind = if (more) slices.lastArrival.fold(1L)(at => math.max(1L, now - at)) else 0L
    Read.Records(slices, Option.when(more || !closed)(ReadPosition.AtOrdinal(next)), behind)
  }

  /** What a subscription would find at a position. */
  def ahead(position: ReadPosition, now: Long): Ahead = synchronized {
    val ordinal = resolve(position, now)
    if (ordinal.exists(o => log.lastOrdinal.exists(_ >= o))) Ahead.Records
    else if (closed) Ahead.End
    else Ahead.Nothing
  }

  /** What a subscription is told next. Subscriptions have a quota of their own: no limit on reads applies.
    *
    * Nothing is moved by asking, except that an event without records continues at a number that is given to it and to
    * no record, above all before and below all to come: so a position moves on an idle shard.
    */
  def event(position: ReadPosition, maxRecords: Int, maxBytes: Int, now: Long, horizon: Long): Event = synchronized {
    log.trimArrivedBefore(horizon)
    val read = resolve(position, now).fold(Read.Records(RecordLog.Slices.empty, None, 0))(
      cut(_, maxRecords, maxBytes, now)
    )
    read.slices.lastSequence match {
      case Some(sequence) => Event(read.slices, sequence, read.slices.lastOrdinal, read.millisBehind, last = false)
      case None           => Event(read.slices, number(takeOrdinal(), now), None, 0, last = closed)
    }
  }

  /** An event without records that moves nothing, though there is more to come.
    *
    * @param behind what it says of that, in ms
    */
  def emptyEvent(position: ReadPosition, behind: Long, now: Long): Event = synchronized {
    val before = resolve(position, now).getOrElse(nextOrdinal) - 1
    Event(RecordLog.Slices.empty, number(math.max(0, before), now), None, behind, last = false)
  }

  /** Where an iterator that is asked for now begins; none if its quota is used up. */
  def positionOf(start: StartingPoint, now: Long): Option[ReadPosition] = synchronized {
    Option.when(takeIterator(now))(begin(start, now))
  }

  /** Where a subscription that is asked for now begins. */
  def begin(start: StartingPoint, now: Long): ReadPosition = synchronized {
    start match {
      case StartingPoint.TrimHorizon  => ReadPosition.AtOrdinal(0)
      case StartingPoint.Latest       => ReadPosition.AtOrdinal(nextOrdinal)
      case StartingPoint.AtOrdinal(o) => ReadPosition.AtOrdinal(o)
      case StartingPoint.AtTime(t)    =>
        resolve(ReadPosition.AtTime(t), now).fold[ReadPosition](ReadPosition.AtTime(t))(ReadPosition.AtOrdinal(_))
    }
  }

  /** Whether a sequence number was given out by this shard, and by this stream rather than a deleted namesake. */
  def owns(number: SequenceNumber): Boolean =
    number.shardIndex == info.index && number.shardMadeAt == info.madeAtSecond && number.incarnation == incarnation

  def trimBelow(ordinal: Long): Unit = synchronized(log.trimBelow(ordinal))

  def recordCount: Long = synchronized(log.size)

  private def resolve(position: ReadPosition, now: Long): Option[Long] = position match {
    case ReadPosition.AtOrdinal(o) => Some(o)
    case ReadPosition.AtTime(t)    => log.firstArrivedFrom(t).orElse(Option.when(t <= now)(nextOrdinal))
  }

  private def number(ordinal: Long, arrived: Long): String =
    SequenceNumber(info.madeAtSecond, info.index, ordinal, incarnation, arrived / 1000).toString

  // The service's numbers have gaps; so have these, lest anyone counts on the next one.
  private def takeOrdinal(): Long = {
    val ordinal = nextOrdinal
    nextOrdinal += 1 + gaps.nextInt(MaxGap)
    ordinal
  }

  private def takeWrite(bytes: Long, now: Long): Boolean = !limited || {
    val taken = for (r <- writes.take(1, now); b <- writtenBytes.take(bytes, now)) yield (r, b)
    taken.foreach { case (r, b) => writes = r; writtenBytes = b }
    taken.nonEmpty
  }

  private def takeRead(now: Long): Boolean = !limited || {
    val taken = reads.take(1, now)
    taken.foreach(reads = _)
    taken.nonEmpty
  }

  private def takeIterator(now: Long): Boolean = !limited || {
    val taken = iterators.take(1, now)
    taken.foreach(iterators = _)
    taken.nonEmpty
  }
}

private[testkit] object ShardStore {
  private val MaxGap = 8

  sealed trait Append
  object Append {
    final case class Stored(sequence: String) extends Append
    case object Closed                        extends Append
    case object Throttled                     extends Append
  }

  sealed trait Read
  object Read {

    /** @param next where to read on; none at the end of a closed shard */
    final case class Records(slices: RecordLog.Slices, next: Option[ReadPosition], millisBehind: Long) extends Read
    case object Throttled                                                                              extends Read
  }

  /** What lies ahead of a subscription. */
  sealed trait Ahead
  object Ahead {
    case object Records extends Ahead
    case object Nothing extends Ahead

    /** The shard is closed, and there is nothing more in it. */
    case object End extends Ahead
  }

  /** One event of a subscription.
    *
    * @param continuation where to subscribe again after it
    * @param lastOrdinal of its records
    * @param last the shard is closed, and all of its records have been told before
    */
  final case class Event(
      slices: RecordLog.Slices,
      continuation: String,
      lastOrdinal: Option[Long],
      millisBehind: Long,
      last: Boolean
  )

  /** The five iterator types, with sequence numbers already turned into ordinals. */
  sealed trait StartingPoint
  object StartingPoint {
    case object TrimHorizon                   extends StartingPoint
    case object Latest                        extends StartingPoint
    final case class AtOrdinal(ordinal: Long) extends StartingPoint
    final case class AtTime(millis: Long)     extends StartingPoint
  }
}
