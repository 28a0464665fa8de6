package io.github.kinesisspark.read.shard

import scala.concurrent.duration._

/** When the next GetRecords of a shard is due, told from how the last ones went.
  *
  * The service takes 5 calls a second per shard, from all its pollers together. While there is something to read we use
  * them all; a shard that stays empty is asked less and less often; a refusal doubles the pause, with full jitter, because
  * whoever else polls the shard is refused as well.
  *
  * @param interval    from the start of one call to the start of the next
  * @param setbacks    calls that failed in a row
  * @param failedSince when the first of them failed, if it was other than throttling, by `System.nanoTime`
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetRecords.html GetRecords, limits]]
  */
final case class PollingPace(interval: FiniteDuration, setbacks: Int, failedSince: Option[Long]) {
  import PollingPace._

  def afterRecords: PollingPace = start

  /** @param behind the service says there is more to come, though this answer was empty */
  def afterEmpty(behind: Boolean): PollingPace =
    if (behind) start else PollingPace(slower(interval), 0, None)

  def afterThrottling(random: Double): PollingPace = setback(random).copy(failedSince = None)

  def afterFailure(random: Double, nowNanos: Long): PollingPace =
    setback(random).copy(failedSince = failedSince.orElse(Some(nowNanos)))

  /** How long everything but throttling has failed. */
  def failingFor(nowNanos: Long): FiniteDuration = failedSince.fold(Duration.Zero)(since => (nowNanos - since).nanos)

  private def setback(random: Double) = {
    val most = (FirstPause * (1L << setbacks.min(10))).min(LongestPause)
    PollingPace(Busy + (most.toNanos * random).toLong.nanos, setbacks + 1, failedSince)
  }

  private def slower(d: FiniteDuration) = (d * 3 / 2).min(Idle)
}

object PollingPace {

  /** A little under five a second: the service counts by its clock, not ours. */
  val Busy: FiniteDuration = 210.millis

  /** How often a shard is asked that has had nothing for a while. */
  val Idle: FiniteDuration = 1.second

  private val FirstPause   = 250.millis
  private val LongestPause = 5.seconds

  val start: PollingPace = PollingPace(Busy, 0, None)
}
