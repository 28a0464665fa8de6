package io.github.kinesisspark.testkit.subscription

import io.github.kinesisspark.testkit.model.{Quota, RateLimit}

/** One consumer's place at one shard, which one subscription at a time has: a value, and what may become of it.
  *
  * @param calls what is left of the calls per second
  * @param bytes what is left of the bytes per second, whichever subscription they go to
  * @param takenAt when a call last got it, in milliseconds of the service's clock
  * @param heldUntil nobody gets it before that time
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShard.html SubscribeToShard]]
  */
final case class Seat(calls: RateLimit, bytes: RateLimit, takenAt: Option[Long], heldUntil: Long) {
  import Seat._

  /** A call for it: the seat after the call, and why the call is refused, if it is. Whoever has it loses it otherwise. */
  def ask(now: Long, limited: Boolean, takeoverAfterMillis: Long): (Seat, Option[Refusal]) =
    calls.take(1, now) match {
      case None if limited => (this, Some(Refusal.TooOften))
      case taken           =>
        val counted = copy(calls = taken.getOrElse(calls))
        if (now < heldUntil || takenAt.exists(now < _ + takeoverAfterMillis)) (counted, Some(Refusal.InUse))
        else (counted.copy(takenAt = Some(now)), None)
    }

  /** The subscription that had it is gone, and it stays taken until then all the same. */
  def held(until: Long): Seat = copy(heldUntil = until)

  def charged(amount: Long, now: Long): Seat = copy(bytes = bytes.charge(amount, now))
}

object Seat {
  def free(now: Long): Seat = Seat(
    RateLimit.full(Quota.SubscribeCallsPerShard, now),
    RateLimit.full(Quota.SubscriptionBytesPerShard, now),
    takenAt = None,
    heldUntil = Long.MinValue
  )

  /** Why a call does not get it. */
  sealed trait Refusal
  object Refusal {

    /** More than one call in a second. */
    case object TooOften extends Refusal

    /** Too soon after the last call that got it. */
    case object InUse extends Refusal
  }
}
