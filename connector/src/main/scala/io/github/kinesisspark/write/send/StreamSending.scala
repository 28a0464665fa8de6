package io.github.kinesisspark.write.send

import java.util.concurrent.TimeUnit

import scala.annotation.tailrec
import scala.collection.immutable.Queue
import scala.concurrent.duration._

import io.github.kinesisspark.aws.{AwsCall, RetryDecision, RetryHistory, RetryPolicy}
import io.github.kinesisspark.config.CallRetries

/** The records for one stream, and when they are sent.
  *
  * A record is in one of four places: `fresh`, `behind` another of its key (where order is kept), waiting in a [[ShardThrottle]], or
  * under way in a call. It leaves only when the service takes it, or as a [[BadRecord]].
  *
  * A call is cut when it is full; before, only if there is nothing to wait for (`pressed`: the task has no more rows, or no room for
  * them), a throttle's turn has come, or all that waits for order waits for so few keys that no call gets full.
  *
  * @param policy of calls that failed as a whole
  * @param fresh  in the order of rows; throttled ones are parked when their turn comes
  * @param behind the keys that have a record in one of the other places, each with those that must come after; empty where no order
  *               is kept
  * @param pause  after a call that failed as a whole
  * @param calls  under way
  */
private[send] final case class StreamSending(
    ordered: Boolean,
    policy: RetryPolicy,
    limits: SizeLimits = SizeLimits(),
    fresh: SendQueue = SendQueue(),
    behind: Map[String, Queue[PendingRecord]] = Map.empty,
    behindCount: Int = 0,
    throttles: ShardThrottles = ShardThrottles(),
    pause: Pause = Pause.none,
    calls: Int = 0,
    lastCall: Long = 0
) {

  def add(entries: Vector[Entry]): StreamSending = {
    val records = entries.map(PendingRecord(_))
    if (ordered) records.foldLeft(this)(_.inOrder(_)) else copy(fresh = fresh :++ records)
  }

  private def inOrder(record: PendingRecord) = {
    val key = record.entry.partitionKey
    behind.get(key) match {
      case Some(others) =>
        copy(behind = behind.updated(key, others.enqueue(record)), behindCount = behindCount + 1)
      case None => copy(behind = behind.updated(key, Queue.empty)).enqueued(record)
    }
  }

  def isRipe(now: Long, pressed: Boolean): Boolean = pause.until <= now && {
    fresh.count >= SizeLimits.MaxRecords || fresh.bytes >= limits.callBytes || throttles.isDue(now) ||
    (!fresh.isEmpty && (pressed || fewKeys))
  }

  /** Whether enough waits for so many calls. */
  def isAhead(calls: Int): Boolean =
    fresh.count >= calls * SizeLimits.MaxRecords || fresh.bytes >= calls * limits.callBytes

  /** When a record becomes due, if no answer comes before. */
  def wakeAt(pressed: Boolean): Option[Long] = {
    val due = throttles.due ++ Option.when(!fresh.isEmpty && pressed)(pause.until)
    due.minOption.map(math.max(_, pause.until))
  }

  /** When records become due that aren't now, if no answer comes before. */
  def dueAfter(now: Long): Option[Long] =
    (throttles.due.map(_.max(pause.until)) ++ Option.when(!fresh.isEmpty)(pause.until)).filter(_ > now).minOption

  /** Whether a record of an earlier row than this one could be sent now, unless its shard's throttle holds it. */
  def holdsBefore(row: Long, now: Long): Boolean = pause.until <= now && fresh.exists(_.entry.row.row < row)

  /** So many records wait for others of their keys that no call would get full. */
  private def fewKeys = calls == 0 && behindCount >= SizeLimits.MaxRecords

  /** The next call, if there is one to make. For one that is ripe. */
  def cut(now: Long, pressed: Boolean): (StreamSending, Option[Batch]) = {
    val turns          = throttles.byShard.keysIterator.foldLeft(BatchBuilder(throttles, limits, now))(_.turnOf(_))
    val (filled, left) = fill(turns, fresh)
    val enough         = filled.isFull || filled.hasTurns || pressed || fewKeys
    val batch          = if (enough) filled.batch else None
    val after          = copy(
      fresh = if (enough) left else left.prepended(filled.records),
      throttles = if (enough) filled.departed else filled.throttles,
      calls = calls + batch.size
    )
    (after, batch)
  }

  @tailrec private def fill(builder: BatchBuilder, from: SendQueue): (BatchBuilder, SendQueue) =
    if (from.isEmpty) (builder, from)
    else if (!builder.hasThrottles) builder.filledFrom(from)
    else
      builder.offer(from.head) match {
        case Some(more) => fill(more, from.tail)
        case None       => (builder.full, from)
      }

  /** The service answered for each record.
    *
    * @param taken the records that are in the stream
    */
  def answered(
      call: Long,
      batch: Batch,
      answer: CallAnswer.PerRecord,
      taken: Vector[Entry],
      now: Long,
      chance: Double
  ): StreamSending = {
    val (next, freed) = throttles.answered(batch, answer, now, chance)
    val back          = copy(
      limits = taken.foldLeft(limits)((l, entry) => l.taken(entry.size)),
      throttles = next,
      pause = pause.afterSuccess(call),
      calls = calls - 1
    ).returned(freed)
    if (ordered) taken.foldLeft(back)((state, entry) => state.released(entry.partitionKey)) else back
  }

  /** The call failed as a whole: its records are sent again after a wait, unless the task fails. */
  def paused(
      call: Long,
      batch: Batch,
      failed: CallAnswer.Failed,
      now: Long,
      chance: Double
  ): (StreamSending, RetryDecision) = {
    val (next, decision) = pause.after(policy, call, lastCall, failed, now, chance)
    val state            = copy(throttles = throttles.recalled(batch), pause = next, calls = calls - 1)
    (state.returned(batch.records.map(_.refused(now))), decision)
  }

  /** The call was too large: its records are sent again in smaller ones. */
  def recut(batch: Batch, to: SizeLimits): StreamSending =
    copy(limits = to, throttles = throttles.recalled(batch), calls = calls - 1).returned(batch.records.map(_.retry))

  /** The call's only record will never be taken. */
  def rejected(call: Long, batch: Batch): StreamSending = {
    val rest = copy(throttles = throttles.recalled(batch), pause = pause.afterSuccess(call), calls = calls - 1)
    batch.entries.foldLeft(rest)((state, entry) => state.released(entry.partitionKey))
  }

  private def enqueued(record: PendingRecord) = copy(fresh = fresh :++ Vector(record))

  private def returned(records: Vector[PendingRecord]) = copy(fresh = fresh.prepended(records))

  /** The next record of the key may be sent. */
  private def released(key: String): StreamSending =
    behind.get(key).fold(this) { others =>
      others.dequeueOption match {
        case None               => copy(behind = behind - key)
        case Some((next, rest)) =>
          copy(behind = behind.updated(key, rest), behindCount = behindCount - 1).enqueued(next)
      }
    }
}

