package io.github.kinesisspark.aws

import java.util.concurrent.CompletableFuture

import scala.annotation.tailrec
import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.kinesisspark.runtime.Runtime

/** Calls that a thread of the driver or of a task waits for. An interrupt ends them at once; [[RetryPolicy]] decides which failures are
  * retried.
  *
  * @param hasWorked   whether a call of the client has ever succeeded
  * @param stuckTime   after which a call is given up that the SDK never ends
  */
private[aws] final class BlockingCalls(
    hasWorked: () => Boolean,
    stuckTime: FiniteDuration,
    observer: CallObserver
)(implicit runtime: Runtime) {
  import BlockingCalls._

  /** One attempt.
    *
    * @throws java.lang.InterruptedException where the thread was interrupted
    */
  def once[A](action: AwsCall)(send: => CompletableFuture[A]): Either[Fault, A] = {
    var answer: CompletableFuture[A] = null
    observer.called(action)
    try {
      answer = send
      Right(runtime.waits.get(answer, stuckTime))
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
    * @param left time for all of them
    * @throws PagingExpired    for the caller to begin again
    * @throws KinesisException for a failure that isn't retried, or not any more
    */
  def call[A](action: AwsCall, resource: String, policy: RetryPolicy, left: () => Duration = () => Duration.Inf)(
      send: => CompletableFuture[A]
  ): A = {
    @tailrec def attempt(history: RetryHistory): A = once(action)(send) match {
      case Right(answer) => answer
      case Left(fault)   =>
        decide(policy, fault, history) match {
          case RetryDecision.Retry(wait, failed) if wait < left() =>
            pause(s"$action ${fault.kind.errorClass}", resource, KinesisFault.describe(action, resource, fault), wait)
            attempt(failed)
          case decision => throw giveUp(action, resource, fault, decision.history.failures)
        }
    }
    attempt(RetryHistory.none)
  }

  /** Repeats the whole question while its paging tokens expire, a few times. */
  def restarting[A](backoff: Backoff)(question: => A): A = {
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

  def decide(policy: RetryPolicy, fault: Fault, history: RetryHistory): RetryDecision =
    policy.decide(fault, history, hasWorked(), runtime.clock.nanos(), runtime.ids.chance())

  def pause(kind: String, resource: String, why: => String, wait: FiniteDuration): Unit = {
    observer.waits(kind, resource, why, wait)
    runtime.waits.sleep(wait)
  }

  private def giveUp(action: AwsCall, resource: String, fault: Fault, failures: Int): Throwable = fault match {
    case _: Fault.ExpiredNextToken => new PagingExpired(KinesisFault.exception(action, resource, fault, failures))
    case _                         => KinesisFault.exception(action, resource, fault, failures)
  }
}

private[aws] object BlockingCalls {

  /** Repetitions of a question whose paging token expired. */
  private val MostRestarts = 8

  /** The paging token has expired: the question's pages have to be read again from the first. */
  final class PagingExpired(val failure: KinesisException)
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
