package io.github.kinesisspark.aws

import java.time.{Duration => JavaDuration}
import java.util.concurrent.CompletableFuture

import scala.concurrent.duration._
import scala.jdk.DurationConverters._

import io.github.kinesisspark.config.CallRetries
import io.github.kinesisspark.runtime.Runtime

/** Retries of questions about streams and shards, by [[RetryPolicy]].
  *
  * @param retries   of each call; their time is that of one question, with all its attempts, pages and waits
  * @param hasWorked whether a call of the client has ever succeeded
  * @param isNew     whether the stream may have been created a moment ago
  */
final case class DirectoryRetry(
    retries: CallRetries,
    hasWorked: () => Boolean,
    observer: CallObserver,
    isNew: Boolean = false
)(implicit val runtime: Runtime) {
  import DirectoryRetry._

  private val calls = new BlockingCalls(hasWorked, retries.stuckTime, observer)

  def maxDuration: FiniteDuration = retries.maxDuration

  private[kinesisspark] def attemptTimeout: JavaDuration = retries.attemptTime.toJava

  private[kinesisspark] def deadline(): Deadline = new Deadline(() => runtime.clock.nanos(), maxDuration)

  private[aws] def call[A](action: AwsCall, resource: String)(send: => CompletableFuture[A]): A =
    call(action, resource, deadline())(send)

  /** @throws BlockingCalls.PagingExpired for the caller to begin again
    * @throws KinesisException            for a failure that isn't retried, or not any more
    */
  private[kinesisspark] def call[A](action: AwsCall, resource: String, deadline: Deadline)(
      send: => CompletableFuture[A]
  ): A =
    calls.call(action, resource, policyOf(action), () => deadline.left)(send)

  /** Repeats a question of several pages while their tokens expire.
    *
    * @param action of each page
    * @throws KinesisException as `question` does, or `KINESIS_PAGING_EXPIRED`
    */
  private[aws] def restarting[A](action: AwsCall)(question: => A): A =
    calls.restarting(policyOf(action).backoff)(question)

  private def policyOf(action: AwsCall) = {
    val policy = RetryPolicy.of(action, retries)
    if (isNew) policy.retryingNotFound else policy
  }
}

object DirectoryRetry {

  /** For the questions of one client's user. */
  def of(lease: ClientLease)(implicit runtime: Runtime): DirectoryRetry = of(lease, lease.retries.maxDuration)

  /** The same with another patience. */
  def of(lease: ClientLease, maxDuration: FiniteDuration)(implicit runtime: Runtime): DirectoryRetry =
    DirectoryRetry(lease.retries.within(maxDuration), () => lease.hasWorked, CallObserver.warning)

  /** The time limit of one question.
    *
    * @param nanos by a clock that never goes back
    */
  private[kinesisspark] final class Deadline(nanos: () => Long, limit: FiniteDuration) {
    private val began = nanos()

    def left: FiniteDuration = (limit - (nanos() - began).nanos).max(Duration.Zero)
  }
}
