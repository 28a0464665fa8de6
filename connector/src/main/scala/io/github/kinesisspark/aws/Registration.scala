package io.github.kinesisspark.aws

import scala.concurrent.duration.FiniteDuration

import software.amazon.awssdk.services.kinesis.model.LimitExceededException

import io.github.kinesisspark.config.CallRetries

/** State machine of one consumer's registration. Pure: `step(event)` returns the next state and the command to run, which
  * [[ConsumerDirectory]] does.
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
  * denied, with the owner's tag          register without the tag, which needs a permission of its own
  * anything else                         fail
  * }}}
  *
  * Each step looks at the consumer again, so that others may delete or register it meanwhile.
  *
  * @param waits    for a change of the service's state, limited as DescribeStreamConsumer's retries
  * @param refusals of RegisterStreamConsumer, limited as its retries
  * @param isTagged whether the consumer is registered with the tag of its owner
  */
private[aws] final case class Registration(
    goal: Registration.Goal,
    waits: RetryHistory = RetryHistory.none,
    refusals: RetryHistory = RetryHistory.none,
    isTagged: Boolean = false
) {
  import Registration._
  import Registration.Command._

  /** @param hasWorked whether a call of the client has ever succeeded
    * @param now       by a clock that never goes back, in ns
    * @param chance    uniform in [0, 1)
    */
  def step(
      event: Event,
      retries: CallRetries,
      hasWorked: Boolean,
      now: Long,
      chance: Double
  ): (Registration, Command) = {
    def policyOf(call: AwsCall) = RetryPolicy.of(call, retries)

    def await(failure: Failure) =
      awaited(failure, policyOf(AwsCall.DescribeStreamConsumer).awaitChange(waits, now, chance))

    def retry(fault: Fault) =
      retried(fault, policyOf(AwsCall.RegisterStreamConsumer).decide(fault, refusals, hasWorked, now, chance))

    event match {
      case Event.Described(None) if goal == Goal.Found => (this, Fail(Failure.Missing(None)))
      case Event.Described(None)                       => (this, Register(isTagged))
      case Event.Described(Some(consumer))             =>
        (consumer.status, goal) match {
          case (ConsumerStatus.Active, _)            => (this, Done(consumer))
          case (ConsumerStatus.Deleting, Goal.Found) => (this, Fail(Failure.Missing(Some(consumer))))
          case (ConsumerStatus.Creating, Goal.Known) => (this, Done(consumer))
          case _                                     => await(Failure.Stuck(consumer))
        }
      case Event.Refused(fault @ Fault.Throttled(_, limit: LimitExceededException)) =>
        (this, ListConsumers(fault, limit.getMessage))
      // The name is taken meanwhile, or the stream isn't ACTIVE.
      case Event.Refused(fault: Fault.ResourceInUse)  => await(Failure.Refused(fault))
      case Event.Refused(_: Fault.Denied) if isTagged => (copy(isTagged = false), Register(isTagged = false))
      case Event.Refused(fault)                       => retry(fault)
      case Event.Listed(fault, said, present)         =>
        ConsumerLimit.of(said, present, refusals.failures) match {
          case ConsumerLimit.Calls     => retry(fault)
          case ConsumerLimit.Creating  => await(Failure.Refused(fault))
          case ConsumerLimit.Consumers => (this, Fail(Failure.Full(present)))
        }
    }
  }

  private def awaited(failure: Failure, decision: RetryDecision): (Registration, Command) = decision match {
    case RetryDecision.Retry(wait, more) => (copy(waits = more), Look(wait, failure))
    case RetryDecision.GiveUp(_)         => (this, Fail(failure))
  }

  private def retried(fault: Fault, decision: RetryDecision): (Registration, Command) = decision match {
    case RetryDecision.Retry(wait, more) => (copy(refusals = more), Look(wait, Failure.Refused(fault)))
    case RetryDecision.GiveUp(more)      => (copy(refusals = more), Fail(Failure.Refused(fault)))
  }
}

