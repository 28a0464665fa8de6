package io.github.kinesisspark.write

import java.util.concurrent.{CompletableFuture, LinkedBlockingQueue, TimeUnit}

import scala.annotation.tailrec
import scala.collection.mutable

import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.config.StreamRef
import io.github.kinesisspark.write.send.{BadRecord, CallAnswer, End, Entry, Sending, Totals}

/** Makes the calls that [[Sending]] decides on, for one task and on its thread alone, which waits only while there is no room for another
  * record, or at the end. An answer is put into a queue by whichever thread it comes on, and nothing else happens there.
  *
  * @param put       makes a call; must not throw
  * @param bad       is told of records that only the service found to be too large
  * @param isKilled  whether Spark wants the task to end
  * @param chance    uniform in [0, 1)
  */
private[write] final class TaskWriter(
    start: Sending,
    put: (StreamRef, Vector[Entry]) => CompletableFuture[CallAnswer],
    bad: BadRecord => Unit,
    isKilled: () => Boolean,
    chance: () => Double
) extends AutoCloseable {
  import TaskWriter._

  private val answers  = new LinkedBlockingQueue[(Long, CallAnswer)]
  private val underWay = mutable.Map.empty[Long, CompletableFuture[CallAnswer]]
  private val began    = System.nanoTime()
  private var sending  = start

  def totals: Totals = sending.totals

  /** Takes the record in; some may be sent now.
    *
    * @throws KinesisException for what can't be mended, or not in time
    */
  def write(entry: Entry): Unit = {
    sending = sending.add(entry)
    advance(flush = false)
    while (!sending.hasRoom) await(flush = false)
  }

  /** Returns when the service has taken every record.
    *
    * @throws KinesisException for what can't be mended, or not in time
    */
  def flush(): Unit = {
    advance(flush = true)
    while (!sending.isEmpty) await(flush = true)
  }

  /** What is under way is given up. */
  override def close(): Unit = underWay.values.foreach(_.cancel(true))

  private def await(flush: Boolean): Unit = {
    val wait = sending.wakeAt(flush).fold(LongestWait)(at => math.min(LongestWait, math.max(0, at - now)))
    Option(answers.poll(wait, TimeUnit.MILLISECONDS)).foreach(accept)
    if (isKilled()) throw new InterruptedException("The task is being killed")
    advance(flush)
  }

  @tailrec private def advance(flush: Boolean): Unit = {
    takeAnswers()
    val (next, call) = sending.next(now, flush)
    sending = next
    call match {
      case None    => ()
      case Some(c) =>
        val answer = put(c.stream, c.entries)
        underWay(c.call) = answer
        answer.whenComplete((a, _) => if (a != null) answers.add((c.call, a)): Unit): Unit
        advance(flush)
    }
  }

  @tailrec private def takeAnswers(): Unit = answers.poll() match {
    case null   => ()
    case answer =>
      accept(answer)
      takeAnswers()
  }

  private def accept(answer: (Long, CallAnswer)): Unit = {
    underWay -= answer._1
    sending.answered(answer._1, answer._2, now, chance()) match {
      case Right(step) =>
        sending = step.next
        step.bad.foreach(bad)
      case Left(end) => throw failure(end)
    }
  }

  private def failure(end: End): Throwable = end match {
    case End.Failed(error)                                        => error
    case End.TooLong(record, millis, shard, code, message, cause) =>
      val where = shard.fold("")(id => s", shard $id")
      new KinesisException(
        "KINESIS_WRITE_TIMED_OUT",
        s"PutRecords to stream ${record.entry.stream}$where: row ${record.entry.row} has been refused for " +
          s"${millis / 1000} s, ${record.tries} times, last with $code: $message. The service has taken ${totals.records} " +
          s"records of this task; ${sending.heldRecords} are left. Spread the keys, give the stream more shards, " +
          "or allow more time by maxRetryDuration.",
        cause.orNull
      )
  }

  private def now: Long = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began)
}

private object TaskWriter {

  // A killed task must not wait for an answer to notice it.
  private val LongestWait = 500L
}
