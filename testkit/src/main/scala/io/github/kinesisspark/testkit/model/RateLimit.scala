package io.github.kinesisspark.testkit.model

/** A quota of so much per second, as a value: what is left of it and when that was known.
  *
  * Two kinds of call draw on it. One that knows its cost beforehand takes it or is refused. One that learns its cost by
  * being answered is charged afterwards and may run into debt; from then on calls are refused until a full second's
  * worth is there again, so that a 10 MiB answer at 2 MiB/s refuses the next five seconds, as the service has it.
  *
  * @param owing a debt was run up and is not paid back in full
  */
final case class RateLimit(perSecond: Long, left: Double, owing: Boolean, at: Long) {

  /** Takes `amount` (or all that a second gives, if it is more than that); none if it isn't there. */
  def take(amount: Long, now: Long): Option[RateLimit] = {
    val current = refilled(now)
    Option.when(current.left >= math.min(amount, perSecond))(current.copy(left = current.left - amount))
  }

  /** Whether a call whose cost is not known yet may go ahead. */
  def isFree(now: Long): Boolean = {
    val current = refilled(now)
    !current.owing && current.left > 0
  }

  /** From when on it is free, if nothing else is charged until then. */
  def freeFrom(now: Long): Long =
    if (isFree(now)) now
    else {
      val current = refilled(now)
      val missing = if (current.owing) perSecond - current.left else 1.0
      now + math.ceil(missing * 1000 / perSecond).toLong
    }

  /** Charges what a call turned out to cost. */
  def charge(amount: Long, now: Long): RateLimit = {
    val current = refilled(now)
    val rest    = current.left - amount
    current.copy(left = rest, owing = current.owing || rest < 0)
  }

  private def refilled(now: Long): RateLimit =
    if (now <= at) this
    else {
      val filled = math.min(perSecond.toDouble, left + (now - at) * perSecond / 1000.0)
      RateLimit(perSecond, filled, owing && filled < perSecond, now)
    }
}

object RateLimit {
  def full(perSecond: Long, now: Long): RateLimit = RateLimit(perSecond, perSecond.toDouble, owing = false, now)
}
