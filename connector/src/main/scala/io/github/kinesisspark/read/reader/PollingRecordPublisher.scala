package io.github.kinesisspark.read.reader

import java.util.concurrent.{CompletableFuture, TimeoutException}
import java.util.concurrent.atomic.AtomicBoolean

import scala.concurrent.duration._
import scala.jdk.DurationConverters._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration
import software.amazon.awssdk.services.kinesis.model.{GetRecordsRequest, GetRecordsResponse}

import io.github.kinesisspark.aws._
import io.github.kinesisspark.config.PollingOptions
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.reader.PollingRecordPublisher._
import io.github.kinesisspark.read.reader.RecordPublisher.{Delivery, Sink}
import io.github.kinesisspark.runtime.{Runtime, Worker}

/** Reads a shard by GetRecords. One call at a time; each step schedules the next, so no thread waits and no state is
  * shared: a step sees what the step before it wrote.
  *
  * {{{
  * request -> due time -> memory for the expected answer -> GetShardIterator, if there is none -> GetRecords -> deliver
  *               ^                                                                                    |
  *               '-------- throttled, failed for a while, iterator expired: again at the same position'
  * }}}
  *
  * @param start      of the first call, by the clock
  * @param readers    that poll in this executor for the same query now
  * @param whenClosed is called once
  * @param telemetry  of all publishers of the source in this executor
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetRecords.html GetRecords]]
  */
