package io.github.kinesisspark.read.reader

import scala.concurrent.duration._

/** When the next GetRecords of a shard is due, given how the last ones went.
  *
  * The service takes 5 calls a second per shard, from all its pollers together. While there is something to read, all calls that are
  * allowed are used. A shard that stays empty is asked less and less often, so that a record waits for about a quarter of the time that
  * nothing has come. After a refusal or a failure, [[io.github.kinesisspark.aws.RetryPolicy]] says how long to wait.
  *
  * A shard of AWS gives 2 MiB a second: after an answer of 10 MiB the service refuses the calls of the next 5 s, whoever makes them. So a call waits for
  * as long as the last answer's bytes take at that rate, and asks for no more than a second gives, that the service may answer others in between. A local
  * server may have no such limit: until it has refused a call, an answer of more bytes is followed by the next call at once. Where `callsPerSecond` leaves
  * calls to others, no call comes at once, and others get the same share of the bytes. Otherwise the service would refuse their calls while this reader
  * catches up.
  *
  * This reader keeps to the limits. So a shard that refuses two of its calls within a minute has other pollers, unless one answer's bytes explain both.
  * For the next minute a tenth of the bytes is left to these, at the default `callsPerSecond`: that costs less than refused calls.
  *
  * @param busy     the least interval
  * @param interval from the start of one call to the start of the next, at least
  * @param quiet    for how long nothing has come
  * @param taken    for how long the bytes of the last answer take at this reader's share of the limit
  * @param metered  the service has the limit of bytes: it is AWS, or has refused a call
  * @param refused  when a metered shard last refused a call for another reason than the refusal before, by the clock
  * @param shared   until when it is thought to have other pollers
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetRecords.html GetRecords, limits]]
  */
final case class PollingPace private (
    busy: FiniteDuration,
    interval: FiniteDuration,
    quiet: FiniteDuration,
    taken: FiniteDuration,
    metered: Boolean,
    private val refused: Option[Long],
    private val shared: Option[Long]
) {
  import PollingPace._

  /** When the next call is due, by the clock.
    *
    * @param asked   when the last call began, or failed
    * @param counted when the service had counted the bytes of the last answer, at the latest
    */
  def due(asked: Long, counted: Long): Long = {
    val called = asked + interval.toNanos
    val own    = if (takesAllCalls && isShared(counted)) taken * 10 / 9 else taken
    if (metered) called.max(counted + own.toNanos) else called
  }

  /** Others seem to poll the shard, too. */
  def isShared(now: Long): Boolean = shared.exists(now < _)

  /** Bytes to ask for.
    *
    * @param wanted if there is no limit
    */
  def answer(wanted: Long): Long = if (metered) wanted.min(BytesPerSecond) else wanted

  /** @param bytes  of data and keys in the answer
    * @param behind the service says there is more to come
    */
  def afterRecords(bytes: Long, behind: Boolean): PollingPace = {
    val time = (bytes * 1000 / BytesPerSecond + Spare).millis * busy.toMicros / LeastInterval.toMicros
    val next = if (!metered && behind && takesAllCalls && time > busy) Duration.Zero else busy
    copy(interval = next, quiet = Duration.Zero, taken = time)
  }

  private def takesAllCalls = busy == LeastInterval

  /** @param behind  the service says there is more to come, though this answer was empty
    * @param readers that share the executor's cores
    */
  def afterEmpty(behind: Boolean, readers: Int): PollingPace =
    if (behind) copy(interval = busy, quiet = Duration.Zero, taken = Duration.Zero)
    else {
      val longer = quiet + interval
      copy(interval = (longer / 4).min(idle(readers)).max(busy), quiet = longer, taken = Duration.Zero)
    }

  /** @param wait before the next attempt */
  def afterFailure(wait: FiniteDuration): PollingPace = copy(interval = busy + wait)

  /** After a throttled call, the reason of which may be the limit of bytes a second.
    *
    * @param wait before the next attempt
    */
  def afterThrottling(wait: FiniteDuration, now: Long): PollingPace = {
    val failed = afterFailure(wait).copy(metered = true)
    val ago    = refused.map(before => (now - before).nanos)
    if (!metered || ago.exists(_ <= LongestDebt)) failed
    else if (ago.exists(_ < Alone)) failed.copy(refused = Some(now), shared = Some(now + Alone.toNanos))
    else failed.copy(refused = Some(now))
  }
}

object PollingPace {

  /** Of one shard, for all its pollers. */
  private[kinesisspark] val BytesPerSecond = 2L << 20

  /** Of one shard, for all its pollers. */
  private[kinesisspark] val MostCallsPerSecond = 5

  /** In which a shard refuses its only reader's calls for one answer's bytes at most. */
  private[reader] val Alone = 1.minute

  /** How long a shard refuses calls for one answer's bytes. */
  private val LongestDebt = 5.seconds

  /** Milliseconds for the resolution of clocks. */
  private val Spare = 5

  /** The least and the greatest interval of a shard that has had nothing for a while. */
  private[kinesisspark] val Idle       = 1.second
  private[kinesisspark] val IdleOfMany = 5.seconds

  /** Of the interval for each reader in an executor. Their calls, which cost about three quarters of a millisecond of a core each, then come to 250
    * a second.
    */
  private[kinesisspark] val IdleOfEach = 4.millis

  /** How often a shard is asked that has had nothing for a while. */
  def idle(readers: Int): FiniteDuration = (IdleOfEach * readers.toLong).max(Idle).min(IdleOfMany)

  /** @param callsPerSecond the most; in fact a little less, because the service counts by its clock, not ours
    * @param isAws          whether AWS is called, and no other server
    */
  def of(callsPerSecond: Int, isAws: Boolean): PollingPace = {
    val busy = leastInterval(callsPerSecond)
    PollingPace(
      busy,
      busy,
      quiet = Duration.Zero,
      taken = Duration.Zero,
      metered = isAws,
      refused = None,
      shared = None
    )
  }

  private def leastInterval(callsPerSecond: Int) = 1050.millis / callsPerSecond.toLong

  /** Where no calls are left to others. */
  private val LeastInterval = leastInterval(MostCallsPerSecond)
}
