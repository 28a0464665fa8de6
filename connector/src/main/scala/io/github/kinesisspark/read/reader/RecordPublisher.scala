package io.github.kinesisspark.read.reader

import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.position.{Shard, ShardKey, ShardPosition}

/** Brings the records of one shard, in order, each once, from a position on (FLIP-128's name). Whether by polling or by
  * enhanced fan-out, nothing behind it can see.
  *
  * It passes on what it must not hide and mends what it can: throttling, expired iterators and broken connections are its
  * own business, and it continues from the last position it delivered.
  *
  * @see [[https://cwiki.apache.org/confluence/display/FLINK/FLIP-128%3A+Enhanced+Fan+Out+for+AWS+Kinesis+Consumers FLIP-128]]
  */
trait RecordPublisher extends AutoCloseable {

  /** Asks for one more delivery: exactly one call of the sink answers, unless the publisher is closed first. Never
    * blocks. At most one request is outstanding.
    */
  def request(): Unit

  /** Says that the shard has an end, by the listing, wherever this publisher may be in it. Never blocks. */
  def shardIsClosed(): Unit = ()

  /** Ends it: no call of the sink begins after this. Never blocks. */
  def close(): Unit
}

object RecordPublisher {

  /** What failures of a publisher name: the shard, and the position after which its records could not be read. */
  private[reader] def place(shard: ShardKey, position: ShardPosition): String =
    s"$shard (position ${ShardPosition.encode(position)})"

  /** @param position     where this delivery ends; the shard's end with its last
    * @param millisBehind how far the position is behind the shard's newest record, in ms by the service's clock
    * @param totals       of the records. Their heap, of the memory budget, comes along: who drops the records gives it back
    * @param asOfNanos    what it says of the shard was so then, or later, by the clock of its process
    * @param children     at the shard's end, all its children, if the service names them
    */
  final case class Delivery(
      records: Array[KinesisRecord],
      totals: RecordTotals,
      position: ShardPosition,
      millisBehind: Long,
      asOfNanos: Long,
      children: Vector[Shard] = Vector.empty
  )

  /** Takes what a publisher brings, on a worker thread, one call at a time. */
  trait Sink {

    /** The service has begun to serve the shard, though there may be nothing to deliver yet. */
    def begun(): Unit = ()

    /** Where the publisher takes memory before it asks the service for records. */
    def memory: MemoryBudget.Account

    def deliver(delivery: Delivery): Unit

    /** The end of this publisher: what it can't mend. */
    def fail(cause: KinesisException): Unit
  }

  trait Factory {
    def open(shard: ShardKey, position: ShardPosition, sink: Sink): RecordPublisher
  }
}
