package io.github.kinesisspark.read.reader

import java.util.concurrent.{CompletableFuture, TimeoutException}
import java.util.concurrent.atomic.AtomicBoolean

import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model.{GetRecordsRequest, GetRecordsResponse}

import io.github.kinesisspark.aws._
import io.github.kinesisspark.config.CallRetries
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.reader.PollingRecordPublisher._
import io.github.kinesisspark.read.reader.RecordPublisher.{Delivery, Sink}
import io.github.kinesisspark.runtime.{Runtime, Worker}

/** Reads a shard by GetRecords. One call at a time; each step schedules the next, so no thread waits and no state is
  * shared: a step sees what the step before it wrote.
  *
  * {{{
  * request -> due time -> memory for the largest answer -> GetShardIterator, if there is none -> GetRecords -> deliver
  *               ^                                                                                   |
  *               '------- throttled, failed for a while, iterator expired: again at the same position'
  * }}}
  *
  * @param start    of the first call, by the clock
  * @param atFirst  the pace of the first calls
  * @param readers  that poll in this executor for the same query now
  * @param whenClosed is called once
  * @param hasWorked whether a call of the client has ever succeeded
  * @param telemetry of all publishers of the source in this executor
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetRecords.html GetRecords]]
  */
final class PollingRecordPublisher(
    shard: ShardKey,
    from: ShardPosition,
    start: Long,
    atFirst: PollingPace,
    readers: () => Int,
    whenClosed: () => Unit,
    client: KinesisAsyncClient,
    retries: CallRetries,
    hasWorked: () => Boolean,
    worker: Worker,
    telemetry: PollingTelemetry,
    sink: Sink
)(implicit runtime: Runtime)
    extends RecordPublisher {
  private val log = LoggerFactory.getLogger(classOf[PollingRecordPublisher])

  private val over     = new AtomicBoolean
  private var position = from
  private var iterator = Option.empty[String]
  private var pace     = atFirst
  private var history  = RetryHistory.none
  private var last     = Option.empty[RecordTotals] // Of an answer with records.

  /** Bytes of the memory budget that the step under way holds. */
  private var reserved = 0L

  /** The last answer held all that there was: the next one is small. */
  private var caughtUp = false
  private var lastCall = Option.empty[Long]

  override def request(): Unit = if (!closed) {
    val due = lastCall.fold(start)(_ + pace.interval.toNanos) - runtime.clock.nanos()
    if (due <= 0) takeMemory() else worker.schedule(due)(takeMemory()): Unit
  }

  override def close(): Unit = if (over.compareAndSet(false, true)) whenClosed()

  private def closed = over.get

  private def expected = ExpectedAnswer.after(last, MemoryBudget.answer(sink.memory.share))

  private def where = RecordPublisher.place(shard, position)

  private def takeMemory(): Unit =
    if (!closed) {
      val answer                  = if (caughtUp) 0L else expected.bytes
      def decoded(capacity: Long) = MemoryBudget.forDecoding(capacity, answer, Forms)
      // In the end it is there once.
      sink.memory.take(decoded(_).max(LargestAnswer))(bytes =>
        worker.execute(() =>
          guarded {
            reserved = bytes
            call()
          }
        )
      )
    }

  private def release(): Unit = {
    sink.memory.giveBack(reserved)
    reserved = 0
  }

  private def call(): Unit =
    if (closed) release()
    else {
      val asked = runtime.clock.nanos()
      iterator match {
        case Some(it) =>
          lastCall = Some(asked)
          val body = new RecordExtractor
          whenDone(AwsCall.GetRecords, getRecords(it, body))(accept(asked, _, body))
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
        release()
        sink.fail(KinesisFault.exception(AwsCall.GetRecords, where, FaultClassifier.classify(unexpected)))
    }

  private def accept(asked: Long, answer: GetRecordsResponse, body: RecordExtractor): Unit = {
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
    history = RetryHistory.none
    caughtUp = behind == 0
    pace =
      if (records.nonEmpty) pace.afterRecords(totals.bytes, behind > 0)
      else pace.afterEmpty(behind > 0, readers())
    position =
      if (iterator.isEmpty) ShardEnd
      else records.lastOption.fold(position)(r => AfterSequenceNumber(r.sequenceNumber))
    if (records.nonEmpty) last = Some(totals)
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
    val stuck = worker.schedule(StuckAfter.toNanos)(answer.completeExceptionally(new TimeoutException): Unit)
    answer.whenCompleteAsync(
      (answer, failure) =>
        guarded {
          stuck.cancel()
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
    lastCall = Some(now)
    fault match {
      case _: Fault.ExpiredIterator =>
        // Not at once: a server may say so of every iterator.
        iterator = None
        request()
      case _: Fault.InvalidArgument if iterator.nonEmpty && history.failures == 0 =>
        // An iterator can be refused for what happened to its shard meanwhile; the position is the better judge.
        iterator = None
        history = history.copy(failures = 1)
        request()
      case _ =>
        RetryPolicy
          .of(action, retries)
          .decide(fault, history, hasWorked(), now, runtime.ids.chance()) match {
          case RetryDecision.Retry(wait, failed) =>
            history = failed
            pace = fault match {
              case _: Fault.Throttled => pace.afterThrottling(wait)
              case _                  => pace.afterFailure(wait)
            }
            report(action, fault)
            request()
          case RetryDecision.GiveUp(failed) =>
            close()
            sink.fail(KinesisFault.exception(action, where, fault, failed.failures))
        }
    }
  }

  private def report(action: AwsCall, fault: Fault): Unit = fault match {
    case _: Fault.Throttled =>
      telemetry.throttled(shard)
      log.debug(s"$action of $shard is throttled, next attempt in ${pace.interval}")
    case _ =>
      telemetry.failed()
      // The iterator may be what the failure is about, and it ages while we wait.
      iterator = None
      runtime.lines.warn(log, s"$action ${fault.kind.errorClass} ${shard.stream}", shard)(
        s"${KinesisFault.describe(action, where, fault)} Next attempt in ${pace.interval.toMillis} ms."
      )
  }

  private def getRecords(iterator: String, body: RecordExtractor) = client.getRecords(
    GetRecordsRequest.builder
      .streamARN(shard.stream.text)
      .shardIterator(iterator)
      .limit(expected.limit)
      .overrideConfiguration(ResponseFilter.configuration(body).apiCallTimeout(LongestCall).build)
      .build
  )

  private def getIterator(): CompletableFuture[String] = {
    val request = ShardIterators.at(shard, position).overrideConfiguration(OneCall)
    client.getShardIterator(request.build).thenApply(_.shardIterator)
  }
}

object PollingRecordPublisher {

  /** The most GetRecords gives: 10 MiB of data, or 10,000 records. */
  val LargestAnswer: Long = 10L << 20
  val MostRecords: Int    = 10000

  /** What the next answer may be, if its records are like the last one's.
    *
    * @param limit records to ask for
    * @param bytes to expect at most
    */
  private[reader] final case class ExpectedAnswer(limit: Int, bytes: Long)

  private[reader] object ExpectedAnswer {

    /** Where a record is larger, the average says little of the next answer. */
    private val LargeRecord = 256L << 10

    /** What a record of a shard may have whose records nobody has seen. */
    private val UnknownRecord = 4L << 10

    /** @param last   of an answer with records; None before the first
      * @param wanted bytes that the answer is to have, about
      */
    def after(last: Option[RecordTotals], wanted: Long): ExpectedAnswer = last match {
      case None =>
        ExpectedAnswer(records(wanted, 1, UnknownRecord), LargestAnswer)
      case Some(seen) =>
        ExpectedAnswer(
          records(wanted, seen.records, seen.bytes),
          if (seen.largest > LargeRecord) LargestAnswer else wanted
        )
    }

    private def records(wanted: Long, seen: Long, bytes: Long) =
      (wanted * seen / bytes.max(1L)).max(1L).min(MostRecords.toLong).toInt
  }

  /** The body of an answer, its records as they are kept, and, of a large record, the array that the last one grew out of. */
  private[reader] val Forms = 3

  /** A call ends by its own time limit; this one is for what the SDK never completes. */
  private val StuckAfter = 90.seconds

  private val LongestCall = java.time.Duration.ofSeconds(60)

  private val OneCall: AwsRequestOverrideConfiguration =
    AwsRequestOverrideConfiguration.builder.apiCallTimeout(LongestCall).build
}
