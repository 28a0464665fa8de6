package io.github.kinesisspark.testkit.model

import io.github.kinesisspark.testkit.ReadBehavior

import java.util.SplittableRandom
import java.util.concurrent.CopyOnWriteArrayList

/** One shard's records, the numbers it gives out, and what is left of its quotas. Its lock is the only one that reading
  * and writing take; nothing slow happens under it.
  */
final private[testkit] class ShardStore(
    val info: ShardInfo,
    incarnation: Int,
    seed: Long,
    limited: Boolean,
    behavior: ReadBehavior = ReadBehavior()
) {
  import ShardStore._

  private val log          = new RecordLog
  private val gaps         = new SplittableRandom(seed * 31 + info.index)
  private var nextOrdinal  = 1L
  private var closedAt     = Option.empty[Long]
  private var reads        = RateLimit.full(Quota.GetRecordsCallsPerShard, info.madeAtMillis)
  private var readBytes    = RateLimit.full(Quota.GetRecordsBytesPerShard, info.madeAtMillis)
  private var iterators    = RateLimit.full(Quota.GetShardIteratorCallsPerShard, info.madeAtMillis)
  private var writes       = RateLimit.full(Quota.WriteRecordsPerShard, info.madeAtMillis)
  private var writtenBytes = RateLimit.full(Quota.WriteBytesPerShard, info.madeAtMillis)
  private val watchers     = new CopyOnWriteArrayList[Runnable]
  private val arrivals = new ArrivalTimes(info.madeAtMillis, behavior.arrivalsBackBy.toMillis, seed * 31 + info.index)
  private val scan     = Scan(behavior.scanSpan.map(_.toMillis), behavior.scanRecords)

  /** Appends a record.
    *
    * @param metered     whether it counts against the write quota
    * @param isEncrypted whether the stream is encrypted now
    */
  def append(
      key: Option[String],
      data: Array[Byte],
      now: Long,
      metered: Boolean,
      isEncrypted: Boolean = false
  ): Append = {
    val appended = appendAlone(key, data, now, metered, isEncrypted)
    if (!watchers.isEmpty) wake()
    appended
  }

  private def appendAlone(
      key: Option[String],
      data: Array[Byte],
      now: Long,
      metered: Boolean,
      isEncrypted: Boolean
  ): Append = synchronized {
    if (closedAt.nonEmpty) Append.Closed
    else if (metered && !takeWrite(key.fold(0)(_.length) + data.length, now)) Append.Throttled
    else {
      val ordinal  = takeOrdinal()
      val arrived  = arrivals.next(now)
      val sequence = number(ordinal, arrived)
      log.append(ordinal, arrived, sequence, key, data, isEncrypted)
      Append.Stored(sequence)
    }
  }

  /** Takes no more records. The shard closes no earlier than its latest record arrives, and its ending sequence number is above
    * all records'.
    */
  def close(now: Long): ShardState.Closed = {
    val closed = synchronized {
      val at = math.max(now, arrivals.latest)
      closedAt = Some(at)
      ShardState.Closed(at, number(takeOrdinal(), at))
    }
    wake()
    closed
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
        case None     => Read.Records(RecordLog.Slices.empty, Option.when(closedAt.isEmpty)(position), 0)
        case Some(at) =>
          val cut = cutFrom(at, math.min(maxRecords, scan.records), Quota.GetRecordsMaxBytes, now, horizon)
          if (limited) readBytes = readBytes.charge(cut.slices.bytes, now)
          Read.Records(cut.slices, Option.unless(cut.isEnd)(cut.next), cut.millisBehind)
      }
  }

  private def cutFrom(at: ReadPosition.AtOrdinal, maxRecords: Int, maxBytes: Int, now: Long, horizon: Long): Cut = {
    val from     = math.max(at.scannedTo, horizon)
    val end      = scan.end(from, now)
    val slices   = log.read(at.ordinal, maxRecords, maxBytes, end)
    val ordinal  = slices.lastOrdinal.fold(at.ordinal)(_ + 1)
    val upcoming = log.highestArrivalAt(ordinal)
    // Full before the end of what it may scan, or scanned to that end.
    val scannedTo =
      if (upcoming.exists(_ <= end)) slices.lastArrival.fold(from)(arrived => math.min(now, math.max(from, arrived)))
      else math.min(now, end)
    val more = upcoming.nonEmpty
    // More than zero while there is more, even if it arrived this very millisecond: zero means caught up.
    val behind =
      if (!more) now - scannedTo
      else math.max(1L, now - slices.lastArrival.filter(_ => upcoming.exists(_ <= end)).getOrElse(scannedTo))
    val isEnd = !more && closedAt.exists(_ <= end)
    Cut(slices, ReadPosition.AtOrdinal(ordinal, scannedTo), if (isEnd) 0 else behind, isEnd)
  }

  /** What a subscription would find at a position. */
  def ahead(position: ReadPosition, now: Long): Ahead = synchronized {
    resolve(position, now) match {
      case Some(at) if log.lastOrdinal.exists(_ >= at.ordinal)               => Ahead.Records
      case Some(at) if scan.end(at.scannedTo, now) < closedAt.getOrElse(now) => Ahead.Gap
      case _ if closedAt.nonEmpty                                            => Ahead.End
      case _                                                                 => Ahead.Nothing
    }
  }

  /** What a subscription is sent next. Subscriptions have a quota of their own: no limit on reads applies.
    *
    * Nothing is moved by asking, except that an event without records continues at a number that is given to it and to
    * no record, above all before and below all to come: so a position moves on an idle shard.
    */
  def event(position: ReadPosition, maxRecords: Int, maxBytes: Int, now: Long, horizon: Long): Event = synchronized {
    log.trimArrivedBefore(horizon)
    resolve(position, now).map(cutFrom(_, maxRecords, maxBytes, now, horizon)) match {
      case Some(cut) if cut.slices.count > 0 || cut.millisBehind > 0 =>
        val continuation = cut.slices.lastSequence.getOrElse(insideGap(cut.next))
        Event(cut.slices, continuation, cut.next, cut.millisBehind, last = false)
      case _ =>
        Event(RecordLog.Slices.empty, number(takeOrdinal(), now), position.atTip, 0, last = closedAt.nonEmpty)
    }
  }

  // Above the numbers of the records before the gap and below the next one's. It carries the time that was scanned to, so that
  // a subscription that begins there scans on from it.
  private def insideGap(at: ReadPosition.AtOrdinal): String =
    number(math.max(0, at.ordinal - 1), math.max(info.madeAtMillis, at.scannedTo))

  /** An event without records that moves nothing, though there is more to come.
    *
    * @param behind what it says of that, in ms
    */
  def emptyEvent(position: ReadPosition, behind: Long, now: Long): Event = synchronized {
    val before = resolve(position, now).fold(nextOrdinal)(_.ordinal) - 1
    Event(RecordLog.Slices.empty, number(math.max(0, before), now), position, behind, last = false)
  }

  /** Where an iterator that is asked for now begins; none if its quota is used up. */
  def positionOf(start: StartingPoint, now: Long): Option[ReadPosition] = synchronized {
    Option.when(takeIterator(now))(begin(start, now))
  }

  /** Where a subscription that is asked for now begins. */
  def begin(start: StartingPoint, now: Long): ReadPosition = synchronized {
    start match {
      case StartingPoint.TrimHorizon           => ReadPosition.AtOrdinal(0, historyBefore(info.madeAtMillis))
      case StartingPoint.Latest                => ReadPosition.AtOrdinal(nextOrdinal)
      case StartingPoint.AtOrdinal(o, arrived) => ReadPosition.AtOrdinal(o, historyBefore(arrived))
      case StartingPoint.AtTime(t)             =>
        resolve(ReadPosition.AtTime(t), now).fold[ReadPosition](ReadPosition.AtTime(t))(
          _.copy(scannedTo = historyBefore(math.max(info.madeAtMillis, t)))
        )
    }
  }

  private def historyBefore(time: Long): Long = time - behavior.emptyHistory.toMillis

  /** Whether a sequence number was given out by this shard, and by this stream rather than a deleted namesake. */
  def owns(number: SequenceNumber): Boolean =
    number.shardIndex == info.index && number.shardMadeAt == info.madeAtSecond && number.incarnation == incarnation

  def trimBelow(ordinal: Long): Unit = synchronized(log.trimBelow(ordinal))

  def recordCount: Long = synchronized(log.size)

  private def resolve(position: ReadPosition, now: Long): Option[ReadPosition.AtOrdinal] = position match {
    case at: ReadPosition.AtOrdinal => Some(at)
    case ReadPosition.AtTime(t)     =>
      log.firstArrivedFrom(t).orElse(Option.when(t <= now)(nextOrdinal)).map(ReadPosition.AtOrdinal(_))
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

  /** What one call finds in a shard.
    *
    * @param isEnd the shard is closed, and nothing more is in it
    */
  final private case class Cut(
      slices: RecordLog.Slices,
      next: ReadPosition.AtOrdinal,
      millisBehind: Long,
      isEnd: Boolean
  )

  /** What lies ahead of a subscription. */
  sealed trait Ahead
  object Ahead {
    case object Records extends Ahead
    case object Nothing extends Ahead

    /** No records, but more time than one call scans. */
    case object Gap extends Ahead

    /** The shard is closed, and there is nothing more in it. */
    case object End extends Ahead
  }

  /** One event of a subscription.
    *
    * @param continuation where to subscribe again after it
    * @param next where this subscription continues
    * @param last the shard is closed, and all of its records have been sent before
    */
  final case class Event(
      slices: RecordLog.Slices,
      continuation: String,
      next: ReadPosition,
      millisBehind: Long,
      last: Boolean
  )

  /** The five iterator types, with sequence numbers already turned into ordinals. */
  sealed trait StartingPoint
  object StartingPoint {
    case object TrimHorizon               extends StartingPoint
    case object Latest                    extends StartingPoint
    final case class AtTime(millis: Long) extends StartingPoint

    /** @param arrived when the record of that number came, in ms */
    final case class AtOrdinal(ordinal: Long, arrived: Long) extends StartingPoint
  }
}
