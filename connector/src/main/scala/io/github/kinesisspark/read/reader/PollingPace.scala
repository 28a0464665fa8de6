package io.github.kinesisspark.read.reader

import scala.concurrent.duration._

/** When the next GetRecords of a shard is due, given how the last ones went.
  *
  * The service takes 5 calls a second per shard, from all its pollers together. While there is something to read, all calls that are
  * allowed are used. A shard that stays empty is asked less and less often, so that a record waits for about a quarter of the time that
  * nothing has come. After a refusal or a failure, [[io.github.kinesisspark.aws.RetryPolicy]] says how long to wait.
  *
  * A shard of AWS gives 2 MiB a second: after an answer of 10 MiB the service refuses the calls of the next 5 s. So a call waits for as long as the
  * last answer's bytes take at that rate, instead of being refused. A local server may have no such limit: until it has refused a call, an answer of
  * more bytes is followed by the next call at once, and the one after the refusal waits for these bytes. Where `callsPerSecond` leaves calls to
  * others, no call comes at once, and others get the same share of the bytes. Otherwise the service would refuse their calls while this reader catches up.
  *
  * @param busy     the least interval
  * @param interval from the start of one call to the start of the next
  * @param quiet    for how long nothing has come
  * @param atQuota  for how long the bytes of the last answer take at this reader's share of the limit
  * @param metered  the service has the limit of bytes: it is AWS, or has refused a call
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetRecords.html GetRecords, limits]]
  */
final case class PollingPace private (
    busy: FiniteDuration,
    interval: FiniteDuration,
    quiet: FiniteDuration,
    atQuota: FiniteDuration,
    metered: Boolean
) {
  import PollingPace._

  /** @param bytes  of data and keys in the answer
    * @param behind the service says there is more to come
    */
  def afterRecords(bytes: Long, behind: Boolean): PollingPace = {
    val taken = (bytes * QuotaMillis / BytesPerSecond).millis * busy.toNanos / LeastInterval.toNanos
    val next  =
      if (metered) busy.max(taken)
      else if (behind && takesAllCalls && taken > busy) Duration.Zero
      else busy
    copy(interval = next, quiet = Duration.Zero, atQuota = taken)
  }

  private def takesAllCalls = busy == LeastInterval

  /** @param behind  the service says there is more to come, though this answer was empty
    * @param readers that share the executor's cores
    */
  def afterEmpty(behind: Boolean, readers: Int): PollingPace =
    if (behind) copy(interval = busy, quiet = Duration.Zero)
    else {
      val longer = quiet + interval
      copy(interval = (longer / 4).min(idle(readers)).max(busy), quiet = longer)
    }

  /** @param wait before the next attempt */
  def afterFailure(wait: FiniteDuration): PollingPace = copy(interval = busy + wait)

  /** After a throttled call. The first time, the reason may be the limit of bytes a second: the next call then also waits for the last answer's bytes.
    *
    * @param wait before the next attempt
    */
  def afterThrottling(wait: FiniteDuration): PollingPace = {
    val failed = afterFailure(wait)
    if (metered) failed else failed.copy(interval = failed.interval.max(atQuota), metered = true)
  }
}

object PollingPace {

  /** Of one shard, for all its pollers. */
  private[kinesisspark] val BytesPerSecond = 2L << 20

  /** Of one shard, for all its pollers. */
  private[kinesisspark] val MostCallsPerSecond = 5

  /** How long the bytes take that a shard gives in a second. It is a little more than a second: a call that gets to the service faster than the one
    * before must not come too early.
    */
  private val QuotaMillis = 1020

  /** The least and the greatest interval of a shard that has had nothing for a while. */
  private[kinesisspark] val Idle       = 1.second
  private[kinesisspark] val IdleOfMany = 5.seconds

  /** Of the interval for each reader in an executor. Their calls, which cost about three quarters of a millisecond of a core each, then come to 250
    * a second.
    */
  private val IdleOfEach = 4.millis

  /** How often a shard is asked that has had nothing for a while. */
  def idle(readers: Int): FiniteDuration = (IdleOfEach * readers.toLong).max(Idle).min(IdleOfMany)

  /** The number of readers in an executor from which on it is longer than this. */
  private[kinesisspark] def readersAt(idle: FiniteDuration): Long = idle.toMillis / IdleOfEach.toMillis

  /** @param callsPerSecond the most; in fact a little less, because the service counts by its clock, not ours
    * @param isAws          whether AWS is called, and no other server
    */
  def of(callsPerSecond: Int, isAws: Boolean): PollingPace = {
    val busy = leastInterval(callsPerSecond)
    PollingPace(busy, busy, quiet = Duration.Zero, atQuota = Duration.Zero, metered = isAws)
  }

  private def leastInterval(callsPerSecond: Int) = 1050.millis / callsPerSecond.toLong

  /** Where no calls are left to others. */
  private val LeastInterval = leastInterval(MostCallsPerSecond)
}
