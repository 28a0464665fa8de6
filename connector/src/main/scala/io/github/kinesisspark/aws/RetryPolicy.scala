package io.github.kinesisspark.aws

import scala.concurrent.duration.{Duration, FiniteDuration, MILLISECONDS}

import io.github.kinesisspark.config.{CallRetries, RetryOptions}

/** Decides whether and when a failed call is made again: from the fault, the failures before it, and whether the client has ever worked.
  * Pure: time and chance are parameters. The same policy serves the source, the sink and consumer registration.
  *
  * | fault | the call is made again |
  * |---|---|
  * | Throttled | without end where `endless` has it, otherwise as Transient |
  * | ResourceInUse | the same |
  * | Disconnected | until `maxDuration` has passed since the first failure |
  * | Transient | the same, and at most `maxRetries` times in a row, where that is given |
  * | Suspect | as Transient once the client has worked; before that, at most 5 times in a row |
  * | NotFound | `notFoundRetries` times in a row |
  * | all others | never: the caller renews what expired, or fails |
  *
  * @param backoff         the waits, with full jitter
  * @param maxDuration     from the first failure in a row
  * @param maxRetries      `<call>.maxRetries`, where the user gives it
  * @param endless         faults that are the service's way to slow callers down, and no reason to give up
  * @param notFoundRetries what was made a moment ago is not known everywhere yet
  */
final case class RetryPolicy(
    backoff: Backoff,
    maxDuration: Duration,
    maxRetries: Option[Int] = None,
    endless: Set[RetryPolicy.Slowdown] = Set.empty,
    notFoundRetries: Int = 0
) {
  import RetryPolicy._

  /** @param history   the failures in a row before this one
    * @param hasWorked whether a call of the client has ever succeeded
    * @param now       by a clock that never goes back, in ns
    * @param chance    uniform in [0, 1)
    */
  def decide(fault: Fault, history: RetryHistory, hasWorked: Boolean, now: Long, chance: Double): RetryDecision =
    decide(treatmentOf(fault, hasWorked), history, now, chance)

  /** Whether and when to look again at a resource that is changing, such as a consumer that is CREATING. */
  def awaitChange(history: RetryHistory, now: Long, chance: Double): RetryDecision =
    decide(Treatment.Counted, history, now, chance)

  /** The policy of a call to a stream that may have been created a moment ago. */
  def retryingNotFound: RetryPolicy = copy(notFoundRetries = suspectRetries)

  private def suspectRetries = maxRetries.fold(SuspectRetries)(_.min(SuspectRetries))

  private def decide(treatment: Treatment, history: RetryHistory, now: Long, chance: Double): RetryDecision = {
    val failed    = history.failed(treatment, now)
    val mayRepeat = treatment match {
      case Treatment.Endless => true
      case Treatment.Bounded => !failed.isLongerThan(maxDuration, now)
      case Treatment.Counted => !failed.isLongerThan(maxDuration, now) && maxRetries.forall(failed.counted <= _)
      case Treatment.LikelyMistake(retries) => failed.mistakes <= retries
      case Treatment.Never                  => false
    }
    if (mayRepeat) RetryDecision.Retry(backoff.delay(failed.failures, chance), failed) else RetryDecision.GiveUp(failed)
  }

  private def treatmentOf(fault: Fault, hasWorked: Boolean): Treatment = fault match {
    case _: Fault.Throttled if endless(Slowdown.Throttling)        => Treatment.Endless
    case _: Fault.ResourceInUse if endless(Slowdown.ResourceInUse) => Treatment.Endless
    case _: Fault.Disconnected                                     => Treatment.Bounded
    case _: Fault.Throttled | _: Fault.ResourceInUse               => Treatment.Counted
    case _: Fault.Transient                                        => Treatment.Counted
    case _: Fault.Suspect if hasWorked                             => Treatment.Counted
    case _: Fault.Suspect                                          => Treatment.LikelyMistake(suspectRetries)
    case _: Fault.NotFound                                         => Treatment.LikelyMistake(notFoundRetries)
    case _: Fault.ExpiredIterator | _: Fault.ExpiredNextToken | _: Fault.InvalidArgument | _: Fault.Cancelled |
        _: Fault.Denied | _: Fault.Fatal =>
      Treatment.Never
  }
}

object RetryPolicy {

