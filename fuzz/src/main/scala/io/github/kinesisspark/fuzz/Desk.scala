package io.github.kinesisspark.fuzz

import scala.collection.mutable
import scala.concurrent.duration._

import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.position.{SequenceNumber, ShardKey, ShardPosition, StreamArn}
import io.github.kinesisspark.read.reader.MemoryBudget
import io.github.kinesisspark.read.reader.RecordPublisher.{Delivery, Sink}
import io.github.kinesisspark.runtime.{Runtime, Timer, Worker}

/** Where a publisher works: all that it does runs here, one piece after the other, and what it puts off is only noted. When nothing
  * is left to do, it has delivered, failed, or set itself a time.
  */
final class Desk extends Worker with Sink {
  private val work = mutable.Queue.empty[Runnable]

  var delivered: Vector[Delivery]      = Vector.empty
  var failed: Vector[KinesisException] = Vector.empty
  private var putOff                   = Vector.empty[NotYetDue]

  val budget = new MemoryBudget(this)

  override val memory: MemoryBudget.Account = budget.join(64L << 20).account()

  override def deliver(delivery: Delivery): Unit   = delivered :+= delivery
  override def fail(cause: KinesisException): Unit = failed :+= cause

  /** Until nothing is left to do. */
  def run(): Unit = while (work.nonEmpty) work.dequeue().run()

  /** What can be said of every delivery: that its records are whole, in order, after `from`, and up to its position, which an
    * offset can store.
    */
  def checkDeliveries(from: ShardPosition): Unit = {
    val _ = delivered.foldLeft(from) { (before, delivery) =>
      val numbers = delivery.records.toVector.map { r =>
        Broken.unless(r.data != null)("a record without data")
        SequenceNumber
          .parse(r.sequenceNumber.text)
          .getOrElse(throw new Broken(s"a record's number ${r.sequenceNumber}"))
      }
      val after = before match {
        case ShardPosition.AfterSequenceNumber(n) => Some(n)
        case _                                    => None
      }
      val all = after ++: numbers
      Broken.unless(all.zip(all.drop(1)).forall { case (a, b) => a < b })(s"out of order: $all")
      val text = ShardPosition.encode(delivery.position)
      Broken.unless(ShardPosition.decode(text) == Right(delivery.position))(s"$text can't be stored")
      delivery.position
    }
  }

  override def execute(task: Runnable): Unit = work.enqueue(task): Unit

  override def schedule(nanos: Long)(work: => Unit): Timer = {
    val later = new NotYetDue(nanos.nanos)
    putOff :+= later
    later
  }

  override def every(pause: FiniteDuration)(work: => Unit): Timer =
    throw new UnsupportedOperationException("publishers don't ask for this")

  override def close(): Unit = ()

  /** Times that a publisher has set itself and still waits for. */
  def pending: Vector[FiniteDuration] = putOff.filterNot(_.isCancelled).map(_.after)
}

object Desk {
  implicit val runtime: Runtime = Runtime.ofJvm

  val shard: ShardKey =
    ShardKey(StreamArn("arn:aws:kinesis:eu-west-1:123456789012:stream/orders"), "shardId-000000000000")
}

/** A time that a publisher has set itself. */
final class NotYetDue(val after: FiniteDuration) extends Timer {
  var isCancelled = false

  override def cancel(): Unit = isCancelled = true
}
