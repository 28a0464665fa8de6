package io.github.kinesisspark.aws

import java.time.{Duration => JavaDuration}
import java.util.concurrent.{CompletableFuture, ThreadLocalRandom, TimeUnit}

import scala.annotation.tailrec
import scala.concurrent.duration._
import scala.util.control.NonFatal

/** How the driver's blocking calls are repeated. Time and chance come from outside, for tests.
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
    now: () => Long = () => System.currentTimeMillis(),
    chance: () => Double = () => ThreadLocalRandom.current().nextDouble(),
    sleep: FiniteDuration => Unit = d => Thread.sleep(d.toMillis)
) {
  import DirectoryRetry._

  private[aws] def attemptTimeout: JavaDuration = JavaDuration.ofMillis(attemptTime.toMillis)

  private[aws] def deadline(): Deadline = new Deadline(now, now() + totalTime.toMillis)

  private[aws] def call[A](action: String, resource: String)(send: => CompletableFuture[A]): A =
    call(action, resource, deadline())(send)

  /** @throws DirectoryRetry.PagingExpired for the caller to begin again
    * @throws KinesisException            for what can't be mended, or not in time
    */
  private[aws] def call[A](action: String, resource: String, deadline: Deadline)(send: => CompletableFuture[A]): A = {
    @tailrec def attempt(failures: Int): A = once(send) match {
      case Right(answer) => answer
      case Left(fault)   =>
        val failed = failures + 1
        val wait   = backoff.delay(failed, chance())
        if (!mayRepeat(fault, failed) || deadline.left <= wait) throw giveUp(action, resource, fault, failed)
        sleep(wait)
        attempt(failed)
    }
    attempt(0)
  }

  private def once[A](send: => CompletableFuture[A]): Either[Fault, A] = {
    var answer: CompletableFuture[A] = null
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

  /** The whole of `question` again while its pages expire, as often as a transient fault would be repeated.
    *
    * @throws KinesisException as `question` does, or `KINESIS_PAGING_EXPIRED`
    */
  private[aws] def restarting[A](deadline: Deadline)(question: => A): A = {
    @tailrec def attempt(failures: Int): A = {
      val answer =
        try Right(question)
        catch { case e: PagingExpired => Left(e.failure) }
      answer match {
        case Right(a)      => a
        case Left(failure) =>
          val wait = backoff.delay(failures + 1, chance())
          if (failures + 1 >= attempts || deadline.left <= wait) throw failure
          sleep(wait)
          attempt(failures + 1)
      }
    }
    attempt(0)
  }

  private[aws] def mayRepeat(fault: Fault, failures: Int): Boolean = fault match {
    case _: Fault.Throttled | _: Fault.ResourceInUse => true
    case Fault.Transient(_, _, selfHealing)          => failures < (if (selfHealing) attempts else doubtfulAttempts)
    case _: Fault.ExpiredIterator | _: Fault.ExpiredNextToken | _: Fault.NotFound | _: Fault.InvalidArgument |
        _: Fault.Cancelled | _: Fault.Fatal =>
      false
  }

  private def giveUp(action: String, resource: String, fault: Fault, failures: Int): Throwable = fault match {
    case _: Fault.ExpiredNextToken => new PagingExpired(KinesisFault.exception(action, resource, fault, failures))
    case _                         => KinesisFault.exception(action, resource, fault, failures)
  }
}

object DirectoryRetry {

  /** When a question must be answered. */
  private[aws] final class Deadline(now: () => Long, end: Long) {
    def left: FiniteDuration = (end - now()).max(0).millis
    def isOver: Boolean      = left <= Duration.Zero
  }

  /** Not an error of the question: its pages have to be read again from the first. */
  private[aws] final class PagingExpired(val failure: KinesisException)
      extends RuntimeException(failure.getMessage, failure)
}
