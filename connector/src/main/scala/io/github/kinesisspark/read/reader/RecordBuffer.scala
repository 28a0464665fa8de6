package io.github.kinesisspark.read.reader

import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, AtSequenceNumber, ShardEnd, Within}
import io.github.kinesisspark.position.{SequenceNumber, ShardPosition}
import io.github.kinesisspark.read.plan.{Boundaries, BoundarySpacing}

/** What a reader has read of a shard and nobody has committed yet: every record after `base`, up to and with `tip`.
  *
  * Immutable: a batch that drains a slice is not disturbed by what is dropped or added meanwhile. Records come in chunks,
  * one per answer of the service, and memory is given back by whole chunks.
  *
  * @param heap of all chunks of which anything is left
  */
final class RecordBuffer private (
    val base: ShardPosition,
    val tip: ShardPosition,
    chunks: Vector[RecordBuffer.Chunk],
    val records: Long,
    val bytes: Long,
    val heap: Long
) {
  import RecordBuffer._

  def ended: Boolean = tip == ShardEnd

  /** The number of its first record. */
  def first: Option[SequenceNumber] = chunks.headOption.map(_.first.sequenceNumber)

  /** When its first record arrived, in ms by the service's clock. */
  def oldestArrival: Option[Long] = chunks.headOption.map(_.first.arrivalMillis)

  /** The latest arrival in it, in ms by the service's clock: usually its last record's, but arrival times are approximate. */
  lazy val newestArrival: Option[Long] =
    chunks.iterator.flatMap(_.totals.newestArrival).maxOption

  /** With what one answer brought.
    *
    * @param totals   of these records
    * @param position where the answer ended: its last record, or further
    */
  def append(added: Array[KinesisRecord], totals: RecordTotals, position: ShardPosition): RecordBuffer =
    if (added.isEmpty) new RecordBuffer(base, position, chunks, records, bytes, heap)
    else {
      val chunk = Chunk(added, totals, 0, added.length)
      new RecordBuffer(
        base,
        position,
        chunks :+ chunk,
        records + chunk.length,
        bytes + totals.bytes,
        heap + totals.heap
      )
    }

  /** Without what comes before `position`, if this buffer reaches there. */
  def dropTo(position: ShardPosition): Option[RecordBuffer] =
    if (position == base) Some(this)
    else
      placeFrom(position).map { place =>
        val before  = chunks.take(place.chunk)
        val partial = if (place.record > 0) Some(chunks(place.chunk).slice(0, place.record)) else None
        new RecordBuffer(
          position,
          tip,
          slice(place, end),
          records - before.iterator.map(_.length.toLong).sum - place.record,
          bytes - before.iterator.map(_.totals.bytes).sum - partial.fold(0L)(_.totals.bytes),
          heap - before.iterator.map(_.answer.heap).sum
        )
      }

  /** The records of all answers of which anything is left. */
  private[reader] def answers: Iterator[Array[KinesisRecord]] = chunks.iterator.map(_.all)

  /** What one answer brought, the first that is held. */
  def head: Head = chunks match {
    case first +: rest if rest.nonEmpty => Head(first.iterator, AfterSequenceNumber(first.last.sequenceNumber))
    case _                              => Head(chunks.iterator.flatMap(_.iterator), tip)
  }

  /** The records of a range, in order, or nothing where the buffer does not hold all of it. */
  def slice(start: ShardPosition, end: ShardPosition): Option[Iterator[KinesisRecord]] =
    for {
      from  <- placeFrom(start)
      until <- placeTo(end)
      if !until.isBefore(from)
      own = slice(from, until)
      if start == end || hasEnds(own, start, end)
    } yield own.iterator.flatMap(_.iterator)

  private def hasEnds(own: Vector[Chunk], start: ShardPosition, end: ShardPosition) =
    RangeEnds.hasFirst(start, own.headOption.map(_.first.sequenceNumber)) &&
      RangeEnds.hasLast(end, own.lastOption.map(_.last.sequenceNumber))

  /** Where a batch from the base on can end. */
  def boundaries(spacing: BoundarySpacing): Boundaries =
    chunks.foldLeft(Boundaries.none(spacing))((before, chunk) =>
      before.add(new Packed(chunk.all), chunk.from, chunk.until)
    )

  /** Where what begins at `position` begins; nothing where it is not within this buffer. */
  private def placeFrom(position: ShardPosition): Option[Place] = position match {
    case Within(n, _) if position != base => placeOf(n)
    case _                                => placeTo(position)
  }

  /** Behind what ends at `position`: a record that is only in part before it is needed as well. */
  private def placeTo(position: ShardPosition): Option[Place] = position match {
    case `base`                 => Some(Place(0, 0))
    case `tip`                  => Some(end)
    case AfterSequenceNumber(n) => placeWhile(n)(_ <= n)
    case AtSequenceNumber(n)    => placeOf(n)
    case Within(n, _)           => placeWhile(n)(_ <= n)
    case _                      => None
  }

  private def end = Place(chunks.size, 0)

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

  /** The place of the record of this number, or of the next one where there is none. None where the buffer was dropped to behind that record. */
  private def placeOf(n: SequenceNumber) = if (base == AfterSequenceNumber(n)) None else placeWhile(n)(_ < n)

  private def placeWhile(n: SequenceNumber)(isBefore: SequenceNumber => Boolean): Option[Place] =
    if (!covers(n)) None
    else {
      val chunk = Boundaries.firstWhere(0, chunks.size)(i => !isBefore(chunks(i).last.sequenceNumber))
      Some(if (chunk == chunks.size) end else Place(chunk, chunks(chunk).countWhile(isBefore)))
    }

  private def slice(from: Place, until: Place): Vector[Chunk] = {
    def of(chunk: Int) = chunks(chunk).slice(
      if (chunk == from.chunk) from.record else 0,
      if (chunk == until.chunk) until.record else chunks(chunk).length
    )
    if (from.chunk == until.chunk) { if (from.record < until.record) Vector(of(from.chunk)) else Vector.empty }
    else {
      val last = if (until.record > 0) Vector(of(until.chunk)) else Vector.empty
      (of(from.chunk) +: chunks.slice(from.chunk + 1, until.chunk)) ++ last
    }
  }
}

