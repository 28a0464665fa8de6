package io.github.kinesisspark.read.reader

import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, AtSequenceNumber, ShardEnd, Within}
import io.github.kinesisspark.position.{SequenceNumber, ShardPosition}
import io.github.kinesisspark.read.plan.Admission.Allotment
import io.github.kinesisspark.read.plan.BatchEnds

/** What a reader has read of a shard and nobody has committed yet: every record after `base`, up to and with `tip`.
  *
  * Immutable: a batch that drains a slice is not disturbed by what is dropped or added meanwhile. Records come in chunks,
  * one per answer of the service, and memory is given back by whole chunks.
  */
final class RecordBuffer private (
    val base: ShardPosition,
    val tip: ShardPosition,
    chunks: Vector[RecordBuffer.Chunk]
) {
  import RecordBuffer._

  val records: Int   = chunks.iterator.map(_.length).sum
  val bytes: Long    = chunks.iterator.map(_.bytes).sum
  def heap: Long     = chunks.iterator.map(_.heap).sum
  def ended: Boolean = tip == ShardEnd

  /** When its first record arrived, in ms by the service's clock. */
  def oldestArrival: Option[Long] = chunks.headOption.map(_.first.arrivalMillis)

  /** The latest arrival in it, in ms by the service's clock: usually its last record's, but arrival times are approximate. */
  def newestArrival: Option[Long] = chunks.iterator.map(_.newestArrival).maxOption

  /** With what one answer brought. `position` is where the answer ended: its last record, or further. */
  def append(added: Array[KinesisRecord], position: ShardPosition): RecordBuffer =
    new RecordBuffer(base, position, if (added.isEmpty) chunks else chunks :+ Chunk(added, 0, added.length))

  /** Without what comes before `position`, if this buffer reaches there. */
  def dropTo(position: ShardPosition): Option[RecordBuffer] =
    if (position == base) Some(this)
    else indexFrom(position).map(index => new RecordBuffer(position, tip, slice(index, records)))

  /** What one answer brought, the first that is held. */
  def head: Head = chunks match {
    case first +: rest if rest.nonEmpty => Head(first.iterator, AfterSequenceNumber(first.last.sequenceNumber))
    case _                              => Head(chunks.iterator.flatMap(_.iterator), tip)
  }

  /** The records of a range, in order, or nothing where the buffer does not hold all of it. */
  def slice(start: ShardPosition, end: ShardPosition): Option[Iterator[KinesisRecord]] =
    for {
      from  <- indexFrom(start)
      until <- indexTo(end)
      if from <= until
    } yield slice(from, until).iterator.flatMap(_.iterator)

  /** The longest prefix that an allotment allows; all of it where it fits. */
  def cut(most: Allotment): Cut = {
    var taken                  = 0L
    var size                   = 0L
    var last                   = Option.empty[KinesisRecord]
    val all                    = chunks.iterator.flatMap(_.iterator)
    var next                   = all.nextOption()
    var newest                 = Option.empty[Long]
    def fits(r: KinesisRecord) =
      taken < most.maxRecords && size + r.size <= most.maxBytes && r.arrivalMillis <= most.maxArrival
    while (next.exists(fits)) {
      taken += 1
      size += next.get.size
      last = next
      newest = (newest ++ next.map(_.arrivalMillis)).maxOption
      next = all.nextOption()
    }
    val position = if (next.isEmpty) tip else last.fold(base)(r => AfterSequenceNumber(r.sequenceNumber))
    Cut(position, taken, size, newest, nextArrival = next.map(r => (newest ++ Some(r.arrivalMillis)).max))
  }

  /** Where to cut a range into at most `parts` of about the same bytes: the ends of all of them but the last, each of them a
    * record. Nothing where the buffer does not hold all of the range.
    */
  def split(start: ShardPosition, end: ShardPosition, parts: Int): Option[Vector[ShardPosition]] =
    for {
      from  <- indexFrom(start)
      until <- indexTo(end)
      if from <= until
    } yield {
      val held  = slice(from, until)
      val total = held.iterator.map(_.bytes).sum
      var seen  = 0L
      var ends  = Vector.empty[ShardPosition]
      held.iterator.flatMap(_.iterator).take(until - from - 1).foreach { record =>
        seen += record.size
        if (ends.size < parts - 1 && seen >= total * (ends.size + 1) / parts)
          ends = ends :+ AfterSequenceNumber(record.sequenceNumber)
      }
      ends
    }

  /** How many records lie between the base and what begins at `position`; nothing where it is not within this buffer. */
  private def indexFrom(position: ShardPosition): Option[Int] = position match {
    case Within(n, _) if position != base => Option.when(covers(n))(countWhile(_ < n))
    case _                                => indexTo(position)
  }

  /** The same of what ends at `position`: a record that is only in part before it is needed as well. */
  private def indexTo(position: ShardPosition): Option[Int] = position match {
    case `base`                 => Some(0)
    case `tip`                  => Some(records)
    case AfterSequenceNumber(n) => Option.when(covers(n))(countWhile(_ <= n))
    case AtSequenceNumber(n)    => Option.when(covers(n))(countWhile(_ < n))
    case Within(n, _)           => Option.when(covers(n))(countWhile(_ <= n))
    case _                      => None
  }

  private def covers(n: SequenceNumber): Boolean = {
    val notBefore = base match {
      case AfterSequenceNumber(b) => n >= b
      case Within(b, _)           => n >= b
      case _                      => chunks.headOption.exists(n >= _.first.sequenceNumber)
    }
    val notBeyond = tip match {
      case AfterSequenceNumber(t) => n <= t
      case _                      => chunks.lastOption.exists(n <= _.last.sequenceNumber)
    }
    notBefore && notBeyond
  }

  private def countWhile(isBefore: SequenceNumber => Boolean): Int = {
    val (whole, rest) = chunks.span(c => isBefore(c.last.sequenceNumber))
    whole.iterator.map(_.length).sum + rest.headOption.fold(0)(_.countWhile(isBefore))
  }

  private def slice(from: Int, until: Int): Vector[Chunk] = {
    val starts = chunks.scanLeft(0)(_ + _.length)
    chunks
      .zip(starts)
      .map { case (chunk, start) => chunk.slice(from - start, until - start) }
      .filter(_.length > 0)
  }
}

