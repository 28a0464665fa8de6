package io.github.kinesisspark.write.send

import scala.collection.immutable.Queue
import scala.concurrent.duration._

import io.github.kinesisspark.aws.Backoff

/** The pace of one shard that has refused a record. Other shards have none.
  *
  * Records leave in turns, one at a time under way, and the next one after as long as the turn's records take at the throttle's share
  * of what a shard is known to take (1,000 records and 1 MiB a second). The share follows the answers:
  *
  * | answer to a turn | share | next turn |
  * |---|---|---|
  * | some refused | times the part that was taken, between 1/2 and 19/20, plus 1/50 | after a wait with full jitter as well |
  * | some refused for another reason | as before | after a wait with full jitter |
  * | all taken, the n-th time in a row | n/20 more | when the turn has paid for itself |
  * | the share has reached 8 | the throttle is removed | |
  *
  * It is AIMD in its signs, so that writers who share a shard come to share it evenly, but neither step is blind. A refusal shows how
  * much was too much, so that one record of 500 doesn't halve the pace; and it begins at the quota, which is where an additive increase would be after
  * minutes. The increase grows, because a shard that was throttled by others for a while must not be written to slowly for minutes after
  * (FLINK-31772). And what a refusal adds keeps the share from falling without end where the writer is not the reason for it.
  *
  * @param share    of the shard's quota
  * @param due      when the next turn may begin
  * @param clean    turns in a row without a refusal
  * @param refusals turns in a row of which nothing was taken
  * @param taking   what the turn that is put together costs, in seconds of the shard's quota
  */
final case class ShardThrottle(
    due: Long,
    waiting: Queue[PendingRecord] = Queue.empty,
    share: Double = 1.0,
    clean: Int = 0,
    refusals: Int = 0,
    taking: Double = 0,
    underWay: Boolean = false
) {
  import ShardThrottle._

  def isDue(now: Long): Boolean = !underWay && due <= now

  /** Whether the turn may have one more record; it always has one. */
  def hasRoom: Boolean = taking == 0 || taking < share * TurnMillis / 1000

  def take(record: PendingRecord): ShardThrottle = copy(taking = taking + cost(record.entry))

  def park(record: PendingRecord): ShardThrottle = copy(waiting = waiting.enqueue(record))

  /** Refused records are sent before the others. */
  def parkFirst(records: Seq[PendingRecord]): ShardThrottle = copy(waiting = records ++: waiting)

  /** The turn is sent, if it has any records. */
  def depart(now: Long): ShardThrottle =
    if (taking == 0) this
    else copy(taking = 0, underWay = true, due = onGrid(now + (taking / share * 1000).toLong))

  /** The call failed as a whole, which says nothing of the shard. */
  def recalled: ShardThrottle = copy(underWay = false)

  /** The turn is answered.
    *
    * @param taken   as [[ShardThrottle.cost]]
    * @param refused by the shard's limits, as [[ShardThrottle.cost]]
    * @param isClean nothing was refused, for whatever reason
    */
  def returned(taken: Double, refused: Double, isClean: Boolean): ShardThrottle =
    if (isClean) copy(underWay = false, share = share + Step * (clean + 1), clean = clean + 1, refusals = 0)
    else if (refused == 0) copy(underWay = false, clean = 0)
    else {
      val part = math.min(GentlestCut, math.max(HardestCut, taken / (taken + refused)))
      copy(underWay = false, share = share * part + Floor, clean = 0)
    }

  /** The shard has refused records just now.
    *
    * @param some whether it has taken others: then it only waits as after the first refusal
    */
  def backOff(some: Boolean, now: Long, chance: Double): ShardThrottle = {
    val inRow = if (some) 1 else refusals + 1
    copy(refusals = inRow, due = math.max(due, onGrid(now + RefusalBackoff.delay(inRow, chance).toMillis)))
  }

  def isFree: Boolean = share >= FreeShare

  /** It has had no record for a while. */
  def isIdle(now: Long): Boolean = waiting.isEmpty && !underWay && due + IdleMillis < now
}

object ShardThrottle {

  /** What a record takes of a shard's quota, in seconds. */
  def cost(entry: Entry): Double = math.max(entry.size / BytesPerSecond, 1 / RecordsPerSecond)

  private val BytesPerSecond   = 1048576.0
  private val RecordsPerSecond = 1000.0

  // Long enough that turns have many records, short enough that the shard isn't hit with a second's worth at once.
  private val TurnMillis = 250
  // Throttles that are due together share a call.
  private val GridMillis = 50

  /** On top of the shard's pace. */
  private val RefusalBackoff = Backoff(100.millis, 5.seconds)

  private val Step        = 0.05
  private val HardestCut  = 0.5
  private val GentlestCut = 0.95
  private val Floor       = 0.02
  private val FreeShare   = 8.0
  private val IdleMillis  = 10000L

  private def onGrid(at: Long) = (at + GridMillis - 1) / GridMillis * GridMillis
}