private[aws] object Registration {

  sealed trait Goal
  object Goal {

    /** Registered; it may still be CREATING. */
    case object Known extends Goal

    /** ACTIVE, registered if it doesn't exist. */
    case object Ready extends Goal

    /** ACTIVE, registered by others. */
    case object Found extends Goal
  }

  sealed trait Event
  object Event {

    /** By DescribeStreamConsumer, or RegisterStreamConsumer's own answer. */
    final case class Described(consumer: Option[StreamConsumer]) extends Event

    /** RegisterStreamConsumer failed. */
    final case class Refused(fault: Fault) extends Event

    /** @param fault why it was asked
      * @param said  by the service, with that fault
      */
    final case class Listed(fault: Fault, said: String, present: Seq[StreamConsumer]) extends Event
  }

  sealed trait Command
  object Command {
    final case class Register(isTagged: Boolean)               extends Command
    final case class Look(after: FiniteDuration, why: Failure) extends Command
    final case class ListConsumers(fault: Fault, said: String) extends Command
    final case class Done(consumer: StreamConsumer)            extends Command
    final case class Fail(failure: Failure)                    extends Command
  }

  /** Why it isn't reached: waited for at first, and the error in the end. */
  sealed trait Failure
  object Failure {

    /** CREATING or DELETING for too long. */
    final case class Stuck(consumer: StreamConsumer) extends Failure

    /** Absent, or DELETING. */
    final case class Missing(consumer: Option[StreamConsumer]) extends Failure

    /** The stream has as many consumers as it may have. */
    final case class Full(present: Seq[StreamConsumer]) extends Failure

    final case class Refused(fault: Fault) extends Failure
  }
}

/** Which limit a RegisterStreamConsumer ran into: the service has one code, LimitExceeded, for all of them.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_RegisterStreamConsumer.html RegisterStreamConsumer]]
  */
private[aws] sealed trait ConsumerLimit

private[aws] object ConsumerLimit {

  /** More than 5 calls a second of the account. */
  case object Calls extends ConsumerLimit

  /** 5 consumers are CREATING already; they are ACTIVE, and out of the way, in a while. */
  case object Creating extends ConsumerLimit

  /** The stream has as many consumers as it may have. */
  case object Consumers extends ConsumerLimit

  /** At once, of one stream. */
  val MostCreating = 5

  /** Of one stream, but [[MostOfAnyStream]] with On-demand Advantage. */
  val MostOfAStream   = 20
  val MostOfAnyStream = 50

  /** @param said    the service's message
    * @param present the stream's consumers, none if they aren't known
    * @param before  refusals before this one: a stream of 20 to 49 consumers may have its quota or be of those that may have more, and then
    *                the limit was that of calls, which a second try after a pause doesn't meet again
    */
  def of(said: String, present: Seq[StreamConsumer], before: Int): ConsumerLimit =
    if (present.count(_.status == ConsumerStatus.Creating) >= MostCreating) Creating
    else if (SaysRate.findFirstIn(said).isDefined) Calls
    else if (present.size >= MostOfAnyStream || (present.size >= MostOfAStream && before > 0)) Consumers
    else Calls

  private val SaysRate = "(?i)\\brate\\b".r
}

/** Messages of why a consumer can't be used, or is waited for. */
private[aws] object ConsumerFailure {
  import Registration.Failure

  /** @param what the consumer and its stream */
  def describe(what: String, failure: Failure): String = failure match {
    case Failure.Stuck(consumer)         => s"The $what is ${consumer.status}."
    case Failure.Missing(None)           => s"There is no $what."
    case Failure.Missing(Some(consumer)) => s"The $what is ${consumer.status}."
    case Failure.Full(present)           =>
      s"RegisterStreamConsumer failed for $what: the stream has ${present.size} consumers already " +
        s"(${present.map(_.name).sorted.mkString(", ")}), which is its quota (${ConsumerLimit.MostOfAStream} consumers of a stream, " +
        s"${ConsumerLimit.MostOfAnyStream} with On-demand Advantage)."
    case Failure.Refused(fault) => KinesisFault.describe(AwsCall.RegisterStreamConsumer, what, fault)
  }

  /** @param after how far it had come */
  def exception(what: String, failure: Failure, after: Registration): KinesisException = failure match {
    case Failure.Stuck(_) =>
      new KinesisException(
        "KINESIS_CONSUMER_NOT_READY",
        s"${describe(what, failure)} It was described ${after.waits.failures + 1} times. Check its state and try again later, or raise maxRetryDuration (or describeStreamConsumer.maxRetries, where that is set)."
      )
    case Failure.Missing(_) =>
      new KinesisException(
        FaultTable.NotFound,
        s"${describe(what, failure)} Register it and give its new ARN, or have the query register one by name (efo.consumerName).",
        reason = FailureReason.NotFound
      )
    case Failure.Full(_) =>
      new KinesisException(
        "KINESIS_CONSUMER_QUOTA",
        s"${describe(what, failure)} Deregister one that nothing reads through any more, or read through it."
      )
    case Failure.Refused(fault) =>
      KinesisFault.exception(
        AwsCall.RegisterStreamConsumer,
        what,
        fault,
        after.refusals.failures.max(after.waits.failures).max(1)
      )
  }
}
