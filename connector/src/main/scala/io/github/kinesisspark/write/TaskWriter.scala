package io.github.kinesisspark.write

import java.util.concurrent.CompletableFuture

import scala.annotation.tailrec
import scala.collection.mutable
import scala.concurrent.duration._
import scala.util.Try

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.config.{Linger, StreamRef}
import io.github.kinesisspark.runtime.{TryLock, WaitingQueue}
import io.github.kinesisspark.write.pack.Packing
import io.github.kinesisspark.write.send.{BadRecord, CallAnswer, Entry, SendFailure, Sending, SizeLimits}

/** Makes the calls that [[Sending]] decides on, for one task and on its thread, which waits only while there is no room for another
  * record, for a list of shards, or at the end. The SDK's threads only put answers into a queue.
  *
  * Rows of a streaming query may come slowly. While rows are held and the task's thread waits for the next one, a timer sends them in
  * calls that aren't full, and sends refused records again. Its failure is thrown at the next row, or at the end.
  *
  * @param packing  makes records of rows
  * @param put      makes a call; what it throws is not retried
  * @param bad      receives records that only the service found to be too large
  * @param isKilled whether Spark wants the task to end
  * @param linger   how long rows wait for a fuller call; left out, until it is full
  */
private[write] final class TaskWriter(
    start: Sending,
    packing: Packing,
    put: (StreamRef, Vector[Entry]) => CompletableFuture[CallAnswer],
    bad: BadRecord => Unit,
    isKilled: () => Boolean,
    linger: Option[Linger],
    writers: WriterRuntime
) extends AutoCloseable {
  import TaskWriter._
  import writers.runtime

  private val answers  = new WaitingQueue[Answered]
  private val underWay = mutable.Map.empty[Long, CompletableFuture[CallAnswer]]
  private val began    = runtime.clock.nanos()
  private var sending  = start
  private var times    = CallTimes.none

  // Rows that nobody has looked at yet: a block of them costs a fraction of each by itself.
  private val block      = Vector.newBuilder[Entry]
  private var blockRows  = 0
  private var blockBytes = 0L

  /** When earlier rows can be sent that can't be now. */
  private var due = Option.empty[Long]

  /** Since when there has been no room for another row, as of the last step. */
  private var fullSince = Option.empty[Long]

  /** As of the last step, for readers without the lock. */
  @volatile private var counted = SinkCounts.none

  /** Guards all other state, also while shards are listed and calls are made. Only the task's own thread waits for it, and looks meanwhile whether the task
    * is killed: the timer comes again later, and the SDK's threads don't use it.
    */
  private val lock   = new TryLock
  private var failed = Option.empty[Throwable]

  /** Sends the rows that are held. */
  private var timed = Option.empty[Timed]

  /** Sends what could not be sent before. */
  private var woken = Option.empty[Timed]

  private var nextRow = 0L

  /** Rows before this one have waited for `linger`. One that comes back from a call, or had to wait for another of its key, is sent at once. One that is packed
    * anew after a reshard waits again.
    */
  private var overdue = 0L

  /** Error classes of calls that were sent again. */
  private var reported = Set.empty[String]

  private val timer = new InterruptibleRun

  /** Without skipped rows, which `bad` counts. */
  def counts: SinkCounts = counted

  /** Takes the row in; some may be sent now.
    *
    * @throws KinesisException for a failure that isn't retried, or not any more
    */
  def write(row: Entry): Unit = onTask {
    nextRow = row.row.row + 1
    block += row
    blockRows += 1
    blockBytes += row.weight
    if (isBlockFull || !answers.isEmpty || due.exists(_ <= now)) {
      advance(flush = false)
      while (!hasRoom || sending.isAhead) await(flush = false)
    }
    startTimers()
  }

  private def isBlockFull = blockRows >= BlockRows || blockBytes >= BlockBytes.min(sending.settings.bufferSize / 8)

  private def takeBlock(): Unit = if (blockRows > 0) {
    val rows = block.result()
    block.clear()
    blockRows = 0
    blockBytes = 0
    send(packing.add(rows))
  }

  /** Returns when the service has taken every row.
    *
    * @throws KinesisException for a failure that isn't retried, or not any more
    */
  def flush(): Unit = onTask {
    advance(flush = true)
    while (packing.heldRows > 0) await(flush = true)
  }

  /** Cancels the calls under way, and the timer, which would keep the task's objects for as long as rows may wait. */
  override def close(): Unit = {
    // It may be listing shards.
    timer.end()
    lock.take()
    (timed ++ woken).foreach(_.cancel())
    try underWay.values.foreach(_.cancel(true))
    finally lock.free()
  }

  /** Runs on the task's thread. A killed task doesn't wait for the timer. */
  private def onTask(body: => Unit): Unit = {
    while (!lock.tryTake(LongestWait)) endIfKilled()
    try {
      failed.foreach(throw _)
      rememberFailure(body)
    } finally lock.free()
  }

  /** An Error, too: the timer's thread has nobody to throw it at. */
  private def rememberFailure(body: => Unit): Unit =
    try body
    catch {
      case e: InterruptedException => throw e
      case e: Throwable            =>
        failed = Some(e)
        throw e
    }

  /** Asked after each row, when mostly there is nothing to do. */
  private def startTimers(): Unit =
    if ((timed.isEmpty || underWay.isEmpty || due.nonEmpty) && (blockRows > 0 || packing.heldRows > 0))
      linger.foreach { waits =>
        // With no call under way, an earlier time takes the place of a later one.
        if (timed.isEmpty || underWay.isEmpty)
          timed = sooner(timed, if (underWay.isEmpty) waits.idle else waits.busy)(sendAll())
        due.foreach(at => woken = sooner(woken, (at - now).max(0).millis)(sendDue()))
      }

  private def sooner(before: Option[Timed], wait: FiniteDuration)(work: => Unit): Option[Timed] = {
    val at = runtime.clock.nanos() - began + wait.toNanos
    // A moment without memory or threads may end a timer.
    def isLate(timer: Timed) = timer.at > at || runtime.clock.nanos() - began - timer.at > LongestWait.toNanos
    if (before.forall(isLate)) {
      before.foreach(_.cancel())
      Some(new Timed(at, wait)(work))
    } else before
  }

  /** Rows have waited for long enough. */
  private def sendAll(): Unit = {
    timed = None
    advance(flush = true)
    overdue = nextRow
  }

  /** Records that were refused, or whose call failed, can be sent again. */
  private def sendDue(): Unit = {
    woken = None
    sendOverdue()
  }

  /** With what is there besides, as the call is made anyway. */
  private def sendOverdue(): Unit = {
    takeAnswers()
    advance(flush = false, pressed = sending.holdsBefore(overdue, now))
  }

  /** Work for later. Comes again where the task's thread holds the lock then, a little later each time. One that has been cancelled does nothing, though its
    * time may have come.
    *
    * @param at when it is due, since the task began
    */
  private final class Timed(val at: Long, after: FiniteDuration)(work: => Unit) {
    @volatile private var isOver = false
    @volatile private var next   = writers.after(after)(tick(ShortestTry))

    def cancel(): Unit = {
      isOver = true
      next.cancel()
    }

    private def tick(again: FiniteDuration): Unit = {
      val isDone = isOver || onTimer {
        if (!isOver) {
          isOver = true
          work
          startTimers()
        }
      }
      if (!isDone) next = writers.after(again)(tick((again * 2).min(LongestTry)))
    }
  }

  /** Rows that waited for others while a call was under way may wait no longer. A task's thread that is at work takes answers itself. */
  private def onAnswer(): Unit = if (!answers.isEmpty) onTimer {
    sendOverdue()
    startTimers()
  }: Unit

  /** @return false where another thread holds the lock */
  private def onTimer(work: => Unit): Boolean = lock.tryTake() && {
    try timer.run(if (failed.isEmpty && !isKilled()) rememberFailure(work))
    catch {
      case _: InterruptedException    => () // The writer is being closed.
      case e if failed.exists(_ eq e) => () // It is thrown at the next row, or at the end.
    } finally lock.free()
    true
  }

  private def send(records: Vector[Entry]): Unit = if (records.nonEmpty) sending = sending.add(records)

  private def hasRoom = packing.heldBytes + sending.heldBytes < sending.settings.bufferSize

  /** Whether waiting for further rows before a call is useless. */
  private def isPressed(flush: Boolean) = flush || !hasRoom || packing.awaitsAnswers

  private def await(flush: Boolean): Unit = {
    val wait = sending.wakeAt(isPressed(flush)).fold(LongestWait)(at => (at - now).max(0).millis.min(LongestWait))
    answers.poll(wait).orElse(unheard()).foreach(accept)
    endIfKilled()
    advance(flush)
  }

  /** An answer that a moment without memory has kept from the queue. */
  private def unheard(): Option[Answered] = underWay.collectFirst {
    case (call, answer) if answer.isDone =>
      Answered(call, Try(runtime.waits.get(answer, LongestWait)).toEither, millis = 0)
  }

  private def endIfKilled(): Unit = if (isKilled()) throw new InterruptedException("The task is being killed")

  /** @param flush   also sends the rows that packing holds for a fuller record
    * @param pressed sends all records, though a call isn't full
    */
  private def advance(flush: Boolean, pressed: Boolean = false): Unit = {
    takeBlock()
    makeCalls(flush, pressed)
    counted = SinkCounts(sending.totals, packing.rows, skipped = 0, times)
  }

  @tailrec private def makeCalls(flush: Boolean, pressed: Boolean): Unit = {
    takeAnswers()
    fullSince = if (hasRoom) None else fullSince.orElse(Some(now))
    if (flush || isStuck) send(packing.flush())
    val at           = now
    val (next, call) = sending.next(at, pressed || isPressed(flush))
    sending = next
    call match {
      // With the time that decided what is sent: what became due since would be neither sent nor waited for.
      case None    => due = sending.dueAfter(at)
      case Some(c) =>
        val answer = put(c.stream, c.entries)
        underWay(c.call) = answer
        answer.whenComplete { (a, e) =>
          answers.put(Answered(c.call, Option(a).toRight(e), now - at))
          if (linger.nonEmpty) writers.execute(onAnswer())
        }: Unit
        makeCalls(flush, pressed)
    }
  }

  /** Whether room comes only of records that aren't full. What is sent mostly makes some soon, at a throttled shard, too; but one shard or stream that takes
    * nothing must not hold up all others.
    */
  private def isStuck = fullSince.exists(since => sending.isEmpty || now - since >= LongestFull)

  @tailrec private def takeAnswers(): Unit = answers.poll() match {
    case None         => ()
    case Some(answer) =>
      accept(answer)
      takeAnswers()
  }

  private def accept(answered: Answered): Unit = if (underWay.remove(answered.call).nonEmpty) {
    times = times.and(answered.millis)
    val answer = answered.answer.fold(throw _, identity)
    sending.answered(answered.call, answer, now, runtime.ids.chance()) match {
      case Right(step) =>
        sending = step.next
        step.bad.foreach { rejected =>
          bad(rejected.why)
          send(packing.rejected(rejected.entry))
        }
        step.taken.foreach((record, shardId) => send(packing.taken(record, shardId)))
        step.resent.foreach(report)
        step.worry.foreach { error =>
          log.warn(
            s"Calls keep failing, and are made again until a row has been refused for ${sending.settings.maxRetry / 1000} s " +
              s"(maxRetryDuration): ${error.getMessage}"
          )
        }
      case Left(end) => throw failure(end)
    }
  }

  /** Once for each cause in a task. */
  private def report(resent: Sending.Resent): Unit = {
    val kind = resent.failed.fault.kind.errorClass
    if (!reported(kind)) {
      reported += kind
      val doubled =
        if (resent.possibleDuplicates == 0) ""
        else " The service may have stored them already, and readers then see them twice (possibleDuplicates)."
      log.warn(
        s"A call of ${resent.records} records failed and is sent again.$doubled ${resent.failed.error.getMessage}"
      )
    }
  }

  private def failure(end: SendFailure): Throwable = end match {
    case SendFailure.Fatal(error)                                  => error
    case SendFailure.Refused(record, millis, shard, code, message) =>
      new KinesisException(
        "KINESIS_WRITE_TIMED_OUT",
        s"PutRecords to stream ${record.entry.stream}, shard $shard: row ${record.entry.row} has been refused for " +
          s"${millis / 1000} s, ${record.tries} times, last with $code: $message. $left Spread the keys, give the stream more " +
          "shards, or allow more time by maxRetryDuration."
      )
    case SendFailure.CallsFailed(record, millis, error) =>
      new KinesisException(
        "KINESIS_WRITE_TIMED_OUT",
        s"PutRecords to stream ${record.entry.stream}: calls with row ${record.entry.row} have failed for ${millis / 1000} s, " +
          s"${record.tries} times. The last failure: ${message(error)} $left If the cause passes by itself, allow more time by maxRetryDuration.",
        error
      )
  }

  private def left = s"The service has taken ${packing.rows} rows of this task; ${packing.heldRows} are left."

  private def message(error: Throwable) = error match {
    case ours: KinesisException => ours.bareMessage
    case other                  => other.getMessage
  }

  private def now: Long = (runtime.clock.nanos() - began) / 1000000
}

private object TaskWriter {
  private val log = LoggerFactory.getLogger(classOf[TaskWriter])

  /** @param answer or what broke on this side, where no answer could be made of the call */
  private final case class Answered(call: Long, answer: Either[Throwable, CallAnswer], millis: Long)

  // A killed task must not wait for an answer to notice it.
  private val LongestWait = 500.millis

  /** From one try of a timer to get the lock to the next. */
  private val ShortestTry = 1.milli
  private val LongestTry  = 20.millis

  /** In ms. More than most answers and turns of throttled shards take. */
  private val LongestFull = 1000L

  /** A tenth of a call's records, so that a call is made when there is enough for it. */
  private val BlockRows  = SizeLimits.MaxRecords / 10
  private val BlockBytes = 64L << 10
}
