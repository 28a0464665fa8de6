package io.github.kinesisspark.write.send

import scala.annotation.tailrec

/** Puts one call together: first the records whose shard's throttle lets them go, then fresh ones, within the limits of a call.
  *
  * @param records throttled ones and others
  * @param refused a record found no room
  */
private[send] final case class BatchBuilder(
    throttles: ShardThrottles,
    limits: SizeLimits,
    now: Long,
    records: Vector[PendingRecord] = Vector.empty,
    bytes: Long = 0,
    refused: Boolean = false
) {
  def hasTurns: Boolean = records.exists(_.throttle.nonEmpty)

  def full: BatchBuilder = copy(refused = true)

  def isFull: Boolean = refused || records.sizeIs >= SizeLimits.MaxRecords || bytes >= limits.callBytes

  /** As many of a throttle's records as its turn and the call have room for. */
  @tailrec def turnOf(shard: String): BatchBuilder = {
    val throttle = throttles.byShard(shard)
    throttle.waiting.headOption match {
      case Some(record) if throttle.isDue(now) && throttle.hasRoom && fits(record) =>
        withTurn(shard, _.copy(waiting = throttle.waiting.tail), record).turnOf(shard)
      case _ => this
    }
  }

  /** With a fresh record, or with it parked at its throttle; none if the call has no room. */
  def offer(record: PendingRecord): Option[BatchBuilder] = throttles.of(record.entry) match {
    case None        => Option.when(fits(record))(plus(record.via(None)))
    case Some(shard) =>
      val throttle = throttles.byShard(shard)
      if (throttle.isDue(now) && throttle.waiting.isEmpty && throttle.hasRoom)
        Option.when(fits(record))(withTurn(shard, identity, record))
      else Some(copy(throttles = throttles.parked(shard, record)))
  }

  def hasThrottles: Boolean = throttles.byShard.nonEmpty

  /** The first records of a call where no shard has a throttle: as many as there is room for, and what is left.
    *
    * @param queue not empty
    */
  def filledFrom(queue: SendQueue): (BatchBuilder, SendQueue) = {
    val builder = Vector.newBuilder[PendingRecord]
    val isProbe = limits.isProbe(queue.head.entry.size)
    var count   = 0
    var sum     = 0L
    var left    = queue.blocks
    var gone    = queue.gone
    var isFull  = false
    while (!isFull && left.nonEmpty) {
      val block = left.head
      while (!isFull && gone < block.size) {
        val record = block(gone)
        val size   = record.entry.size
        isFull = count > 0 && (isProbe || limits.isProbe(size) ||
          count >= SizeLimits.MaxRecords || sum + size > limits.callBytes)
        if (!isFull) {
          builder += record.via(None)
          sum += size
          count += 1
          gone += 1
        }
      }
      if (gone == block.size) {
        left = left.tail
        gone = 0
      }
    }
    val rest = SendQueue(left, gone, queue.count - count, queue.bytes - sum)
    (copy(records = builder.result(), bytes = sum, refused = refused || left.nonEmpty), rest)
  }

  def batch: Option[Batch] = Option.when(records.nonEmpty)(Batch(records, bytes))

  /** With the turns on their way. */
  def departed: ShardThrottles = throttles.copy(byShard = throttles.byShard.map { case (shard, throttle) =>
    shard -> throttle.depart(now)
  })

  private def fits(record: PendingRecord) = records.isEmpty || {
    val size = record.entry.size
    records.sizeIs < SizeLimits.MaxRecords && bytes + size <= limits.callBytes &&
    !limits.isProbe(size) && !limits.isProbe(records.head.entry.size)
  }

  private def withTurn(shard: String, change: ShardThrottle => ShardThrottle, record: PendingRecord) =
    copy(throttles = throttles.updated(shard, throttle => change(throttle).take(record))).plus(record.via(Some(shard)))

  private def plus(record: PendingRecord) = copy(records = records :+ record, bytes = bytes + record.entry.size)
}

/** The largest calls and records that the service takes, learned from its answers.
  *
  * A call may have 10 MiB with its keys; before 2025, and on servers that are like it was then, 5 MiB. A record may have 1 MiB
  * everywhere, and up to 10 MiB where the stream's MaxRecordSize says so. Neither is asked for, which would take permissions that
  * a writer needs for nothing else. A record larger than what the stream has been seen to take goes in a call by itself, so that a refusal concerns
  * no other.
  *
  * @param provenRecord a record of this size is known to be taken
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecords.html PutRecords]]
  */
final case class SizeLimits(callBytes: Long = SizeLimits.NewCall, provenRecord: Int = 1 << 20) {

  /** Whether the stream has yet to show that it takes such a record. */
  def isProbe(size: Int): Boolean = size > provenRecord

  def taken(size: Int): SizeLimits = if (isProbe(size)) copy(provenRecord = size) else this

  /** What is left to try after a call of so many bytes was found invalid. */
  def afterInvalid(bytes: Long): Option[SizeLimits] =
    Option.when(bytes > SizeLimits.OldCall)(copy(callBytes = SizeLimits.OldCall))
}

object SizeLimits {
  val MaxRecords: Int = 500

  private val NewCall = 10L << 20
  private val OldCall = 5L << 20
}
