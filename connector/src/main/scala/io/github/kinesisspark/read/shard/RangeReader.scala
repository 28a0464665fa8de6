package io.github.kinesisspark.read.shard

import java.util.concurrent.LinkedBlockingQueue

import scala.concurrent.duration.FiniteDuration

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.{FailureReason, KinesisException}
import io.github.kinesisspark.position.{SequenceNumber, ShardPosition, ShardRange}
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, AtSequenceNumber, ShardEnd, Within}
import io.github.kinesisspark.read.shard.RangeReader._
import io.github.kinesisspark.read.shard.RecordPublisher.{Delivery, Sink}

/** Reads exactly one range from Kinesis, for a task that found no buffer: after a restart, on another executor, or when
  * the records were dropped already.
  *
  * Blocks the task's own thread, one delivery ahead of it. The range ends with (or before) the record its end names, whatever has
  * been added to the stream since. A range whose first or last record is gone has lost records, which `failOnDataLoss` decides on.
  *
  * @param polling    decides what is there and what is gone
  * @param preferably how to read instead, as long as that brings records
  * @param doubtAfter how long a shard must have nothing more before records that were planned count as gone
  */
final class RangeReader(
    range: ShardRange,
    polling: RecordPublisher.Factory,
    failOnDataLoss: Boolean,
    preferably: Option[RecordPublisher.Factory] = None,
    doubtAfter: FiniteDuration = ShardReader.DoubtAfter
) extends Iterator[KinesisRecord]
    with AutoCloseable {
  private val log     = LoggerFactory.getLogger(classOf[RangeReader])
  private var source  = new Source(preferably.getOrElse(polling), isPolling = preferably.isEmpty, range.start)
  private var current = Iterator.empty[KinesisRecord]
  private var state   = if (range.start == range.end) Finished else Reading
  private var read    = 0L
  private var begun   = false

  if (state == Reading) source.publisher.request()

  override def hasNext: Boolean = {
    while (!current.hasNext && state == Reading) takeNext()
    current.hasNext
  }

  override def next(): KinesisRecord =
    if (hasNext) {
      read += 1
      current.next()
    } else throw new NoSuchElementException(s"the range of ${range.shard} is read")

  override def close(): Unit = source.publisher.close()

  private def takeNext(): Unit = source.arrived.take() match {
    case Left(cause) if !source.isPolling && MayBeGone(cause.reason) => poll(cause.getMessage)
    case Left(gone) if gone.reason == FailureReason.NotFound         => lose(Some(gone))
    case Left(cause)                                                 => throw cause
    case Right(delivery)                                             => accept(delivery)
  }

  private def accept(delivery: Delivery): Unit = {
    checkBeginning(delivery)
    source.position = delivery.position
    source.silence = if (delivery.records.isEmpty) source.silence + 1 else 0
    source.emptySince = Option.when(delivery.records.isEmpty)(source.emptySince.getOrElse(System.nanoTime()))
    current = range.end match {
      case AfterSequenceNumber(last) => delivery.records.iterator.takeWhile(_.sequenceNumber <= last)
      case Within(last, _)           => delivery.records.iterator.takeWhile(_.sequenceNumber <= last)
      case AtSequenceNumber(next)    => delivery.records.iterator.takeWhile(_.sequenceNumber < next)
      case _                         => delivery.records.iterator
    }
    standing(delivery) match {
      case Before if !source.isPolling && source.silence > PatienceWithSilence => poll("it brings no records")
      case Before                                                              => source.publisher.request()
      case AtEnd                                                               => finish()
      case Passed                                                              => lose(None)
    }
  }

  /** A range that begins with a record must bring it. */
  private def checkBeginning(delivery: Delivery): Unit = if (!begun) delivery.records.headOption.foreach { first =>
    begun = true
    range.start match {
      case AtSequenceNumber(n) if first.sequenceNumber != n => report(None)
      case Within(n, _) if first.sequenceNumber != n        => report(None)
      case _                                                => ()
    }
  }

  private def standing(delivery: Delivery): Standing = range.end match {
    case AfterSequenceNumber(last) => standing(delivery, last)
    case Within(last, _)           => standing(delivery, last)
    case AtSequenceNumber(next)    => standing(delivery, next)
    case _                         => if (delivery.position == ShardEnd) AtEnd else Before
  }

  private def standing(delivery: Delivery, end: SequenceNumber): Standing = {
    val newest = delivery.records.lastOption.map(_.sequenceNumber)
    // Binary search is not worth it: at most one delivery of a range holds its end.
    if (newest.exists(_ >= end)) { if (delivery.records.exists(_.sequenceNumber == end)) AtEnd else Passed }
    else if (delivery.position == ShardEnd) Passed
    // Events of a subscription without records tell less than answers of GetRecords.
    else if (source.isPolling && delivery.millisBehind == 0 && isEmptyForLong) Passed
    else Before
  }

  /** One answer without records that says nothing more is there is no reason to doubt that the range has any; several are. */
  private def isEmptyForLong =
    source.emptySince.exists(since => System.nanoTime() - since >= doubtAfter.toNanos)

  private def poll(why: String): Unit = {
    log.warn("{} is read on by polling: {}", range.shard, why)
    source.publisher.close()
    source = new Source(polling, isPolling = true, source.position)
    source.publisher.request()
  }

  private def lose(cause: Option[KinesisException]): Unit = {
    report(cause)
    finish()
  }

  private def report(cause: Option[KinesisException]): Unit = {
    val what = s"Records of ${range.shard} between ${ShardPosition.encode(range.start)} and " +
      s"${ShardPosition.encode(range.end)} were planned into a batch and are no longer in the stream"
    if (failOnDataLoss)
      throw new KinesisException(
        DataLoss.ErrorClass,
        s"$what: they are past its retention, or the stream was created anew. Set failOnDataLoss to false to go on " +
          "without them, and raise the stream's retention.",
        cause.orNull
      )
    log.warn("{}; going on, as failOnDataLoss is false. {} records of the range were read.", what, read)
  }

  private def finish(): Unit = {
    state = Finished
    close()
  }

  /** One way of reading, and what has come of it. */
  private final class Source(publishers: RecordPublisher.Factory, val isPolling: Boolean, var position: ShardPosition)
      extends Sink {
    val arrived    = new LinkedBlockingQueue[Either[KinesisException, Delivery]]
    var silence    = 0
    var emptySince = Option.empty[Long]
    val publisher  = publishers.open(range.shard, position, this)
    if (range.end == ShardEnd) publisher.shardIsClosed()

    override def deliver(delivery: Delivery): Unit   = arrived.add(Right(delivery)): Unit
    override def fail(cause: KinesisException): Unit = arrived.add(Left(cause)): Unit
  }
}

object RangeReader {

  /** What may be about the consumer, and not the shard: it is gone, or somebody else reads through it. */
  private val MayBeGone = Set[FailureReason](FailureReason.NotFound, FailureReason.ConsumerTaken)

  /** Deliveries without records, about five seconds each on a shard that has none to come. */
  private val PatienceWithSilence = 3

  private sealed trait State
  private case object Reading  extends State
  private case object Finished extends State

  /** Where a delivery ends, seen from the range's end. */
  private sealed trait Standing
  private case object Before extends Standing
  private case object AtEnd  extends Standing

  /** Beyond it, without the record that the range ends with. */
  private case object Passed extends Standing
}