object RecordBuffer {

  def at(position: ShardPosition): RecordBuffer = new RecordBuffer(position, position, Vector.empty)

  /** @param until where it ends: with its last record, or further */
  final case class Head(records: Iterator[KinesisRecord], until: ShardPosition)

  /** @param position    where it ends
    * @param nextArrival never before `newestArrival`, though the next record's own arrival may be
    */
  final case class Cut(
      position: ShardPosition,
      records: Long,
      bytes: Long,
      newestArrival: Option[Long],
      nextArrival: Option[Long]
  ) extends BatchEnds.Part

  /** A window on the records of one answer. */
  private final case class Chunk(all: Array[KinesisRecord], from: Int, until: Int) {
    def length: Int          = until - from
    def first: KinesisRecord = all(from)
    def last: KinesisRecord  = all(until - 1)
    lazy val bytes: Long     = iterator.map(_.size).sum

    lazy val newestArrival: Long = iterator.map(_.arrivalMillis).max

    // The whole answer stays on the heap while any of it is in the window.
    lazy val heap: Long                   = all.iterator.map(_.heapSize).sum
    def iterator: Iterator[KinesisRecord] = all.iterator.slice(from, until)

    def slice(start: Int, end: Int): Chunk =
      if (start <= 0 && end >= length) this
      else Chunk(all, from + math.min(length, math.max(0, start)), from + math.max(0, math.min(length, end)))

    def countWhile(isBefore: SequenceNumber => Boolean): Int = {
      var low  = from
      var high = until
      while (low < high) {
        val middle = (low + high) >>> 1
        if (isBefore(all(middle).sequenceNumber)) low = middle + 1 else high = middle
      }
      low - from
    }
  }
}
