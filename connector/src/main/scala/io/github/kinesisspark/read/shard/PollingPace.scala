package io.github.kinesisspark.read.shard

import scala.concurrent.duration._

/** When the next GetRecords of a shard is due, told from how the last ones went.
  *
  * The service takes 5 calls a second per shard, from all its pollers together. While there is something to read we use
  * as many as we may; a shard that stays empty is asked less and less often, so that a record waits for a quarter of the time that
  * nothing has come, about; a refusal doubles the pause, with full jitter, because whoever else polls the shard is refused as well.
  *
  * @param busy        the least interval
  * @param interval    from the start of one call to the start of the next
  * @param quiet       for how long nothing has come
  * @param setbacks    calls that failed in a row
  * @param failedSince when the first of them failed, if it was other than throttling, by `System.nanoTime`
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetRecords.html GetRecords, limits]]
  */
final case class PollingPace private (
    busy: FiniteDuration,
    interval: FiniteDuration,
    quiet: FiniteDuration,
    setbacks: Int,
    failedSince: Option[Long]
) {
  import PollingPace._

  def afterRecords: PollingPace = PollingPace(busy, busy, Duration.Zero, 0, None)

  /** @param behind  the service says there is more to come, though this answer was empty
    * @param readers that share the executor's cores
    */
  def afterEmpty(behind: Boolean, readers: Int): PollingPace =
    if (behind) afterRecords
    else {
      val longer = quiet + interval
      PollingPace(busy, (longer / 4).min(idle(readers)).max(busy), longer, 0, None)
    }

  def afterThrottling(random: Double): PollingPace = setback(random).copy(failedSince = None)

  def afterFailure(random: Double, nowNanos: Long): PollingPace =
    setback(random).copy(failedSince = failedSince.orElse(Some(nowNanos)))

  /** How long everything but throttling has failed. */
  def failingFor(nowNanos: Long): FiniteDuration = failedSince.fold(Duration.Zero)(since => (nowNanos - since).nanos)

  private def setback(random: Double) = {
    val most = (FirstPause * (1L << setbacks.min(10))).min(LongestPause)
    copy(interval = busy + (most.toNanos * random).toLong.nanos, setbacks = setbacks + 1)
  }
}

object PollingPace {

  /** How often a shard is asked that has had nothing for a while: once a second; with more than 250 readers in an executor seldomer, so that
    * their calls, which cost about three quarters of a millisecond of a core each, come to 250 a second; with many more, every five seconds.
    */
  def idle(readers: Int): FiniteDuration = (readers * 4L).millis.max(1.second).min(5.seconds)

  private val FirstPause   = 250.millis
  private val LongestPause = 5.seconds

  /** @param callsPerSecond the most; in fact a little less, because the service counts by its clock, not ours */
  def of(callsPerSecond: Int): PollingPace = {
    val busy = 1050.millis / callsPerSecond.toLong
    PollingPace(busy, busy, Duration.Zero, 0, None)
  }
}