  /** Retries of a failure that is more likely a mistake than an outage: so a wrong host is reported within seconds. */
  val SuspectRetries = 5

  /** As the options have it for a call. */
  def of(call: AwsCall, retries: CallRetries): RetryPolicy = {
    val options = retries.of(call.toString)
    RetryPolicy(Backoff.of(options), retries.maxDuration, options.maxRetries, slowdowns(call))
  }

  private def slowdowns(call: AwsCall): Set[Slowdown] = call match {
    case AwsCall.GetRecords | AwsCall.GetShardIterator => Set(Slowdown.Throttling)
    case AwsCall.SubscribeToShard | AwsCall.PutRecords => Set(Slowdown.Throttling, Slowdown.ResourceInUse)
    case _                                             => Set.empty
  }

  /** The service's ways to slow callers down. */
  sealed trait Slowdown
  object Slowdown {
    case object Throttling    extends Slowdown
    case object ResourceInUse extends Slowdown
  }

  private[aws] sealed trait Treatment
  private[aws] object Treatment {
    case object Endless                          extends Treatment
    case object Bounded                          extends Treatment
    case object Counted                          extends Treatment
    final case class LikelyMistake(retries: Int) extends Treatment
    case object Never                            extends Treatment
  }
}

/** The failures in a row of one call, shard or stream.
  *
  * @param failures all of them, which the backoff grows with
  * @param counted  those that `maxRetries` limits
  * @param mistakes those of which only a few are retried: NotFound, and Suspect before anything has worked
  * @param since    when the first of those failed that `maxDuration` limits, in ns
  */
final case class RetryHistory(failures: Int, counted: Int, mistakes: Int, since: Option[Long]) {
  import RetryPolicy.Treatment

  /** There is no demand for the call any more: the time until the next one does not count. */
  def rested: RetryHistory = copy(since = None)

  /** The call could not be made for a time, which does not count. */
  def heldUp(nanos: Long): RetryHistory = copy(since = since.map(_ + nanos))

  private[aws] def failed(treatment: Treatment, now: Long): RetryHistory = {
    val more = copy(failures = failures + 1)
    treatment match {
      case Treatment.Endless          => more.copy(mistakes = 0)
      case Treatment.Bounded          => more.copy(mistakes = 0, since = since.orElse(Some(now)))
      case Treatment.Counted          => more.copy(mistakes = 0, counted = counted + 1, since = since.orElse(Some(now)))
      case Treatment.LikelyMistake(_) => more.copy(mistakes = mistakes + 1, since = since.orElse(Some(now)))
      case Treatment.Never            => more
    }
  }

  private[aws] def isLongerThan(limit: Duration, now: Long): Boolean =
    limit.isFinite && since.exists(now - _ > limit.toNanos)
}

object RetryHistory {
  val none: RetryHistory = RetryHistory(0, 0, 0, None)
}

/** What follows a failed call. */
sealed trait RetryDecision {

  /** With the failure that was decided on. */
  def history: RetryHistory
}

object RetryDecision {
  final case class Retry(after: FiniteDuration, history: RetryHistory) extends RetryDecision
  final case class GiveUp(history: RetryHistory)                       extends RetryDecision
}

/** How long to wait before the next attempt: exponential, capped, with full jitter, so that callers who failed together don't
  * come back together. Pure: chance is a parameter.
  *
  * @param base   the cap of the first wait
  * @param max    the cap of any wait
  * @param factor by which the cap grows
  * @see [[https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/ exponential backoff and jitter]]
  */
final case class Backoff(base: FiniteDuration, max: FiniteDuration, factor: Double = 2.0) {
  require(base.toMillis > 0 && max >= base && factor >= 1.0, s"not a backoff: $this")

  /** @param attempt failures so far, from 1 */
  def ceiling(attempt: Int): FiniteDuration =
    FiniteDuration(
      math.min(max.toMillis.toDouble, base.toMillis * math.pow(factor, attempt - 1.0)).toLong,
      MILLISECONDS
    )

  /** @param chance uniform in [0, 1) */
  def delay(attempt: Int, chance: Double): FiniteDuration =
    FiniteDuration((ceiling(attempt).toMillis * chance).toLong, MILLISECONDS)
}

object Backoff {
  def of(options: RetryOptions): Backoff = Backoff(options.base, options.max, options.factor)
}
