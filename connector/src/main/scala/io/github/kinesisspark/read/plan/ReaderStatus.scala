package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

import io.github.kinesisspark.aws.{FailureReason, KinesisException}
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, AtSequenceNumber}
import io.github.kinesisspark.position.{SequenceNumber, Shard, ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.Admission.Allotment

/** How far a reader has read beyond the batch's start: its report to the driver.
  *
  * @param base              where what it holds begins
  * @param first             the first record that it holds, where `base` is a time
  * @param position          where it ends
  * @param boundaries        where a batch can end within it; none where it is not cut
  * @param records           after the start, up to `position`
  * @param bytes             of data and keys
  * @param heap              what these records take of `room`
  * @param room              bytes that its reader may hold
  * @param isFull            its reader stands still for lack of room, its own or that of all readers
  * @param oldestArrival     of the first record, in ms by the service's clock
  * @param newestArrival     the latest of all records, in ms by the service's clock
  * @param reached           what arrived before it is read; in ms by the service's clock, nothing before the first record
  * @param density           of what it has read lately
  * @param starved           it has nothing, and can't read before others give memory back
  * @param isComplete        nothing more is to be read: `position` is the shard's end, or where its reader had to stop
  * @param millisBehind      how far `position` is behind the newest record of the shard; nothing before the first answer
  * @param millisSinceAnswer how long ago that was so
  * @param openingMillis     how long its first answer is awaited, if it is still to come
  * @param isOnItsWay        to where it has to stop: one answer that there is nothing more doesn't count
  * @param children          of a shard that is read to its end, if the service named them
  */
final case class ReaderStatus(
    shard: ShardKey,
    base: ShardPosition,
    first: Option[SequenceNumber],
    position: ShardPosition,
    boundaries: Boundaries,
    records: Long,
    bytes: Long,
    heap: Long,
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
    openingMillis: Option[Long],
    isOnItsWay: Boolean,
    failure: Option[ReaderFailure],
    children: Vector[Shard]
) {

  /** The same after some time. */
  def later(millis: Long): ReaderStatus =
    copy(millisSinceAnswer = millisSinceAnswer.map(_ + millis), openingMillis = openingMillis.map(_ + millis))

  /** Where what it holds begins, as exactly as it is known. */
  def start: ShardPosition = first.fold(base)(AtSequenceNumber(_))

  /** Something to plan, or to fail with. */
  def hasNews: Boolean = failure.isDefined || hasMoved

  def hasMoved: Boolean = position != base

  /** There is more to read, as far as it is known. */
  def isBehind: Boolean = !isComplete && !isAtTip

  /** The last answer of the service had nothing more. */
  private def isAtTip = millisBehind.contains(0L)

  /** Whether the service has answered it, or has had the time for it. */
  def isOpened: Boolean = openingMillis.forall(_ > ReaderStatus.OpeningPatience.toMillis)

  /** Whether an answer that was asked for within that time says that nothing more is there. A reader that has something, or is at its end, has settled
    * as well, and so has one without a stop that waits for memory that others hold: they give it back only when they are planned.
    */
  def isSettled(withinMillis: Long, hasStop: Boolean): Boolean = hasNews || isComplete ||
    (isAtTip && millisSinceAnswer.exists(_ < withinMillis) && !isOnItsWay) || (starved && !hasStop)

  /** The record that its reader had to stop at is gone, with all before it. */
  def hasLostStop: Boolean = !hasNews && !isComplete && isAtTip && !isOnItsWay

  /** There is more than its reader can hold, or more than arrives between two triggers. */
  def outlasts(interval: FiniteDuration): Boolean =
    failure.isEmpty && !isComplete && (isFull || starved || millisBehind.exists(_ > interval.toMillis))

  /** All of it as a batch's part. */
  def all: CutPoint = CutPoint(position, records, bytes, newestArrival, nextArrival = None)

  /** The longest prefix within an allotment that ends at a boundary; all of it where it fits. */
  def cut(most: Allotment): CutPoint = {
    val ends   = boundaries.all
    val within = boundaries.countWhile(b =>
      b.records <= most.maxRecords && b.bytes <= most.maxBytes && b.newest <= most.maxArrival
    )
    if (within == ends.size) all
    else if (within == 0) CutPoint(base, 0, 0, None, Some(ends.head.oldest))
    else {
      val last = ends(within - 1)
      val next = last.newest.max(ends(within).oldest)
      CutPoint(AfterSequenceNumber(last.last), last.records, last.bytes, Some(last.newest), Some(next))
    }
  }

  /** Up to when all that arrived is read after a batch that takes this part; in ms by the service's clock, as far as it is known.
    *
    * @param ago that clock, so many ms ago
    */
  def completeTo(part: CutPoint, ago: Long => Long): Option[Long] = {
    // Where it had to stop, the answer may have had more.
    val isAll = part.position == position && !isComplete
    val asked = for {
      behind <- millisBehind if isAll
      since  <- millisSinceAnswer
    } yield ago(since) - behind
    (asked ++ part.newestArrival).maxOption
  }
}

object ReaderStatus {

  /** How long the first answer of one may hold up what others have already. */
  private val OpeningPatience = 2.seconds
}

/** What a batch takes of one shard: a prefix of what its reader holds.
  *
  * @param position      where it ends
  * @param bytes         of data and keys
  * @param newestArrival the latest in it, in ms by the service's clock
  * @param nextArrival   the earliest to come in what is held and not taken; never before `newestArrival`, though the next record's own arrival may be
  */
final case class CutPoint(
    position: ShardPosition,
    records: Long,
    bytes: Long,
    newestArrival: Option[Long],
    nextArrival: Option[Long]
)

/** Why a reader ended, without the exception itself, which may not survive the way from an executor to the driver. */
final case class ReaderFailure(reason: FailureReason, errorClass: String, message: String) {
  def exception: KinesisException = new KinesisException(errorClass, message, reason = reason)
}

object ReaderFailure {
  def apply(cause: KinesisException): ReaderFailure =
    ReaderFailure(cause.reason, cause.errorClass, cause.bareMessage)
}