final class PollingRecordPublisher(
    shard: ShardKey,
    from: ShardPosition,
    start: Long,
    options: PollingOptions,
    readers: () => Int,
    whenClosed: () => Unit,
    reach: ReadingClient,
    worker: Worker,
    telemetry: ReaderTelemetry,
    sink: Sink
)(implicit runtime: Runtime)
    extends RecordPublisher {
  private val log = LoggerFactory.getLogger(classOf[PollingRecordPublisher])

  private val over     = new AtomicBoolean
  private var position = from
  private var iterator = Option.empty[String]
  private var pace     = PollingPace.of(options.callsPerSecond, reach.isAws)
  private var history  = RetryHistory.none
  private var last     = Option.empty[Answered] // That had records.

  /** Bytes of the memory budget that the step under way holds, beside those of the gate. */
  private var reserved = 0L
  private var gate     = Option.empty[AnswerMemoryGate]

  /** What an answer needed that waited for memory in vain. */
  private var missing = 0L

  /** An iterator was refused, and no answer has come since. */
  private var isRefused = false

  /** The last answer held all that there was. */
  private var caughtUp = false

  /** When the next call may begin. */
  private var due = start

  /** When the service had counted the last answer's bytes, at the latest. */
  private var counted = start

  override def request(): Unit = if (!closed) {
    val wait = due - runtime.clock.nanos()
    if (wait <= 0) takeMemory() else worker.schedule(wait)(guarded(takeMemory())): Unit
  }

  override def close(): Unit = if (over.compareAndSet(false, true)) whenClosed()

  private def closed = over.get

  /** Bytes that an answer of a shard that is behind is to have, about. */
  private def wanted = pace.answer(MemoryBudget.answer(sink.memory.share))

  private def where = RecordPublisher.place(shard, position)

  /** Records to ask for. */
  private def limit = limitAfter(last.map(_.totals), wanted, if (sink.memory.isSmall) LargeRecord else UsualRecord)

  /** Bytes of the next answer, if its records are like those of the last one. */
  private def expected = {
    val bytes = last.fold(wanted)(seen => limit.toLong * seen.length / seen.totals.records)
    if (caughtUp) bytes.min(FewRecords) else bytes
  }

  private def takeMemory(): Unit =
    if (!closed) {
      val answer = expected
      val asked  = runtime.clock.nanos()
      sink.memory.take(MemoryBudget.forDecoding(_, answer, AnswerMemoryGate.Forms).max(missing))(bytes =>
        worker.execute(() =>
          guarded {
            reserved = bytes
            history = history.heldUp(runtime.clock.nanos() - asked)
            call()
          }
        )
      )
    }

  private def release(): Unit = {
    settle()
    sink.memory.giveBack(reserved)
    reserved = 0
  }

  /** The call is over. */
  private def settle(): Unit = {
    gate.foreach { own =>
      missing = own.missing.getOrElse(0L)
      reserved += own.takeOver()
    }
    gate = None
  }

  private def call(): Unit =
    if (closed) release()
    else {
      val asked = runtime.clock.nanos()
      iterator match {
        case Some(it) =>
          val body = new RecordExtractor
          val own  = new AnswerMemoryGate(sink.memory, reserved, body)
          gate = Some(own)
          reserved = 0
          whenDone(AwsCall.GetRecords, getRecords(it, own)) { answer =>
            counted = own.answered.getOrElse(runtime.clock.nanos())
            accept(asked, answer, body, own.length)
          }
        case None =>
          whenDone(AwsCall.GetShardIterator, getIterator()) { it =>
            iterator = Some(it)
            call()
          }
      }
    }

  /** A failure that nobody expected, such as an OutOfMemoryError while decoding, ends the reader, and the query with it. */
  private def guarded(step: => Unit): Unit =
    try step
    catch {
      case unexpected: Throwable =>
        close()
        try release()
        finally sink.fail(KinesisFault.exception(AwsCall.GetRecords, where, FaultClassifier.classify(unexpected)))
    }

  private def accept(asked: Long, answer: GetRecordsResponse, body: RecordExtractor, length: Long): Unit = {
    val records  = body.records(answer, position)
    val totals   = RecordTotals.of(records)
    val behind   = Option(answer.millisBehindLatest).fold(0L)(_.longValue)
    val next     = Option(answer.nextShardIterator)
    val children = if (next.isEmpty) StreamDirectory.children(shard.shardId, answer.childShards) else Vector.empty
    DamagedAnswer.unlessGoesOn(answer)
    body.leftToSdk.foreach { cause =>
      SdkDecoding.report(AwsCall.GetRecords, where, cause)
      telemetry.decodedBySdk()
    }
    iterator = next
    isRefused = false
    history = RetryHistory.none
    caughtUp = behind == 0
    pace =
      if (records.nonEmpty) pace.afterRecords(totals.bytes, behind > 0)
      else pace.afterEmpty(behind > 0, readers())
    due = pace.due(asked, counted)
    position =
      if (iterator.isEmpty) ShardEnd
      else records.lastOption.fold(position)(r => AfterSequenceNumber(r.sequenceNumber))
    if (records.nonEmpty) last = Some(Answered(totals, length))
    // An answer of small records may weigh more on the heap than on the wire; then the budget is overdrawn by the
    // records' overhead until they are dropped, and nothing is read meanwhile.
    sink.memory.giveBack(reserved - totals.heap)
    reserved = 0
    sink.deliver(Delivery(records, totals, position, behind, asked, children))
  }

  private def whenDone[A](action: AwsCall, call: => CompletableFuture[A])(next: A => Unit): Unit = {
    // A call that throws, such as one without credentials, is a call that has failed.
    val answer =
      try call
      catch { case NonFatal(e) => CompletableFuture.failedFuture[A](e) }
    val stuck =
      worker.schedule(reach.retries.stuckTime.toNanos)(answer.completeExceptionally(new TimeoutException): Unit)
    answer.whenCompleteAsync(
      (answer, failure) =>
        guarded {
          stuck.cancel()
          settle()
          if (closed) release()
          else
            Option(failure).orElse(unlessRead(next(answer))).foreach { e =>
              release()
              retry(action, e)
            }
        },
      worker
    ): Unit
  }

  /** The damage, if there is any; then nothing of the answer has been passed on. */
  private def unlessRead(take: => Unit): Option[Throwable] =
    try {
      take
      None
    } catch { case damaged: DamagedAnswer => Some(damaged) }

  private def retry(action: AwsCall, failure: Throwable): Unit = {
    val now   = runtime.clock.nanos()
    val fault = FaultClassifier.classify(failure)
    fault match {
      case _ if missing > 0 && action == AwsCall.GetRecords =>
        // The time of the call was too short for its memory. That is taken first now.
        iterator = None
        askAgain(now)
      case _: Fault.ExpiredIterator =>
        // Not at once: a server may say so of every iterator.
        iterator = None
        askAgain(now)
      case _: Fault.InvalidArgument if iterator.nonEmpty && !isRefused =>
        // An iterator can be refused for what happened to its shard meanwhile; the position is the better judge.
        iterator = None
        isRefused = true
        askAgain(now)
      case _ =>
        // A shard that isn't found is not asked for again: another stream may have its stream's name by then.
        RetryPolicy
          .of(action, reach.retries)
          .decide(fault, history, reach.hasWorked(), now, runtime.ids.chance()) match {
          case RetryDecision.Retry(wait, failed) =>
            history = failed
            pace = fault match {
              case _: Fault.Throttled if action == AwsCall.GetRecords => pace.afterThrottling(wait, now)
              case _                                                  => pace.afterFailure(wait)
            }
            due = pace.due(now, counted)
            report(action, fault, now)
            request()
          case RetryDecision.GiveUp(failed) =>
            close()
            sink.fail(KinesisFault.exception(action, where, fault, failed.failures))
        }
    }
  }

  /** The least interval later at the earliest: a reader that catches up may have none. */
  private def askAgain(failed: Long): Unit = {
    due = pace.due(failed, counted).max(failed + pace.busy.toNanos)
    request()
  }

  private def report(action: AwsCall, fault: Fault, now: Long): Unit = fault match {
    case _: Fault.Throttled =>
      telemetry.throttledPoll(shard)
      log.debug(s"$action of $shard is throttled, next attempt in ${(due - now).nanos.toMillis} ms")
      if (pace.isShared(now))
        runtime.lines.warn(log, s"shared ${shard.stream}", shard)(
          s"$shard is polled by others too: it has refused GetRecords twice within ${PollingPace.Alone.toSeconds} s, though this reader takes no more than " +
            "a shard gives (5 calls and 2 MiB a second, for all pollers together). Look for a Lambda trigger, a Firehose stream, a KCL application or another " +
            "query. Lower polling.callsPerSecond of all pollers, or read by fan-out (recordPublisher=efo)."
        )
    case _ =>
      telemetry.failedPoll()
      // The first failure keeps it: it may be far beyond the last record. The next ones may be about it, and it ages while we wait.
      if (history.failures > 1) iterator = None
      runtime.lines.warn(log, s"$action ${fault.kind.errorClass} ${shard.stream}", shard)(
        s"${KinesisFault.describe(action, where, fault)} Next attempt in ${(due - now).nanos.toMillis} ms."
      )
  }

  private def getRecords(iterator: String, gate: AnswerMemoryGate) = reach.client.getRecords(
    GetRecordsRequest.builder
      .streamARN(shard.stream.text)
      .shardIterator(iterator)
      .limit(limit)
      .overrideConfiguration(ResponseFilter.configuration(gate).apiCallTimeout(reach.retries.attemptTime.toJava).build)
      .build
  )

  private def getIterator(): CompletableFuture[String] = {
    val limited = AwsRequestOverrideConfiguration.builder.apiCallTimeout(reach.retries.attemptTime.toJava).build
    val request = ShardIterators.at(shard, position).overrideConfiguration(limited)
    reach.client.getShardIterator(request.build).thenApply(_.shardIterator)
  }
}

object PollingRecordPublisher {

  /** @param length bytes on the wire */
  private final case class Answered(totals: RecordTotals, length: Long)

  /** The most GetRecords gives: 10 MiB of data, or 10,000 records. */
  val LargestAnswer: Long = 10L << 20
  val MostRecords: Int    = 10000

  /** Records to ask for.
    *
    * @param last   of an answer with records, which the next one is thought to be like; None before the first
    * @param wanted bytes that the answer is to have, about
    * @param first  bytes of a record of a shard whose records nobody has seen; asked for only then
    */
  private[reader] def limitAfter(last: Option[RecordTotals], wanted: Long, first: => Long): Int = {
    val (records, bytes) = last.fold((1L, first))(seen => (seen.records.toLong, seen.bytes.max(1L)))
    (wanted * records / bytes).max(1L).min(MostRecords.toLong).toInt
  }

  /** What a record may have where there is memory for more. */
  private val UsualRecord = 4L << 10

  /** What a record has at most, unless its stream allows more. */
  private val LargeRecord = 1L << 20

  /** Bytes to expect of a shard that was read to its end a moment ago. */
  private val FewRecords = 64L << 10
}
