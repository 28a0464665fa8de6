package io.github.kinesisspark.testkit.subscription

/** A [[Seat]] and the subscriptions that have it or had it and are not closed yet. */
final private[testkit] class Place(now: Long) {
  private var seat                       = Seat.free(now)
  private var holder                     = Option.empty[Subscription]
  private var present                    = Vector.empty[Subscription]
  @volatile private var mostPresent: Int = 0

  /** Gives the seat to a new subscription, and takes it from the one that has it. */
  def take(now: Long, limited: Boolean, takeoverAfterMillis: Long)(
      make: => Subscription
  ): Either[Seat.Refusal, Subscription] = synchronized {
    val (after, refusal) = seat.ask(now, limited, takeoverAfterMillis)
    seat = after
    refusal.toLeft {
      val taken = make
      holder.foreach(_.takenOver())
      holder = Some(taken)
      present :+= taken
      mostPresent = math.max(mostPresent, present.size)
      taken
    }
  }

  /** @param held until when nobody gets the seat, if it was this one's */
  def leave(subscription: Subscription, held: Option[Long]): Unit = synchronized {
    present = present.filterNot(_ eq subscription)
    if (holder.exists(_ eq subscription)) {
      holder = None
      held.foreach(until => seat = seat.held(until))
    }
  }

  def charge(bytes: Long, now: Long): Unit = synchronized { seat = seat.charged(bytes, now) }
  def freeFrom(now: Long): Long            = synchronized(seat.bytes.freeFrom(now))
  def open: Vector[Subscription]           = synchronized(present)
  def mostOpen: Int                        = mostPresent
}
