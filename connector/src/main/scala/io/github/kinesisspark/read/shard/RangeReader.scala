package io.github.kinesisspark.read.shard

import java.util.concurrent.LinkedBlockingQueue

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.{FaultClassifier, KinesisException}
import io.github.kinesisspark.position.{ShardPosition, ShardRange}
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, ShardEnd}
import io.github.kinesisspark.read.shard.RangeReader._
import io.github.kinesisspark.read.shard.RecordPublisher.{Delivery, Sink}

/** Reads exactly one range from Kinesis, for a task that found no buffer: after a restart, on another executor, or when
  * the records were dropped already.
  *
  * Blocks the task's own thread, one delivery ahead of it. The range ends with the record its end names, whatever has
  * been added to the stream since. A range whose last record is gone has lost records, which `failOnDataLoss` decides on.
  */
final class RangeReader(range: ShardRange, publishers: RecordPublisher.Factory, failOnDataLoss: Boolean)
    extends Iterator[KinesisRecord]
    with Sink
    with AutoCloseable {
  private val log       = LoggerFactory.getLogger(classOf[RangeReader])
  private val arrived   = new LinkedBlockingQueue[Either[KinesisException, Delivery]]
  private val publisher = publishers.open(range.shard, range.start, this)
  private var current   = Iterator.empty[KinesisRecord]
  private var state     = if (range.start == range.end) Finished else Reading
  private var read      = 0L

  if (state == Reading) publisher.request()

  override def hasNext: Boolean = {
    while (!current.hasNext && state == Reading) takeNext()
    current.hasNext
  }

  override def next(): KinesisRecord =
    if (hasNext) {
      read += 1
      current.next()
    } else throw new NoSuchElementException(s"the range of ${range.shard} is read")

  override def deliver(delivery: Delivery): Unit   = arrived.add(Right(delivery)): Unit
  override def fail(cause: KinesisException): Unit = arrived.add(Left(cause)): Unit
  override def close(): Unit                       = publisher.close()

  private def takeNext(): Unit = arrived.take() match {
    case Left(gone) if gone.errorClass == FaultClassifier.NotFound => lose(Some(gone))
    case Left(cause)                                               => throw cause
    case Right(delivery)                                           => accept(delivery)
  }

  private def accept(delivery: Delivery): Unit = {
    current = range.end match {
      case AfterSequenceNumber(last) => delivery.records.iterator.takeWhile(_.sequenceNumber <= last)
      case _                         => delivery.records.iterator
    }
    standing(delivery) match {
      case Before => publisher.request()
      case AtEnd  => finish()
      case Passed => lose(None)
    }
  }

  private def standing(delivery: Delivery): Standing = range.end match {
    case AfterSequenceNumber(last) =>
      val newest = delivery.records.lastOption.map(_.sequenceNumber)
      // Binary search is not worth it: at most one delivery of a range holds its end.
      if (newest.exists(_ >= last)) { if (delivery.records.exists(_.sequenceNumber == last)) AtEnd else Passed }
      else if (delivery.position == ShardEnd) Passed
      else if (delivery.records.isEmpty && delivery.millisBehind == 0) Passed
      else Before
    case _ => if (delivery.position == ShardEnd) AtEnd else Before
  }

  private def lose(cause: Option[KinesisException]): Unit = {
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
    finish()
  }

  private def finish(): Unit = {
    state = Finished
    close()
  }
}

object RangeReader {
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
