package io.github.kinesisspark.read.shard

import scala.concurrent.duration._

import io.github.kinesisspark.position.ShardPosition

/** One reader's subscription to a shard, as values: what it is, what happens to it, and what is to be done.
  *
  * {{{
  * state        event                     next                    to do
  * Resting      asked                     Calling                 subscribe (Waiting, if the last call was too lately)
  * Waiting      woken in time             Calling                 subscribe
  * Calling      opened                    Live, asked             request one event
  *              failed                    Waiting                 wake later, or give up
  *              woken, not opened in time Waiting                 cancel, wake later
  * Live         asked                     Live, asked             request one event
  *              event                     Live, not asked         deliver
  *              last event                Over                    deliver, cancel
  *              completed                 Waiting or Resting      wake, if asked
  *              failed                    Waiting or Resting      wake later if asked, or give up
  *              woken, silent for long    Waiting                 cancel, wake
  * any          closed                    Over                    cancel
  * Over         anything                  Over
  * }}}
  *
  * Whatever comes from a call that is no longer the current one is ignored: the SDK completes a subscription that was
  * cancelled, and may fail it twice.
  *
  * @param resume    where the next call begins; moves with every event, also with those that bring no record
  * @param notBefore no call is made until then, in ns
  * @param setbacks  failures in a row, since the last event
  * @param counted   those of them that the retries limit
  * @param calls     made so far; the last one is the current one
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShard.html SubscribeToShard]]
  */
final case class Subscription private (
    state: Subscription.State,
    resume: ShardPosition,
    notBefore: Long,
    setbacks: Int,
    counted: Int,
    calls: Long
) {
  import Subscription._
  import Subscription.Command._
  import Subscription.State._

  private def callNow(policy: Policy, now: Long): Step =
    if (notBefore - now > 0) (copy(state = Waiting(notBefore)), Vector(WakeAt(notBefore)))
    else {
      val deadline = now + policy.openWithin.toNanos
      val next     = copy(
        state = Calling(calls + 1, deadline),
        calls = calls + 1,
        notBefore = now + policy.spacing.toNanos
      )
      (next, Vector(Subscribe(next.calls, resume), WakeAt(deadline)))
    }

  private def requestOne(call: Long, policy: Policy, now: Long): Step = {
    val silentAfter = now + policy.silence.toNanos
    (copy(state = Live(call, asked = true, silentAfter)), Vector(RequestOne(call), WakeAt(silentAfter)))
  }

  private def arrived(call: Long, to: ShardPosition, silentAfter: Long): Step = {
    val moved = copy(resume = to, setbacks = 0, counted = 0)
    if (to == ShardPosition.ShardEnd) (moved.copy(state = Over), Vector(Deliver, Cancel(call)))
    else (moved.copy(state = Live(call, asked = false, silentAfter)), Vector(Deliver))
  }

  private def setBack(call: Long, asked: Boolean, setback: Setback, policy: Policy, now: Long, random: Double): Step = {
    val more = setback match {
      case Setback.Again   => this
      case Setback.Busy    => copy(setbacks = setbacks + 1)
      case Setback.Counted => copy(setbacks = setbacks + 1, counted = counted + 1)
      case Setback.Fatal   => this
    }
    val paused = more.copy(notBefore = math.max(notBefore, now + more.pause(policy, random)))
    if (asked && (setback == Setback.Fatal || more.counted > policy.retries))
      (more.copy(state = Over), Vector(Cancel(call), GiveUp))
    else if (asked) withCancel(call, paused.callNow(policy, now))
    else (paused.copy(state = Resting), Vector(Cancel(call)))
  }

  private def pause(policy: Policy, random: Double) =
    if (setbacks == 0) 0L else policy.pause(setbacks - 1, random).toNanos

  private def withCancel(call: Long, step: Step): Step = (step._1, Cancel(call) +: step._2)
}

object Subscription {
  type Step = (Subscription, Vector[Command])

