package io.github.kinesisspark.aws

import java.time.{Duration => JavaDuration}
import java.util.concurrent.{CompletableFuture, TimeUnit}

import scala.annotation.tailrec
import scala.concurrent.duration.FiniteDuration
import scala.util.control.NonFatal

/** Calls that the driver waits for. An interrupt ends them at once; who asks decides which failures are tried again.
  *
  * @param attemptTime for one HTTP call
  */
private[aws] final class BlockingCalls(
    attemptTime: FiniteDuration,
    waiting: Waiting,
    observer: CallObserver = CallObserver.silent
) {
  import BlockingCalls._

  def attemptTimeout: JavaDuration = JavaDuration.ofMillis(attemptTime.toMillis)

  /** One attempt.
    *
    * @throws java.lang.InterruptedException where the thread was interrupted
    */
  def once[A](action: String)(send: => CompletableFuture[A]): Either[Fault, A] = {
    var answer: CompletableFuture[A] = null
    observer.called(action)
    try {
      answer = send
      // The SDK's own limit on the attempt ends it earlier; this one is for the time before the call is under way (credentials).
      Right(answer.get(attemptTime.toMillis * 2, TimeUnit.MILLISECONDS))
    } catch {
      case e: InterruptedException =>
        if (answer != null) answer.cancel(true)
        throw e
      case NonFatal(e) =>
        if (answer != null) answer.cancel(true)
        FaultClassifier.classify(e) match {
          // Inside the SDK's own waits, for credentials, an interrupt becomes an exception of its own.
          case _: Fault.Cancelled if Thread.interrupted() => throw new InterruptedException(e.getMessage)
          case fault                                      => Left(fault)
        }
    }
  }

  /** As many attempts as `again` wants.
    *
    * @throws PagingExpired    for the caller to begin again
    * @throws KinesisException for what can't be mended, or not in time
    */
  def call[A](action: String, resource: String, again: Again)(send: => CompletableFuture[A]): A = {
    @tailrec def attempt(failures: Int): A = once(action)(send) match {
      case Right(answer) => answer
      case Left(fault)   =>
        val failed = failures + 1
        again(fault, failed) match {
          case Some(wait) =>
            pause(KinesisFault.describe(action, resource, fault), wait)
            attempt(failed)
          case None => throw giveUp(action, resource, fault, failed)
        }
    }
    attempt(0)
  }

  /** The whole of `question` again while its pages expire.
    *
    * @param again the wait after so many failures, if there is to be another try
    * @throws KinesisException as `question` does, or `KINESIS_PAGING_EXPIRED`
    */
  def restarting[A](again: Int => Option[FiniteDuration])(question: => A): A = {
    @tailrec def attempt(failures: Int): A = {
      val answer =
        try Right(question)
        catch { case e: PagingExpired => Left(e.failure) }
      answer match {
        case Right(a)      => a
        case Left(failure) =>
          pause(failure.getMessage, again(failures + 1).getOrElse(throw failure))
          attempt(failures + 1)
      }
    }
    attempt(0)
  }

  def pause(why: => String, wait: FiniteDuration): Unit = {
    observer.waits(why, wait)
    waiting.sleep(wait)
  }

  private def giveUp(action: String, resource: String, fault: Fault, failures: Int): Throwable = fault match {
    case _: Fault.ExpiredNextToken => new PagingExpired(KinesisFault.exception(action, resource, fault, failures))
    case _                         => KinesisFault.exception(action, resource, fault, failures)
  }
}

private[aws] object BlockingCalls {

  /** How long to wait after this failure, the so-and-so-manyth of a call (from 1), if it is to be tried again. */
  type Again = (Fault, Int) => Option[FiniteDuration]

  /** Not an error of the question: its pages have to be read again from the first. */
  final class PagingExpired(val failure: KinesisException)
      extends KinesisException(failure.errorClass, failure.getMessage.stripPrefix(s"[${failure.errorClass}] "), failure)
}
