package io.github.kinesisspark.read.plan

import io.github.kinesisspark.read.plan.LatestPositionSearch._

/** Finds a shard's newest record, which no call of Kinesis returns, in a few looks at times near the end: an iterator at a time
  * gives what arrived then or later.
  *
  * {{{
  * looked at a time, found     nothing      the tip is before it: look further back, by steps that grow
  *                             the tip      done
  *                             much more    the tip is after what was found: look halfway to where nothing was
  * }}}
  * Once the times are a second apart, reading on from the later find is the shorter way: a shard takes no more in a second than one answer brings. Where
  * that answer is not the end, for a shard without limits, the search continues with times that are closer together.
  *
  * @param none  nothing arrived then or later; in ms by the service's clock
  * @param some  what was found up to here was not all
  * @param steps looks that found nothing, while nothing was found at all
  * @param apart times so far apart, or less, are near enough to read on, in ms
  */
final case class LatestPositionSearch private (none: Long, some: Long, steps: Int, isNear: Boolean, apart: Long) {

  /** When to look next; nothing where the rest is to be read, from what was found last. */
  def next: Option[Long] =
    if (none - some <= apart) None
    else if (isNear) Some(some + (none - some) / 2)
    else Some((none - step).max(some + 1))

  def foundNothing(at: Long): LatestPositionSearch = copy(none = none.min(at), steps = steps + 1)

  /** Arrival times may go back from record to record, so what was found may have arrived before the time of the look.
    *
    * @param at     the time of the look: the tip is not before it
    * @param newest the arrival of the last record found: more comes after it
    */
  def foundMore(at: Long, newest: Long): LatestPositionSearch = copy(some = some.max(at).max(newest), isNear = true)

  /** The answer that was read on was not the end.
    *
    * @param newest the arrival of its last record
    */
  def readMore(newest: Long): LatestPositionSearch =
    copy(some = some.max(newest), isNear = true, apart = (apart / Closer).max(1))

  private def step = FirstStep << (4 * steps).min(MostDoublings)
}

object LatestPositionSearch {

  /** @param now    when the newest record arrived at the latest
    * @param newest the arrival of the last record of a look at the beginning, which was not the tip
    * @param apart  times so far apart, or less, are near enough to read on, in ms
    */
  def apply(now: Long, newest: Long, apart: Long = ReadOn): LatestPositionSearch =
    new LatestPositionSearch(now, newest, 0, isNear = false, apart)

  /** The service's time has a resolution of one second. */
  private val FirstStep     = 2000L
  private val MostDoublings = 24
  private val ReadOn        = 1000L
  private val Closer        = 8
}