object RecordBuffer {

  def at(position: ShardPosition): RecordBuffer = new RecordBuffer(position, position, Vector.empty, 0, 0, 0)

  /** @param until where it ends: with its last record, or further */
  final case class Head(records: Iterator[KinesisRecord], until: ShardPosition)

  /** The records of an answer. */
  final class Packed(records: Array[KinesisRecord]) extends Boundaries.Records {
    override def sequenceNumber(i: Int): SequenceNumber = records(i).sequenceNumber
    override def arrivalMillis(i: Int): Long            = records(i).arrivalMillis
    override def size(i: Int): Long                     = records(i).size
  }

  /** A record's place: how many are before it in its chunk. */
  private final case class Place(chunk: Int, record: Int) {
    def isBefore(other: Place): Boolean = chunk < other.chunk || (chunk == other.chunk && record < other.record)
  }

  /** A window on the records of one answer.
    *
    * @param answer totals of all of the answer, which stays on the heap while any of it is in the window
    */
  private final case class Chunk(all: Array[KinesisRecord], answer: RecordTotals, from: Int, until: Int) {
    def length: Int          = until - from
    def first: KinesisRecord = all(from)
    def last: KinesisRecord  = all(until - 1)

    /** Of the window. */
    lazy val totals: RecordTotals = if (length == all.length) answer else RecordTotals.of(all, from, until)

    def iterator: Iterator[KinesisRecord] = all.iterator.slice(from, until)

    def slice(start: Int, end: Int): Chunk =
      if (start <= 0 && end >= length) this else Chunk(all, answer, from + start, from + end)

    def countWhile(isBefore: SequenceNumber => Boolean): Int =
      Boundaries.firstWhere(from, until)(i => !isBefore(all(i).sequenceNumber)) - from
  }
}
