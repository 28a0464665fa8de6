package io.github.kinesisspark.read.shard

import scala.concurrent.duration._

import io.github.kinesisspark.position.ShardPosition

/** One reader's subscription to a shard, as values: what it is, what happens to it, and what is to be done.
  *
  * {{{
  * state        event                       next                    to do
  * Resting      asked                       Calling                 subscribe (Waiting, if the last call was too lately)
  * Waiting      due                         Calling                 subscribe
  * Calling      opened                      Live, asked             request one event
  *              failed, completed           Waiting                 cancel, or give up
  *              due: not opened in time     Waiting                 cancel, or give up
  * Live         asked                       Live, asked             request one event
  *              event                       Live, not asked         deliver
  *              last event                  Over                    deliver, cancel
  *              completed, failed           Waiting or Resting      cancel, or give up if asked
  *              due: asked, and silent      Waiting                 cancel, or give up
  *              event that nobody asked for Resting                 cancel
  * any          closed                      Over                    cancel
  * Over         anything                    Over
  * }}}
  *
  * Waiting, Calling and an asked Live are [[dueAt]] some moment, so none of them can last for ever. Whatever comes from a
  * call that is no longer the current one is ignored: the SDK completes a subscription that was cancelled, and may fail it
  * twice.
  *
  * @param resume    where the next call begins; moves with every event, also with those that bring no record
  * @param notBefore no call is made until then, in ns
  * @param calls     made so far; the last one is the current one
  * @param troubles  since the last event
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShard.html SubscribeToShard]]
  */
final case class Subscription private (
    state: Subscription.State,
    resume: ShardPosition,
    notBefore: Long,
    calls: Long,
    troubles: Subscription.Troubles,
    rivalry: Subscription.Rivalry
) {
  import Subscription._
  import Subscription.Command._
  import Subscription.State._

  /** When it is to be told [[Event.Due]], if nothing else happens before. */
  def dueAt: Option[Long] = state match {
    case Waiting(until)          => Some(until)
    case Calling(_, deadline)    => Some(deadline)
    case Live(_, silentAfter, _) => silentAfter
    case _                       => None
  }

  private def callNow(policy: Policy, now: Long): Step =
    if (notBefore - now > 0) (copy(state = Waiting(notBefore)), Vector.empty)
    else {
      val next = copy(
        state = Calling(calls + 1, now + policy.openWithin.toNanos),
        calls = calls + 1,
        notBefore = now + policy.spacing.toNanos
      )
      (next, Vector(Subscribe(next.calls, resume)))
    }

  private def requestOne(live: Live, policy: Policy, now: Long): Step =
    (copy(state = live.copy(silentAfter = Some(now + policy.silence.toNanos))), Vector(RequestOne(live.call)))

  private def arrived(live: Live, to: ShardPosition): Step = {
    val moved = copy(resume = to, troubles = Troubles.none)
    if (to == ShardPosition.ShardEnd) (moved.copy(state = Over), Vector(Deliver, Cancel(live.call)))
    else (moved.copy(state = live.copy(silentAfter = None, heard = true)), Vector(Deliver))
  }

  private def setBack(call: Long, asked: Boolean, setback: Setback, policy: Policy, now: Long, random: Double): Step = {
    val grown  = troubles.and(setback, now)
    val rivals = if (setback == Setback.TakenOver) rivalry.lost(policy, now) else rivalry
    val more   = copy(troubles = grown, rivalry = rivals)
    if (asked && (grown.hopeless(setback, policy, now) || (setback == Setback.TakenOver && rivals.hopeless(policy))))
      (more.copy(state = Over), Vector(Cancel(call), GiveUp(setback)))
    else {
      val pause         = if (grown.inARow == 0) 0L else policy.pause(grown.inARow - 1, random).toNanos
      val paused        = more.copy(state = Resting, notBefore = math.max(notBefore, now + pause))
      val (next, calls) = if (asked) paused.callNow(policy, now) else (paused, Vector.empty)
      (next, Cancel(call) +: calls)
    }
  }

}

object Subscription {
  type Step = (Subscription, Vector[Command])

  sealed trait State
  object State {
    case object Resting                                  extends State
    final case class Waiting(until: Long)                extends State
    final case class Calling(call: Long, deadline: Long) extends State

    /** @param silentAfter somebody waits for an event, and it is missing from then on
      * @param heard       it has brought an event
      */
    final case class Live(call: Long, silentAfter: Option[Long], heard: Boolean) extends State
    case object Over                                                             extends State
  }
  import State._

  sealed trait Event
  object Event {

    /** Tells of one call, be it the current one or not. */
    sealed trait OfCall extends Event { def call: Long }

    case object Asked                                           extends Event
    final case class Opened(call: Long)                         extends OfCall
    final case class Arrived(call: Long, resume: ShardPosition) extends OfCall
    final case class Completed(call: Long)                      extends OfCall
    final case class Failed(call: Long, setback: Setback)       extends OfCall
    case object Due                                             extends Event
    case object Closed                                          extends Event
  }
  import Event._

  /** What a failure means for the next call. */
  sealed trait Setback
  object Setback {

    /** Again at once: it is no sign of trouble, as the end of a subscription's five minutes is none. */
    case object Again extends Setback

    /** Again after a pause, for ever: the service still counts another subscription, or a limit is used up. */
    case object Busy extends Setback

    /** Another subscriber of the same consumer has the shard now. */
    case object TakenOver extends Setback

    /** Again after a pause, as long as the policy's patience lasts: the network's weather. */
    case object Passing extends Setback

    /** Again after a pause, but not more often than the retries allow. */
    case object Counted extends Setback

    /** Trying again doesn't help. */
    case object Fatal extends Setback
  }
  import Setback._

