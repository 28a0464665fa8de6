package io.github.kinesisspark.testkit

import java.util.SplittableRandom
import scala.concurrent.duration.FiniteDuration

/** Which of the calls that match a rule it strikes. */
sealed trait Occurrence
object Occurrence {
  case object Always                 extends Occurrence
  final case class First(count: Int) extends Occurrence
  final case class Every(nth: Int)   extends Occurrence
  final case class After(count: Int) extends Occurrence

  /** Whether the `number`th matching call (from 1) is struck. */
  def strikes(occurrence: Occurrence, number: Long): Boolean = occurrence match {
    case Always       => true
    case First(count) => number <= count
    case Every(nth)   => number % nth == 0
    case After(count) => number > count
  }
}

/** What goes wrong. */
sealed trait FaultEffect
object FaultEffect {

  /** An error of the service, instead of doing anything. */
  final case class ServiceCode(code: String, message: String = "Injected fault", status: Int = 400) extends FaultEffect

  /** An HTTP status with no body that the service would write, as a load balancer answers. */
  final case class HttpStatus(status: Int) extends FaultEffect

  /** The call begins later. */
  final case class Delay(by: FiniteDuration) extends FaultEffect

  /** The connection is reset. */
  final case class Reset(at: ResetPoint) extends FaultEffect

  /** The call is done, but half of the answer's body is missing. */
  case object TruncatedBody extends FaultEffect

  /** The call is done, but the answer's body is noise. */
  case object GarbageBody extends FaultEffect

  /** PutRecords: a share of the entries is refused, of the rule's shard if it names one. */
  final case class RefuseEntries(share: Double, code: String = "ProvisionedThroughputExceededException")
      extends FaultEffect

  /** GetRecords: no records now, and more to come. */
  final case class EmptyAnswer(millisBehindLatest: Long) extends FaultEffect

  /** The answer's `Date` is wrong by this much. */
  final case class ClockSkew(by: FiniteDuration) extends FaultEffect
}

/** When a connection is reset. What a client cannot tell apart differs here: after the call was done, a retry of a
  * write stores its records twice.
  */
sealed trait ResetPoint
object ResetPoint {
  case object BeforeCall extends ResetPoint
  case object AfterCall  extends ResetPoint
  case object InsideBody extends ResetPoint
}

/** One thing that goes wrong, and for which calls. A plain value.
  *
  * @param action name of the call, any if absent
  * @param shard of a call that concerns shards; a PutRecords concerns every shard one of its entries goes to
  * @param probability that a call which matches and whose turn it is is struck, decided by the seed alone
  */
final case class FaultRule(
    effect: FaultEffect,
    action: Option[String] = None,
    stream: Option[String] = None,
    shard: Option[String] = None,
    occurrence: Occurrence = Occurrence.Always,
    probability: Double = 1.0,
    seed: Long = 0
)

/** What a rule needs to know of a call. */
final case class FaultTarget(action: String, stream: Option[String], shards: Set[String])

/** A rule that strikes a call.
  *
  * @param turn which of the calls that matched it this is, from 1
  */
final case class Strike(rule: FaultRule, turn: Long)

/** A rule and how often it matched and struck. */
final case class FaultCount(rule: FaultRule, matched: Long = 0, struck: Long = 0)

object FaultRule {

  def matches(rule: FaultRule, target: FaultTarget): Boolean =
    rule.action.forall(_ == target.action) && rule.stream.forall(target.stream.contains) &&
      rule.shard.forall(target.shards)

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
