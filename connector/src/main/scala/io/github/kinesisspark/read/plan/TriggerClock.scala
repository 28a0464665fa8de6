package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

/** How far a query's triggers lie apart, as its source sees it: from one planning to the next, if the query has waited in between. The
  * first trigger comes at once and the second by the clock, so that what is seen may be too short, and the longest counts. A query whose
  * batches outlast its triggers doesn't wait, nor does one without an interval, which plans at any time.
  *
  * @param planned when a batch was planned last, by `System.nanoTime`
  * @param ended   when it was over, if it is
  * @param beyond  for how long it was to last, if it went beyond the readers' buffers
  * @param stretch how much more than is to be expected a batch must be given that it lasts for the interval, as seen by the last one, if that
  *                went beyond the buffers
  */
final case class TriggerClock(
    interval: Option[FiniteDuration] = None,
    planned: Option[Long] = None,
    ended: Option[Long] = None,
    beyond: Option[FiniteDuration] = None,
    stretch: Double = 1
) {
  import TriggerClock._

  def batchEnded(now: Long): TriggerClock = copy(ended = Some(now))

  def wentBeyond: TriggerClock = copy(beyond = interval)

  def planning(now: Long): TriggerClock = {
    val apart  = planned.map(before => (now - before).nanos)
    val waited = ended.map(end => (now - end).nanos).exists(wait => wait > Pause && apart.exists(wait * 20 > _))
    val seen   =
      if (waited) (interval ++ apart).maxOption
      else interval.filterNot(known => apart.exists(_ * 2 < known))
    val next = for {
      wanted <- beyond
      begin  <- planned
      end    <- ended
    } yield stretch * (wanted / (end - begin).nanos.max(Pause))
    TriggerClock(seen, Some(now), None, stretch = next.fold(1.0)(_.max(1).min(MostStretch)))
  }
}

object TriggerClock {

  /** Shorter ones are those of the machine, and of other sources of the query, which are planned one after the other. */
  private val Pause = 1.second

  private val MostStretch = 8.0
}
