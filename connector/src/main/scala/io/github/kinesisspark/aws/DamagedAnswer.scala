package io.github.kinesisspark.aws

import java.util.concurrent.CompletableFuture

import scala.util.control.NonFatal

import software.amazon.awssdk.services.kinesis.model.GetRecordsResponse

/** An answer, or an event, that the SDK could read and that still isn't one of Kinesis's: something that every answer has is missing, or
  * isn't what it should be. It is never taken for less than there is, nor for the end of a shard.
  */
final class DamagedAnswer(what: String, cause: Throwable = null) extends RuntimeException(what, cause)

object DamagedAnswer {

  /** @throws DamagedAnswer whatever goes wrong in reading it */
  def unlessRead[A](read: => A): A =
    try read
    catch {
      case damaged: DamagedAnswer => throw damaged
      case NonFatal(e)            => throw new DamagedAnswer(s"Something in it can't be read ($e)", e)
    }

  /** The same of an answer to come; to cancel it cancels the call. */
  def unlessRead[A, B](call: CompletableFuture[A])(read: A => B): CompletableFuture[B] = {
    val all = call.thenApply[B](answer => unlessRead(read(answer)))
    val _   = all.whenComplete((_, _) => if (all.isCancelled) call.cancel(true): Unit)
    all
  }

  /** An answer without an iterator is a shard's last, if it is an answer at all. */
  def unlessGoesOn(answer: GetRecordsResponse): Unit =
    if (answer.nextShardIterator == null && !answer.hasRecords)
      throw new DamagedAnswer("It has neither Records nor a NextShardIterator")

  /** @return what every answer has */
  def has[A](value: A, what: String): A = if (value == null) throw new DamagedAnswer(s"It has no $what") else value
}
