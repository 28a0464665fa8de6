package io.github.kinesisspark.testkit

import java.util.SplittableRandom

/** Which of the calls that match a rule it strikes. */
sealed trait Occurrence
object Occurrence {
  case object Always                 extends Occurrence
  final case class First(count: Int) extends Occurrence
  final case class Every(nth: Int)   extends Occurrence {
    require(nth > 0, s"Every is $nth and must be 1 at least")
  }
  final case class After(count: Int) extends Occurrence

  /** Whether the `number`th matching call (from 1) is struck. */
  def strikes(occurrence: Occurrence, number: Long): Boolean = occurrence match {
    case Always       => true
    case First(count) => number <= count
    case Every(nth)   => number % nth == 0
    case After(count) => number > count
  }
}

/** One thing that goes wrong, and when. A plain value. What the effect is about decides what the rule matches: calls,
  * events of subscriptions, or clients that leave them.
  *
  * @param action name of the call; any that the effect can strike if absent
  * @param shard of a call that concerns shards; a PutRecords concerns every shard one of its entries goes to
  * @param afterEvents spares that many events of each subscription
  * @param probability that a call is struck which matches and whose turn it is, decided by the seed alone
  */
final case class FaultRule(
    effect: FaultEffect,
    action: Option[String] = None,
    stream: Option[String] = None,
    shard: Option[String] = None,
    occurrence: Occurrence = Occurrence.Always,
    probability: Double = 1.0,
    seed: Long = 0,
    afterEvents: Long = 0
)

/** When in the course of a call. */
sealed trait FaultMoment
object FaultMoment {
  case object Call extends FaultMoment

  /** An event of a subscription is about to be sent.
    *
    * @param number its place in the subscription, from 1
    * @param last it is the end of a closed shard
    */
  final case class Event(number: Long, last: Boolean) extends FaultMoment

  /** The client has left its subscription. */
  case object Leaving extends FaultMoment
}

/** What a rule needs to know. */
final case class FaultTarget(
    action: String,
    stream: Option[String],
    shards: Set[String],
    moment: FaultMoment = FaultMoment.Call
)

/** A rule that strikes a call.
  *
  * @param turn which of the calls that matched it this is, from 1
  */
final case class Strike(rule: FaultRule, turn: Long)

/** A rule and how often it matched and struck. */
final case class FaultCount(rule: FaultRule, matched: Long = 0, struck: Long = 0)

object FaultRule {

  /** The only call that an effect can strike; none if it can strike each. */
  def actionOf(effect: FaultEffect): Option[String] = effect match {
    case _: FaultEffect.RefuseEntries    => Some("PutRecords")
    case _: FaultEffect.EmptyAnswer      => Some("GetRecords")
    case _: CallFault                    => None
    case _: EventFault | _: LeavingFault => Some("SubscribeToShard")
  }

  def matches(rule: FaultRule, target: FaultTarget): Boolean =
    (rule.action ++ actionOf(rule.effect)).forall(_ == target.action) && rule.stream.forall(target.stream.contains) &&
      rule.shard.forall(target.shards) && ((rule.effect, target.moment) match {
        case (_: CallFault, FaultMoment.Call)                       => true
        case (_: LastEventFault, FaultMoment.Event(number, isLast)) => isLast && number > rule.afterEvents
        case (_: EventFault, FaultMoment.Event(number, _))          => number > rule.afterEvents
        case (_: LeavingFault, FaultMoment.Leaving)                 => true
        case _                                                      => false
      })

  /** A number in [0, 1) that depends on nothing but the seed and the turn. */
  def draw(seed: Long, turn: Long): Double =
    new SplittableRandom(seed * 1000003 + turn).nextDouble()

  /** One call through all rules: the rules with their counts, and those that strike. */
  def strike(rules: Vector[FaultCount], target: FaultTarget): (Vector[FaultCount], Vector[Strike]) = {
    val after = rules.map { count =>
      if (!matches(count.rule, target)) (count, None)
      else {
        val number = count.matched + 1
        val hit    =
          Occurrence.strikes(count.rule.occurrence, number) && draw(count.rule.seed, number) < count.rule.probability
        (
          count.copy(matched = number, struck = count.struck + (if (hit) 1 else 0)),
          Option.when(hit)(Strike(count.rule, number))
        )
      }
    }
    (after.map(_._1), after.flatMap(_._2))
  }

  /** Which of a PutRecords' entries a rule refuses, given the shard each goes to. */
  def refused(share: Double, strike: Strike, shards: Vector[String]): Vector[Boolean] =
    shards.zipWithIndex.map { case (shard, i) =>
      strike.rule.shard.forall(_ == shard) && draw(strike.rule.seed, strike.turn * shards.length + i) < share
    }
}
