package io.github.kinesisspark.read.reader

import java.util.concurrent.TimeoutException

import scala.concurrent.duration._

import io.github.kinesisspark.aws.{Fault, FaultKind, RetryDecision, RetryHistory, RetryPolicy}
import io.github.kinesisspark.position.ShardPosition

/** State machine of one shard's SubscribeToShard subscription. Pure: [[Subscription.step]] returns the next state and the commands to run;
  * FanOutRecordPublisher runs them on its mailbox.
  *
  * {{{
  * state        event                       next                    commands
  * Resting      asked                       Calling                 subscribe (Waiting, if the last call was less than 1 s ago;
  *                                                                  the service allows one call per second and shard)
  * Waiting      due                         Calling                 subscribe (Waiting, if another subscription had the shard and the driver has
  *                                                                  not named the reader since)
  * Calling      opened                      Live, asked             request one event
  *              failed, completed           Waiting                 cancel, or give up
  *              due: not opened in time     Waiting                 cancel, or give up
  * Live         asked                       Live, asked             request one event
  *              part of an event            Live, asked             (for 5 minutes at most; then as if silent)
  *              event                       Live, not asked         deliver
  *              last event                  Over                    deliver, cancel
  *              completed, failed           Waiting or Resting      cancel, or give up if asked (no failure if the connection ends
  *                                                                  while nobody asks)
  *              due: asked, and silent      Waiting                 cancel, or give up
  *              event that nobody asked for Resting                 cancel
  * Over         anything                    Over
  * }}}
  *
  * Waiting, Calling and an asked Live have a deadline ([[dueAt]]), so each of them ends. Events of a call that is no longer
  * the current one are ignored: the SDK completes a subscription that was cancelled, and may fail it twice.
  *
  * @param resume     where the next call begins; moves with every event, also with those that bring no record
  * @param notBefore  earliest time of the next call, by the clock
  * @param calls      made so far; the last one is the current one
  * @param history    failures since the last event
  * @param contention with another subscriber of the same consumer
  * @param displaced  when another subscription was found to have the shard, since the last call: see [[Liveness]]
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShard.html SubscribeToShard]]
  */
final case class Subscription private (
    state: Subscription.State,
    resume: ShardPosition,
    notBefore: Long,
    calls: Long,
    history: RetryHistory,
    contention: Subscription.ConsumerContention,
    displaced: Option[Long]
) {
  import Subscription._
  import Subscription.Command._
  import Subscription.State._

  /** Deadline after which the owner must send [[Event.Due]]. */
  def dueAt: Option[Long] = state match {
    case Waiting(until)             => Some(until)
    case Calling(_, deadline)       => Some(deadline)
    case Live(_, silentAfter, _, _) => silentAfter
    case _                          => None
  }

  private def callNow(at: Moment): Step =
    if (notBefore - at.now > 0) (copy(state = Waiting(notBefore)), Vector.empty)
    else if (!displaced.forall(at.isNamedSince)) (copy(state = Waiting(at.now + NamingLook.toNanos)), Vector.empty)
    else {
      val next = copy(
        state = Calling(calls + 1, at.now + OpenWithin.toNanos),
        calls = calls + 1,
        notBefore = at.now + Spacing.toNanos,
        displaced = None
      )
      (next, Vector(Subscribe(next.calls, resume)))
    }

  private def requestOne(live: Live, now: Long): Step =
    (copy(state = live.copy(silentAfter = Some(now + LongestSilence.toNanos))), Vector(RequestOne))

  private def arriving(live: Live, waits: Boolean, policy: RetryPolicy, at: Moment): Step = {
    val since = if (waits) None else live.arrivingSince.orElse(Some(at.now))
    if (since.exists(at.now - _ >= LongestEvent.toNanos)) failed(asked = true, Silence, policy, at)
    else {
      val next =
        live.copy(silentAfter = Some(at.now + LongestSilence.toNanos), hasReceived = true, arrivingSince = since)
      (copy(state = next, history = if (waits) RetryHistory.none else history), Vector.empty)
    }
  }

  private def arrived(live: Live, to: ShardPosition): Step = {
    val moved = copy(resume = to, history = RetryHistory.none)
    if (to == ShardPosition.ShardEnd) (moved.copy(state = Over), Vector(Deliver, Cancel))
    else (moved.copy(state = live.copy(silentAfter = None, hasReceived = true, arrivingSince = None)), Vector(Deliver))
  }

  /** The call ended as it should, or was cancelled: the next one may follow at once. */
  private def renewed(asked: Boolean, at: Moment): Step = {
    val (next, calls) =
      if (asked) copy(state = Resting).callNow(at) else (copy(state = Resting), Vector.empty)
    (next, Cancel +: calls)
  }

  private def failed(asked: Boolean, fault: Fault, policy: RetryPolicy, at: Moment): Step = fault match {
    case _: Fault.ResourceInUse => copy(displaced = Some(at.now)).retried(asked, fault, policy, at)
    case _                      => retried(asked, fault, policy, at)
  }

  private def retried(asked: Boolean, fault: Fault, policy: RetryPolicy, at: Moment): Step =
    policy.decide(fault, history, at.hasWorked, at.now, at.chance) match {
      case RetryDecision.Retry(wait, failures) =>
        copy(history = failures, notBefore = math.max(notBefore, at.now + wait.toNanos))
          .renewed(asked, at)
      case RetryDecision.GiveUp(failures) if asked =>
        (copy(state = Over, history = failures), Vector(Cancel, GiveUp(Failure.Call(fault))))
      // The next call, if anybody asks for one, shows whether it is still so.
      case RetryDecision.GiveUp(failures) => copy(history = failures).renewed(asked, at)
    }

  /** Another subscription of the consumer has taken the shard over. */
  private def takenOver(live: Live, fault: Fault, policy: RetryPolicy, at: Moment): Step = {
    val more  = contention.takenOver(at.now)
    val asked = live.silentAfter.isDefined
    if (asked && more.isHopeless)
      (copy(state = Over, contention = more), Vector(Cancel, GiveUp(Failure.Contended)))
    // It was open, though on an idle shard no event may have come since: the next calls fail for another reason than those before it.
    else copy(contention = more, history = RetryHistory.none).failed(asked, fault, policy, at)
  }
}