  sealed trait Command
  object Command {
    final case class Subscribe(call: Long, from: ShardPosition) extends Command
    final case class RequestOne(call: Long)                     extends Command
    final case class Cancel(call: Long)                         extends Command
    case object Deliver                                         extends Command

    /** @param last what was one too many */
    final case class GiveUp(last: Setback) extends Command
  }

  /** What has failed since the last event.
    *
    * @param inARow  failures, for the pause
    * @param counted those of them that the retries limit
    * @param since   when the first failed that doesn't go on for ever, in ns
    */
  final case class Troubles(inARow: Int, counted: Int, since: Option[Long]) {
    private[Subscription] def and(setback: Setback, now: Long): Troubles = setback match {
      case Again | Fatal    => this
      case Busy | TakenOver => copy(inARow = inARow + 1)
      case Passing          => Troubles(inARow + 1, counted, since.orElse(Some(now)))
      case Counted          => Troubles(inARow + 1, counted + 1, since.orElse(Some(now)))
    }

    private[Subscription] def hopeless(last: Setback, policy: Policy, now: Long): Boolean = last match {
      case Fatal   => true
      case Counted => counted > policy.retries
      case Passing => since.exists(now - _ > policy.patience.toNanos)
      case _       => false
    }
  }

  object Troubles {
    val none: Troubles = Troubles(0, 0, None)
  }

  /** How often the shard was lost to another subscriber of the consumer. Who comes second loses it for the first time a few
    * seconds after winning it, when the first comes back; so only a newcomer gives up, and who has held the shard for a while
    * is none any more.
    *
    * @param since when the shard was won, in ns; it is kept from one subscription to the next
    */
  final case class Rivalry(since: Option[Long], times: Int, newcomer: Boolean) {
    private[Subscription] def won(now: Long): Rivalry = copy(since = since.orElse(Some(now)))

    private[Subscription] def lost(policy: Policy, now: Long): Rivalry = {
      val settled = since.exists(now - _ >= policy.settledIn.toNanos)
      if (settled) Rivalry(None, 1, newcomer = false) else Rivalry(None, times + 1, newcomer || times == 0)
    }

    private[Subscription] def hopeless(policy: Policy): Boolean = newcomer && times >= policy.takeovers
  }

  object Rivalry {
    val none: Rivalry = Rivalry(None, 0, newcomer = false)
  }

  /** @param openWithin how long a call may take until it is opened
    * @param silence    how long an asked-for event may take: the service sends an empty one about every 5 s
    * @param spacing    from one call to the next: the service takes 1 a second of a consumer and shard
    * @param retries    counted failures in a row after which the reader gives up
    * @param patience   how long passing failures may last
    * @param takeovers  after so many a newcomer gives up
    * @param settledIn  who held the shard this long before losing it is no newcomer
    * @param pause      before the retry of that number (from 0), given a random number in [0, 1)
    */
  final case class Policy(
      openWithin: FiniteDuration,
      silence: FiniteDuration,
      spacing: FiniteDuration,
      retries: Int,
      patience: FiniteDuration,
      takeovers: Int,
      settledIn: FiniteDuration,
      pause: (Int, Double) => FiniteDuration
  )

  /** @param notBefore of the first call, by the clock that [[step]] is given */
  def at(position: ShardPosition, notBefore: Long): Subscription =
    new Subscription(Resting, position, notBefore, 0, Troubles.none, Rivalry.none)

  /** The decision, whole: no time, chance or call is taken but from the arguments.
    *
    * @param now    by a clock that never goes back, in ns
    * @param random in [0, 1)
    */
  def step(s: Subscription, event: Event, policy: Policy, now: Long, random: Double): Step = event match {
    case stale: OfCall if !currentCall(s.state).contains(stale.call) => (s, Vector.empty)
    case current                                                     => decide(s, current, policy, now, random)
  }

  private def decide(s: Subscription, event: Event, policy: Policy, now: Long, random: Double): Step = {
    def setBack(call: Long, asked: Boolean, setback: Setback) = s.setBack(call, asked, setback, policy, now, random)
    val due                                                   = event == Due && s.dueAt.exists(_ - now <= 0)
    (s.state, event) match {
      case (Over, _)       => (s, Vector.empty)
      case (state, Closed) => (s.copy(state = Over), currentCall(state).map(Command.Cancel(_)).toVector)

      case (Resting, Asked)       => s.callNow(policy, now)
      case (Waiting(_), _) if due => s.callNow(policy, now)

      case (Calling(call, _), Opened(_)) =>
        s.copy(rivalry = s.rivalry.won(now)).requestOne(Live(call, None, heard = false), policy, now)
      case (Calling(call, _), Failed(_, setback)) => setBack(call, asked = true, setback)
      case (Calling(call, _), Completed(_))       => setBack(call, asked = true, Passing)
      case (Calling(call, _), _) if due           => setBack(call, asked = true, Passing)

      case (live @ Live(_, None, _), Asked)             => s.requestOne(live, policy, now)
      case (live @ Live(_, Some(_), _), Arrived(_, to)) => s.arrived(live, to)
      // More than was asked for: what is ignored now must come again.
      case (Live(call, None, _), Arrived(_, _))       => setBack(call, asked = false, Again)
      case (Live(call, asked, heard), Completed(_))   => setBack(call, asked.isDefined, if (heard) Again else Passing)
      case (Live(call, asked, _), Failed(_, setback)) => setBack(call, asked.isDefined, setback)
      case (Live(call, _, _), _) if due               => setBack(call, asked = true, Passing)

      case _ => (s, Vector.empty)
    }
  }

  private def currentCall(state: State): Option[Long] = state match {
    case Calling(call, _) => Some(call)
    case Live(call, _, _) => Some(call)
    case _                => None
  }
}
