package io.github.kinesisspark.aws

import io.github.kinesisspark.config.{FanOutRetries, RetryOptions}
import software.amazon.awssdk.services.kinesis.model.LimitExceededException

import scala.concurrent.duration.FiniteDuration

/** The way to a consumer that can be used, as values: what is seen of it, and what to do next.
  *
  * {{{
  * goal       absent     DELETING   CREATING   ACTIVE
  * Known      register   wait       done       done
  * Ready      register   wait       wait       done
  * Found      fail       fail       wait       done
  *
  * register refused                      next
  * in use: the name is taken meanwhile,  wait, look again
  *   or the stream isn't ACTIVE
  * 5 are CREATING                        wait, look again
  * too many calls, network, 5xx          pause, look again: it may have been registered after all
  * as many consumers as may be           fail
  * anything else                         fail
  * }}}
  *
  * So whatever happens to the consumer meanwhile, being deleted by others or registered by others, is seen and dealt with.
  *
  * @param waits    for a change of the service's state; as many as DescribeStreamConsumer is retried
  * @param refusals of RegisterStreamConsumer; as many as it is retried
  */
private[aws] final case class Registration(goal: Registration.Goal, waits: Int = 0, refusals: Int = 0) {
  import Registration._
  import Registration.Command._

  /** The decision, whole.
    *
    * @param chance uniform in [0, 1)
    */
  def step(event: Event, retries: FanOutRetries, chance: Double): (Registration, Command) = event match {
    case Event.Seen(None) if goal == Goal.Found => (this, Fail(Failure.Missing(None)))
    case Event.Seen(None)                       => (this, Register)
    case Event.Seen(Some(consumer))             => seen(consumer, retries, chance)
    case Event.Refused(fault)                   => refused(fault, retries, chance)
    case Event.Listed(fault, said, present)     =>
      ConsumerLimit.of(said, present, refusals) match {
        case ConsumerLimit.Calls     => pause(fault, retries.register, chance)
        case ConsumerLimit.Creating  => copy(refusals = refusals + 1).await(Failure.Refused(fault), retries, chance)
        case ConsumerLimit.Consumers => (this, Fail(Failure.Full(present)))
      }
  }

  private def seen(consumer: StreamConsumer, retries: FanOutRetries, chance: Double) =
    (consumer.status, goal) match {
      case (ConsumerStatus.Active, _)            => (this, Done(consumer))
      case (ConsumerStatus.Deleting, Goal.Found) => (this, Fail(Failure.Missing(Some(consumer))))
      case (ConsumerStatus.Deleting, _)          => await(Failure.Stuck(consumer), retries, chance)
      case (ConsumerStatus.Creating, Goal.Known) => (this, Done(consumer))
      case (ConsumerStatus.Creating, _)          => await(Failure.Stuck(consumer), retries, chance)
      case (ConsumerStatus.Other(_), _)          => await(Failure.Stuck(consumer), retries, chance)
    }

  private def refused(fault: Fault, retries: FanOutRetries, chance: Double) = fault match {
    case Fault.Throttled(_, limit: LimitExceededException) => (this, ListConsumers(fault, limit.getMessage))
    case _: Fault.ResourceInUse                            => await(Failure.Refused(fault), retries, chance)
    case _: Fault.Throttled | _: Fault.Transient           => pause(fault, retries.register, chance)
    case _                                                 => (this, Fail(Failure.Refused(fault)))
  }

  private def await(failure: Failure, retries: FanOutRetries, chance: Double) =
    if (waits >= retries.describe.maxRetries) (this, Fail(failure))
    else (copy(waits = waits + 1), Look(Backoff.of(retries.describe).delay(waits + 1, chance), failure))

  private def pause(fault: Fault, retry: RetryOptions, chance: Double) = {
    val more = copy(refusals = refusals + 1)
    if (more.refusals > retry.maxRetries) (more, Fail(Failure.Refused(fault)))
    else (more, Look(Backoff.of(retry).delay(more.refusals, chance), Failure.Refused(fault)))
  }
}

private[aws] object Registration {

  /** What is wanted. */
  sealed trait Goal
  object Goal {

    /** That it is registered; it may still be CREATING. */
    case object Known extends Goal

    /** That it can be read through. */
    case object Ready extends Goal

    /** That one which somebody else has registered can be read through. */
    case object Found extends Goal
  }

  sealed trait Event
  object Event {

    /** By DescribeStreamConsumer, or RegisterStreamConsumer's own answer. */
    final case class Seen(consumer: Option[StreamConsumer]) extends Event

    /** RegisterStreamConsumer failed. */
    final case class Refused(fault: Fault) extends Event

    /** @param fault why it was asked
      * @param said  by the service, with that fault
      */
    final case class Listed(fault: Fault, said: String, present: Seq[StreamConsumer]) extends Event
  }

  sealed trait Command
  object Command {
    case object Register                                       extends Command
    final case class Look(after: FiniteDuration, why: Failure) extends Command
    final case class ListConsumers(fault: Fault, said: String) extends Command
    final case class Done(consumer: StreamConsumer)            extends Command
    final case class Fail(failure: Failure)                    extends Command
  }

  /** What it fails for at last, and is waited for meanwhile. */
  sealed trait Failure
  object Failure {

    /** On its way to ACTIVE, or to be gone, for too long. */
    final case class Stuck(consumer: StreamConsumer) extends Failure

    /** It isn't there, or not for long. */
    final case class Missing(consumer: Option[StreamConsumer]) extends Failure

    /** The stream has as many consumers as it may have. */
    final case class Full(present: Seq[StreamConsumer]) extends Failure

    final case class Refused(fault: Fault) extends Failure
  }
}