object Subscription {
  type Step = (Subscription, Vector[Command])

  /** How long a call may take until it is opened: within it the client waits for a connection, and the service for its own. */
  private val OpenWithin = 60.seconds

  /** How long an event that was asked for may take: seven of the service's empty events are missing then. */
  val LongestSilence: FiniteDuration = 35.seconds

  /** How long an event may take from its first bytes to its last, while there is memory for it: so long lives the subscription that brings it. */
  private val LongestEvent = 5.minutes

  /** From one call to the next: the service takes 1 a second of a consumer and shard. */
  val Spacing: FiniteDuration = 1.second

  /** After so many a newcomer gives up. */
  private val MostTakeovers = 3

  /** Who held the shard this long before losing it is no newcomer. */
  private val SettledIn = 15.seconds

  /** How often a displaced reader looks whether the driver has named it. */
  private val NamingLook = 250.millis

  sealed trait State
  object State {
    case object Resting                                  extends State
    final case class Waiting(until: Long)                extends State
    final case class Calling(call: Long, deadline: Long) extends State

    /** @param silentAfter   deadline of the event that was asked for, if one was
      * @param hasReceived   it has brought an event, or a part of one
      * @param arrivingSince when the event that was asked for was first seen on its way, if it is
      */
    final case class Live(
        call: Long,
        silentAfter: Option[Long],
        hasReceived: Boolean,
        arrivingSince: Option[Long] = None
    ) extends State
    case object Over extends State
  }
  import State._

  sealed trait Event
  object Event {

    /** Of one call, be it the current one or not. */
    sealed trait OfCall extends Event { def call: Long }

    case object Asked                   extends Event
    final case class Opened(call: Long) extends OfCall

    /** A part of an event has come.
      *
      * @param waits for memory, which is no fault of the server's
      */
    final case class Arriving(call: Long, waits: Boolean)       extends OfCall
    final case class Arrived(call: Long, resume: ShardPosition) extends OfCall
    final case class Completed(call: Long)                      extends OfCall
    final case class Failed(call: Long, fault: Fault)           extends OfCall
    case object Due                                             extends Event
  }
  import Event._

  sealed trait Command
  object Command {
    final case class Subscribe(call: Long, from: ShardPosition) extends Command
    case object RequestOne                                      extends Command
    case object Cancel                                          extends Command
    case object Deliver                                         extends Command
    final case class GiveUp(failure: Failure)                   extends Command
  }

  sealed trait Failure
  object Failure {

    /** @param fault of the last call */
    final case class Call(fault: Fault) extends Failure

    /** Another subscriber of the consumer was there first, and takes the shard back again and again. */
    case object Contended extends Failure
  }