  /** @param asked somebody waits for an event */
  sealed trait State
  object State {
    case object Resting                                                  extends State
    final case class Waiting(until: Long)                                extends State
    final case class Calling(call: Long, deadline: Long)                 extends State
    final case class Live(call: Long, asked: Boolean, silentAfter: Long) extends State
    case object Over                                                     extends State
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
    case object Woken                                           extends Event
    case object Closed                                          extends Event
  }
  import Event._

  /** What a failure means for the next call. */
  sealed trait Setback
  object Setback {

    /** Again at once, as after a read time-out: it is no sign of trouble. */
    case object Again extends Setback

    /** Again after a pause, for ever: another subscription holds the shard, or a limit is used up. */
    case object Busy extends Setback

    /** Again after a pause, but not more than the retries allow. */
    case object Counted extends Setback

    /** Trying again doesn't help. */
    case object Fatal extends Setback
  }

  sealed trait Command
  object Command {
    final case class Subscribe(call: Long, from: ShardPosition) extends Command
    final case class RequestOne(call: Long)                     extends Command
    final case class Cancel(call: Long)                         extends Command
    final case class WakeAt(nanos: Long)                        extends Command
    case object Deliver                                         extends Command
    case object GiveUp                                          extends Command
  }

  /** @param openWithin how long a call may take until it is opened
    * @param silence    how long an asked-for event may take: the service sends an empty one about every 5 s
    * @param spacing    from one call to the next: the service takes 1 a second of a consumer and shard
    * @param retries    counted failures in a row after which the reader gives up
    * @param pause      before the retry of that number (from 0), given a random number in [0, 1)
    */
  final case class Policy(
      openWithin: FiniteDuration,
      silence: FiniteDuration,
      spacing: FiniteDuration,
      retries: Int,
      pause: (Int, Double) => FiniteDuration
  )

  /** @param now by the clock that [[step]] is given */
  def at(position: ShardPosition, now: Long): Subscription = new Subscription(Resting, position, now, 0, 0, 0)

  /** The decision, whole: no time, chance or call is taken but from the arguments.
    *
    * @param now    by a clock that never goes back, in ns
    * @param random in [0, 1)
    */
  def step(s: Subscription, event: Event, policy: Policy, now: Long, random: Double): Step = event match {
    case stale: OfCall if !currentCall(s.state).contains(stale.call) => (s, Vector.empty)
    case current                                                     => decide(s, current, policy, now, random)
  }

  private def decide(s: Subscription, event: Event, policy: Policy, now: Long, random: Double): Step =
    (s.state, event) match {
      case (Over, _)       => (s, Vector.empty)
      case (state, Closed) => (s.copy(state = Over), currentCall(state).map(Command.Cancel(_)).toVector)

      case (Resting, Asked)                            => s.callNow(policy, now)
      case (Waiting(until), Woken) if until - now <= 0 => s.callNow(policy, now)

      case (Calling(call, _), Opened(_))          => s.requestOne(call, policy, now)
      case (Calling(call, _), Failed(_, setback)) => s.setBack(call, asked = true, setback, policy, now, random)
      case (Calling(call, _), Completed(_))       => s.setBack(call, asked = true, Setback.Counted, policy, now, random)
      case (Calling(call, deadline), Woken) if deadline - now <= 0 =>
        s.setBack(call, asked = true, Setback.Counted, policy, now, random)

      case (Live(call, false, _), Asked)                       => s.requestOne(call, policy, now)
      case (Live(call, true, silentAfter), Arrived(_, resume)) => s.arrived(call, resume, silentAfter)
      // More than was asked for: what is ignored now must come again.
      case (Live(call, false, _), Arrived(_, _))      => (s.copy(state = Resting), Vector(Command.Cancel(call)))
      case (Live(call, asked, _), Completed(_))       => s.setBack(call, asked, Setback.Again, policy, now, random)
      case (Live(call, asked, _), Failed(_, setback)) => s.setBack(call, asked, setback, policy, now, random)
      case (Live(call, true, silent), Woken) if silent - now <= 0 =>
        s.setBack(call, asked = true, Setback.Again, policy, now, random)

      case _ => (s, Vector.empty)
    }

  private def currentCall(state: State): Option[Long] = state match {
    case Calling(call, _) => Some(call)
    case Live(call, _, _) => Some(call)
    case _                => None
  }
}
