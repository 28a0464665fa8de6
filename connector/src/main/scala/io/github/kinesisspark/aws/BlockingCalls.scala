package io.github.kinesisspark.aws

import java.util.concurrent.CompletableFuture

import scala.annotation.tailrec
import scala.concurrent.duration._
import scala.jdk.DurationConverters._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration

import io.github.kinesisspark.config.CallRetries
import io.github.kinesisspark.runtime.Runtime

/** Calls that a thread of the driver or of a task waits for. An interrupt ends them at once; [[RetryPolicy]] decides which failures are
  * retried.
  *
  * @param retries   of each call
  * @param hasWorked whether a call of the client has ever succeeded
  * @param isNew     whether the stream may have been created a moment ago
  */
final case class BlockingCalls(
    retries: CallRetries,
    hasWorked: () => Boolean,
    observer: CallObserver,
    isNew: Boolean = false
)(implicit val runtime: Runtime) {
  import BlockingCalls._

  /** The time limit of one attempt, for a request. */
  private[kinesisspark] def inTime: AwsRequestOverrideConfiguration =
    AwsRequestOverrideConfiguration.builder.apiCallAttemptTimeout(retries.attemptTime.toJava).build

  /** The time limit of a question that begins now, with all its attempts, pages and waits. */
  private[kinesisspark] def deadline(): Deadline = deadline(retries.maxDuration)

  private[aws] def deadline(within: FiniteDuration): Deadline = new Deadline(() => runtime.clock.nanos(), within)

  /** Such calls that are retried for a shorter time. */
  private[kinesisspark] def within(time: FiniteDuration): BlockingCalls = copy(retries.within(time))

  /** One attempt.
    *
    * @throws java.lang.InterruptedException where the thread was interrupted
    */
  private[aws] def once[A](action: AwsCall)(send: => CompletableFuture[A]): Either[Fault, A] = {
    var answer: CompletableFuture[A] = null
    observer.called(action)
    try {
      answer = send
      Right(runtime.waits.get(answer, retries.stuckTime))
    } catch {
      case e: InterruptedException =>
        if (answer != null) answer.cancel(true)
        throw e
      case NonFatal(e) =>
        if (answer != null) answer.cancel(true)
        Left(FaultClassifier.classify(e))
    }
  }

  /** Makes as many attempts as the policy allows.
    *
    * @param deadline for all of them, if there is one besides that of the policy
    * @throws PagingExpired    for the caller to begin again
    * @throws KinesisException for a failure that isn't retried, or not any more
    */
  private[kinesisspark] def call[A](action: AwsCall, resource: String, deadline: Option[Deadline] = None)(
      send: => CompletableFuture[A]
  ): A = {
    val policy                                     = policyOf(action)
    @tailrec def attempt(history: RetryHistory): A = once(action)(send) match {
      case Right(answer) => answer
      case Left(fault)   =>
        policy.decide(fault, history, hasWorked(), runtime.clock.nanos(), runtime.ids.chance()) match {
          case RetryDecision.Retry(wait, failed) if deadline.forall(wait < _.left) =>
            pause(s"$action ${fault.kind.errorClass}", resource, KinesisFault.describe(action, resource, fault), wait)
            attempt(failed)
          case decision => throw giveUp(action, resource, fault, decision.history.failures)
        }
    }
    attempt(RetryHistory.none)
  }

  /** Repeats a question of several pages while their tokens expire, a few times.
    *
    * @param action of each page
    * @throws KinesisException as `question` does, or `KINESIS_PAGING_EXPIRED`
    */
  private[aws] def restarting[A](action: AwsCall)(question: => A): A = {
    val backoff                            = policyOf(action).backoff
    @tailrec def attempt(failures: Int): A = {
      val answer =
        try Right(question)
        catch { case e: PagingExpired => Left(e.failure) }
      answer match {
        case Right(a)                                  => a
        case Left(failure) if failures >= MostRestarts => throw failure
        case Left(failure)                             =>
          pause(failure.errorClass, "", failure.getMessage, backoff.delay(failures + 1, runtime.ids.chance()))
          attempt(failures + 1)
      }
    }
    attempt(0)
  }

  private def policyOf(action: AwsCall) = {
    val policy = RetryPolicy.of(action, retries)
    if (isNew) policy.retryingNotFound else policy
  }

  private[aws] def pause(kind: String, resource: String, why: => String, wait: FiniteDuration): Unit = {
    observer.waits(kind, resource, why, wait)
    runtime.waits.sleep(wait)
  }

  private def giveUp(action: AwsCall, resource: String, fault: Fault, failures: Int): Throwable = fault match {
    case _: Fault.ExpiredNextToken => new PagingExpired(KinesisFault.exception(action, resource, fault, failures))
    case _                         => KinesisFault.exception(action, resource, fault, failures)
  }
}

object BlockingCalls {

  /** Those of one client's user. */
  def of(lease: ClientLease)(implicit runtime: Runtime): BlockingCalls =
    BlockingCalls(lease.retries, () => lease.hasWorked, CallObserver.warning)

  /** @param nanos by a clock that never goes back */
  private[kinesisspark] final class Deadline(nanos: () => Long, limit: FiniteDuration) {
    private val began = nanos()

    def left: FiniteDuration = (limit - (nanos() - began).nanos).max(Duration.Zero)
  }

  /** Repetitions of a question whose paging token expired. */
  private val MostRestarts = 8

  /** The paging token has expired: the question's pages have to be read again from the first. */
  private[aws] final class PagingExpired(val failure: KinesisException)
      extends KinesisException(failure.errorClass, failure.bareMessage, failure)
}

/** Logs or counts blocking calls and their waits. */
private[kinesisspark] trait CallObserver {

  def called(action: AwsCall): Unit

  /** @param kind     of what is waited for
    * @param resource what the call is for
    * @param why      one sentence: what came back, or what is waited for
    */
  def waits(kind: String, resource: String, why: => String, wait: FiniteDuration): Unit
}

private[kinesisspark] object CallObserver {
  private val log = LoggerFactory.getLogger(classOf[CallObserver])

  /** At the end of a shard's name. */
  private val ShardId = "/shardId-\\d+$".r

  /** Warns of waits, because the query stands still meanwhile. */
  def warning(implicit runtime: Runtime): CallObserver = new CallObserver {
    override def called(action: AwsCall): Unit                                                     = ()
    override def waits(kind: String, resource: String, why: => String, wait: FiniteDuration): Unit =
      runtime.lines.warn(log, s"$kind ${ShardId.replaceFirstIn(resource, "")}", resource)(
        s"$why Next attempt in ${wait.toMillis} ms."
      )
  }
}
