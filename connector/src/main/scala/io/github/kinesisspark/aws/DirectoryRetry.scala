package io.github.kinesisspark.aws

import java.time.{Duration => JavaDuration}
import java.util.concurrent.CompletableFuture

import scala.concurrent.duration._

/** How the driver's questions about streams are repeated.
  *
  * | fault | treatment |
  * |---|---|
  * | throttled, resource in use | again until the total time is over |
  * | transient, self-healing | up to `attempts`, within the total time |
  * | other transient | up to `doubtfulAttempts` |
  * | all others | told at once |
  *
  * @param totalTime        for one question, all its attempts, pages and waits
  * @param attemptTime      for one HTTP call
  * @param doubtfulAttempts for what is more likely a mistake than weather: a wrong host must not take minutes to be told
  */
final case class DirectoryRetry(
    totalTime: FiniteDuration = 2.minutes,
    attemptTime: FiniteDuration = 20.seconds,
    attempts: Int = 8,
    doubtfulAttempts: Int = 6,
    backoff: Backoff = Backoff(300.millis, 5.seconds),
    waiting: Waiting = Waiting.real
) {
  import DirectoryRetry._

  private val calls = new BlockingCalls(attemptTime, waiting)

  private[aws] def attemptTimeout: JavaDuration = calls.attemptTimeout

  private[aws] def deadline(): Deadline = new Deadline(waiting.now, waiting.now() + totalTime.toMillis)

  private[aws] def call[A](action: String, resource: String)(send: => CompletableFuture[A]): A =
    call(action, resource, deadline())(send)

  /** @throws BlockingCalls.PagingExpired for the caller to begin again
    * @throws KinesisException            for what can't be mended, or not in time
    */
  private[aws] def call[A](action: String, resource: String, deadline: Deadline)(send: => CompletableFuture[A]): A =
    calls.call(
      action,
      resource,
      (fault, failures) => Option.when(mayRepeat(fault, failures))(failures).flatMap(within(deadline, _))
    )(send)

  /** The whole of `question` again while its pages expire, as often as a transient fault would be repeated.
    *
    * @throws KinesisException as `question` does, or `KINESIS_PAGING_EXPIRED`
    */
  private[aws] def restarting[A](deadline: Deadline)(question: => A): A =
    calls.restarting(failures => Option.when(failures < attempts)(failures).flatMap(within(deadline, _)))(question)

  private def within(deadline: Deadline, failures: Int): Option[FiniteDuration] =
    Some(backoff.delay(failures, waiting.chance())).filter(_ < deadline.left)

  private[aws] def mayRepeat(fault: Fault, failures: Int): Boolean = fault match {
    case _: Fault.Throttled | _: Fault.ResourceInUse => true
    case Fault.Transient(_, _, selfHealing)          => failures < (if (selfHealing) attempts else doubtfulAttempts)
    case _: Fault.ExpiredIterator | _: Fault.ExpiredNextToken | _: Fault.NotFound | _: Fault.InvalidArgument |
        _: Fault.Cancelled | _: Fault.Fatal =>
      false
  }
}

object DirectoryRetry {

  /** When a question must be answered. */
  private[aws] final class Deadline(now: () => Long, end: Long) {
    def left: FiniteDuration = (end - now()).max(0).millis
  }
}
