package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

/** How far a query's triggers lie apart, as its source sees it: from one planning to the next, where the query has waited in between. A query
  * without a trigger interval plans again as soon as a batch is over; one whose batches outlast its triggers does so, too, and keeps what
  * was seen before.
  *
  * @param planned when a batch was planned last, by `System.nanoTime`
  * @param ended   when it was over, if it is
  * @param waits   in a row
  */
final case class TriggerClock(
    interval: Option[FiniteDuration] = None,
    planned: Option[Long] = None,
    ended: Option[Long] = None,
    waits: Int = 0
) {
  import TriggerClock._

  def batchEnded(now: Long): TriggerClock = copy(ended = Some(now))

  def planning(now: Long): TriggerClock = {
    val apart  = planned.map(before => (now - before).nanos)
    val waited = ended.map(end => (now - end).nanos).filter(wait => wait > Pause && apart.exists(wait * 20 > _))
    val row    = if (waited.isDefined) waits + 1 else 0
    // The first trigger comes at once, and the second by the clock: any part of the interval later. A pause of the machine looks like a wait, once.
    TriggerClock(if (row >= 2) apart else interval, Some(now), None, row)
  }
}

object TriggerClock {
  private val Pause = 100.millis
}