private[send] object StreamSending {

  /** Without the limit in time: that of a record's retries counts from its first refusal; see [[Sending]]. The service may not know a stream everywhere that
    * has just become ACTIVE.
    */
  def policyOf(retries: CallRetries): RetryPolicy =
    RetryPolicy.of(AwsCall.PutRecords, retries).copy(maxDuration = Duration.Inf).retryingNotFound
}

/** The wait after calls to a stream that failed as a whole.
  *
  * @param until     no call before it
  * @param history   of failures in a row; calls that were under way together count once
  * @param afterCall the last call before the first of them failed
  */
private[send] final case class Pause(until: Long, history: RetryHistory, afterCall: Long) {

  /** @param call     which has failed
    * @param lastCall which is under way
    */
  def after(
      policy: RetryPolicy,
      call: Long,
      lastCall: Long,
      failed: CallAnswer.Failed,
      now: Long,
      chance: Double
  ): (Pause, RetryDecision) = {
    val nanos    = TimeUnit.MILLISECONDS.toNanos(now)
    val together = call <= afterCall
    val before   = if (together) RetryHistory.none else history
    policy.decide(failed.fault, before, failed.hasWorked, nanos, chance) match {
      case retry @ RetryDecision.Retry(wait, more) =>
        (if (together) this else Pause(now + wait.toMillis, more, lastCall), retry)
      case end => (this, end)
    }
  }

  /** A call that was made before the first of them failed says nothing of what came after. */
  def afterSuccess(call: Long): Pause = if (call > afterCall) Pause.none else this

  def isWorrying: Boolean = history.failures >= Pause.Worrying
}

private[send] object Pause {
  val none: Pause = Pause(Long.MinValue, RetryHistory.none, 0)

  /** After some 10 seconds. */
  val Worrying: Int = 8
}

/** Records that wait in order, with their number and bytes known. They come in blocks, and stay in them: an object for each would be the
  * queue's largest cost.
  *
  * @param blocks none is empty
  * @param gone   records of the first block that have left
  */
private[send] final case class SendQueue(
    blocks: Queue[Vector[PendingRecord]] = Queue.empty,
    gone: Int = 0,
    count: Int = 0,
    bytes: Long = 0
) {
  def isEmpty: Boolean = count == 0

  def head: PendingRecord = blocks.head(gone)

  def exists(is: PendingRecord => Boolean): Boolean =
    blocks.headOption.exists(_.iterator.drop(gone).exists(is)) || blocks.iterator.drop(1).exists(_.exists(is))

  def tail: SendQueue = {
    val (left, past) = if (gone + 1 < blocks.head.size) (blocks, gone + 1) else (blocks.tail, 0)
    SendQueue(left, past, count - 1, bytes - head.entry.size)
  }

  def :++(more: Vector[PendingRecord]): SendQueue =
    if (more.isEmpty) this
    else copy(blocks = blocks :+ more, count = count + more.size, bytes = bytes + SendQueue.bytesOf(more))

  def prepended(before: Vector[PendingRecord]): SendQueue =
    if (before.isEmpty) this
    else
      SendQueue(
        before +: (if (gone == 0) blocks else blocks.head.drop(gone) +: blocks.tail),
        0,
        count + before.size,
        bytes + SendQueue.bytesOf(before)
      )
}

private[send] object SendQueue {

  /** A loop, because a fold boxes each sum. */
  private def bytesOf(records: Vector[PendingRecord]) = {
    var sum = 0L
    records.foreach(sum += _.entry.size)
    sum
  }
}