  /** A subscription that brings no event, not even an empty one, which the service sends about every 5 s. */
  val Silence: Fault = Fault.Disconnected(
    FaultKind(
      "KINESIS_SUBSCRIPTION_SILENT",
      "Subscriptions are accepted and bring no event, not even an empty one. Look for a proxy or firewall that holds HTTP/2 streams back."
    ),
    new TimeoutException("no event within the time limit")
  )

  /** How often the shard was lost to another subscriber of the consumer. Who comes second loses it for the first time a few
    * seconds after winning it, when the first comes back. So only a newcomer gives up, and who has held the shard for a while
    * is none any more.
    *
    * @param since when the shard was won, in ns; it is kept from one subscription to the next
    */
  final case class ConsumerContention(since: Option[Long], times: Int, newcomer: Boolean) {
    private[Subscription] def opened(now: Long): ConsumerContention = copy(since = since.orElse(Some(now)))

    private[Subscription] def takenOver(now: Long): ConsumerContention = {
      val settled = since.exists(now - _ >= SettledIn.toNanos)
      if (settled) ConsumerContention(None, 1, newcomer = false)
      else ConsumerContention(None, times + 1, newcomer || times == 0)
    }

    private[Subscription] def isHopeless: Boolean = newcomer && times >= MostTakeovers
  }

  object ConsumerContention {
    val none: ConsumerContention = ConsumerContention(None, 0, newcomer = false)
  }

  /** Time, chance and experience, which [[step]] takes from nowhere else.
    *
    * @param now          by a clock that never goes back, in ns
    * @param chance       uniform in [0, 1)
    * @param hasWorked    whether a call of the client has ever succeeded
    * @param isNamedSince whether the driver has named the reader since then, by the same clock
    */
  final case class Moment(now: Long, chance: Double, hasWorked: Boolean, isNamedSince: Long => Boolean)

  /** @param notBefore of the first call, by the clock that [[step]] is given */
  def at(position: ShardPosition, notBefore: Long): Subscription =
    new Subscription(Resting, position, notBefore, 0, RetryHistory.none, ConsumerContention.none, displaced = None)

  def step(s: Subscription, event: Event, policy: RetryPolicy, at: Moment): Step = event match {
    case stale: OfCall if !currentCall(s.state).contains(stale.call) => (s, Vector.empty)
    case current                                                     => decide(s, current, policy, at)
  }

  private def decide(s: Subscription, event: Event, policy: RetryPolicy, at: Moment): Step = {
    def failed(asked: Boolean, fault: Fault) = s.failed(asked, fault, policy, at)
    val due                                  = event == Due && s.dueAt.exists(_ - at.now <= 0)
    (s.state, event) match {
      case (Over, _) => (s, Vector.empty)

      // What failed while nobody asked says nothing of how long it has been failing since.
      case (Resting, Asked)       => s.copy(history = s.history.rested).callNow(at)
      case (Waiting(_), _) if due => s.callNow(at)

      case (Calling(call, _), Opened(_)) =>
        s.copy(contention = s.contention.opened(at.now)).requestOne(Live(call, None, hasReceived = false), at.now)
      case (_: Calling, Failed(_, fault)) => failed(asked = true, fault)
      case (_: Calling, Completed(_))     => failed(asked = true, Silence)
      case (_: Calling, _) if due         => failed(asked = true, Silence)

      case (live @ Live(_, None, _, _), Asked)                 => s.requestOne(live, at.now)
      case (live @ Live(_, Some(_), _, _), Arriving(_, waits)) => s.arriving(live, waits, policy, at)
      case (live @ Live(_, Some(_), _, _), Arrived(_, to))     => s.arrived(live, to)
      // More than was asked for: what is ignored now must come again.
      case (Live(_, None, _, _), Arrived(_, _))                => s.renewed(asked = false, at)
      case (Live(_, asked, true, _), Completed(_))             => s.renewed(asked.isDefined, at)
      case (Live(_, asked, false, _), Completed(_))            => failed(asked.isDefined, Silence)
      case (live: Live, Failed(_, taken: Fault.ResourceInUse)) => s.takenOver(live, taken, policy, at)
      // Of one that nobody reads, the service's end doesn't get through, and the client ends it after minutes.
      case (Live(_, None, true, _), Failed(_, _: Fault.Disconnected)) => s.renewed(asked = false, at)
      case (Live(_, asked, _, _), Failed(_, fault))                   => failed(asked.isDefined, fault)
      case (_: Live, _) if due                                        => failed(asked = true, Silence)

      case _ => (s, Vector.empty)
    }
  }

  private def currentCall(state: State): Option[Long] = state match {
    case Calling(call, _)    => Some(call)
    case Live(call, _, _, _) => Some(call)
    case _                   => None
  }
}
