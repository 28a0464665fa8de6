package io.github.kinesisspark.aws

import java.time.{Duration => JavaDuration}
import java.util.concurrent.CompletableFuture

import scala.concurrent.duration._

/** Retries of questions about streams and shards, by [[RetryPolicy]].
  *
  * @param maxDuration for one question, with all its attempts, pages and waits
  * @param hasWorked   whether a call of the client has ever succeeded
  * @param attemptTime for one HTTP call
  */
final case class DirectoryRetry(
    maxDuration: FiniteDuration = DirectoryRetry.DefaultDuration,
    hasWorked: () => Boolean = () => false,
    attemptTime: FiniteDuration = 20.seconds,
    backoff: Backoff = Backoff(300.millis, 5.seconds),
    observer: CallObserver = CallObserver.silent,
    time: BlockingTime = BlockingTime.real
) {
  import DirectoryRetry._

  private val policy = RetryPolicy(backoff, maxDuration)
  private val calls  = new BlockingCalls(attemptTime, hasWorked, time, observer)

  private[kinesisspark] def attemptTimeout: JavaDuration = calls.attemptTimeout

  private[kinesisspark] def deadline(): Deadline = new Deadline(time.nanos, maxDuration)

  private[kinesisspark] def call[A](action: AwsCall, resource: String)(send: => CompletableFuture[A]): A =
    call(action, resource, deadline())(send)

  /** @throws BlockingCalls.PagingExpired for the caller to begin again
    * @throws KinesisException            for a failure that isn't retried, or not any more
    */
  private[aws] def call[A](action: AwsCall, resource: String, deadline: Deadline)(send: => CompletableFuture[A]): A =
    calls.call(action, resource, policy, () => deadline.left)(send)

  /** Repeats the whole question while its paging tokens expire.
    *
    * @throws KinesisException as `question` does, or `KINESIS_PAGING_EXPIRED`
    */
  private[aws] def restarting[A](question: => A): A = calls.restarting(backoff)(question)
}

object DirectoryRetry {

  /** The default of `maxRetryDuration`. */
  val DefaultDuration: FiniteDuration = 15.minutes

  /** For the questions of one client's user. */
  def of(lease: ClientLease, maxDuration: FiniteDuration = DefaultDuration): DirectoryRetry =
    DirectoryRetry(maxDuration, () => lease.hasWorked, observer = CallObserver.warning)

  /** The time limit of one question.
    *
    * @param nanos by a clock that never goes back
    */
  private[kinesisspark] final class Deadline(nanos: () => Long, limit: FiniteDuration) {
    private val began = nanos()

    def left: FiniteDuration = (limit - (nanos() - began).nanos).max(Duration.Zero)
  }
}
