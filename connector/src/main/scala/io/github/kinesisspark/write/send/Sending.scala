package io.github.kinesisspark.write.send

import scala.annotation.tailrec

import io.github.kinesisspark.aws.{Fault, RetryDecision}
import io.github.kinesisspark.config.{CallRetries, StreamRef}

/** Limits of one task's writer.
  *
  * @param bufferSize bytes of records that are not taken yet
  * @param maxCalls   under way at once
  * @param retries    of PutRecords; their time counts from a record's first refusal
  */
final case class SendSettings(ordered: Boolean, bufferSize: Long, maxCalls: Int, retries: CallRetries) {

  /** In ms. */
  def maxRetry: Long = retries.maxDuration.toMillis
}

/** What was sent.
  *
  * @param records            taken by the service
  * @param bytes              of these, with their keys
  * @param retried            records sent again
  * @param throttled          refusals because of a limit, of records or of whole calls' records
  * @param calls              of PutRecords
  * @param possibleDuplicates records of calls that failed as a whole after the service may have stored them, and that were sent again
  */
final case class Totals(
    records: Long = 0,
    bytes: Long = 0,
    retried: Long = 0,
    throttled: Long = 0,
    calls: Long = 0,
    possibleDuplicates: Long = 0
) {
  def +(other: Totals): Totals = Totals(
    records + other.records,
    bytes + other.bytes,
    retried + other.retried,
    throttled + other.throttled,
    calls + other.calls,
    possibleDuplicates + other.possibleDuplicates
  )
}

/** State machine of one task's writer: which records to send next, given the calls under way, the refused records and the shards' paces.
  * Pure: time (ms) and chance (in [0, 1)) are parameters; [[io.github.kinesisspark.write.TaskWriter]] makes the calls.
  *
  * {{{
  * add -> next -> (the call) -> answered -> next -> ... until isEmpty
  * }}}
  *
  * | answer | what follows |
  * |---|---|
  * | record taken | dropped; the next of its key may be sent |
  * | record refused | it alone is sent again, at its shard's pace: see [[ShardThrottle]] |
  * | call failed, and [[RetryPolicy]] retries it | all its records are sent again after a wait with full jitter |
  * | call failed otherwise | the task fails |
  * | call invalid | in smaller calls, or its only record is a [[BadRecord]]: see [[SizeLimits]] |
  * | record refused for longer than the settings' `maxRetry`, and for the third time at least | the task fails |
  *
  * @param calls by their number
  */
final case class Sending(
    settings: SendSettings,
    streams: Map[StreamRef, StreamSending] = Map.empty,
    calls: Map[Long, (StreamRef, Batch)] = Map.empty,
    heldBytes: Long = 0,
    totals: Totals = Totals()
) {
  import Sending._

  def isEmpty: Boolean = heldBytes == 0

  /** Whether a second round of calls waits behind those that are under way. More rows would take memory, and leave the processor's caches before
    * they are sent.
    */
  def isAhead: Boolean = calls.sizeIs >= settings.maxCalls &&
    streams.valuesIterator.exists(_.isAhead(settings.maxCalls))

  /** Records in their order. Some at a time cost a fraction of one by one. */
  def add(entries: Vector[Entry]): Sending = copy(
    streams = Sending.byStream(entries).foldLeft(streams) { case (known, (stream, its)) =>
      known.updated(
        stream,
        known.getOrElse(stream, StreamSending(settings.ordered, StreamSending.policyOf(settings.retries))).add(its)
      )
    },
    heldBytes = heldBytes + Entry.weightOf(entries)
  )

  /** The next call to make, if there is one.
    *
    * @param pressed no more records come, or none before some of these are gone
    */
  @tailrec def next(now: Long, pressed: Boolean): (Sending, Option[Outgoing]) = {
    val ripe = if (calls.sizeIs >= settings.maxCalls) None else longestWaiting(now, pressed)
    ripe match {
      case None                    => (this, None)
      case Some((stream, sending)) =>
        val (after, batch) = sending.cut(now, pressed)
        batch match {
          // All that was ripe had to wait at throttles.
          case None      => copy(streams = streams.updated(stream, after)).next(now, pressed)
          case Some(cut) => sent(stream, after, cut)
        }
    }
  }

  /** The stream that made its last call before the others, of those with a call to make: so none starves. With most blocks of rows there is none. */
  private def longestWaiting(now: Long, pressed: Boolean): Option[(StreamRef, StreamSending)] =
    if (!streams.valuesIterator.exists(_.isRipe(now, pressed))) None
    else streams.iterator.filter(_._2.isRipe(now, pressed)).minByOption(_._2.lastCall)

  private def sent(stream: StreamRef, after: StreamSending, batch: Batch): (Sending, Option[Outgoing]) = {
    val call  = totals.calls + 1
    val state = copy(
      streams = streams.updated(stream, after.copy(lastCall = call)),
      calls = calls.updated(call, (stream, batch)),
      totals = totals.copy(calls = call, retried = totals.retried + batch.retried)
    )
    (state, Some(Outgoing(call, stream, batch.entries)))
  }

  /** When the next call may be made, if no answer comes before. */
  def wakeAt(pressed: Boolean): Option[Long] =
    if (calls.sizeIs >= settings.maxCalls) None
    else streams.valuesIterator.flatMap(_.wakeAt(pressed)).minOption

  /** When records can be sent that can't be now, if no answer comes before. */
  def dueAfter(now: Long): Option[Long] =
    if (calls.sizeIs >= settings.maxCalls) None
    else streams.valuesIterator.flatMap(_.dueAfter(now)).minOption

  /** Whether a record of an earlier row than this one could be sent now. */
  def holdsBefore(row: Long, now: Long): Boolean = streams.valuesIterator.exists(_.holdsBefore(row, now))

  /** @param call as [[next]] numbered it
    * @return the next state, or why the task fails
    */
  def answered(call: Long, answer: CallAnswer, now: Long, chance: Double): Either[SendFailure, Step] = {
    val (stream, batch) = calls(call)
    val state           = streams(stream)
    val rest            = copy(calls = calls - call)
    answer match {
      case results: CallAnswer.PerRecord =>
        tooLong(batch, results, state.throttles.spans, now).toLeft {
          val taken = Taken.of(batch, results)
          val after = state.answered(call, batch, results, taken.entries, now, chance)
          val next  = rest.copy(streams = streams.updated(stream, after))
          Step(next.removing(taken.entries).counted(taken.entries, throttledOf(results)), taken = taken)
        }
      case CallAnswer.Failed(_: Fault.InvalidArgument, _, error) => invalid(call, state, batch, rest, error)
      case failed: CallAnswer.Failed                             =>
        val (after, decision) = state.paused(call, batch, failed, now, chance)
        (batch.records.find(isOver(_, now)), decision) match {
          case (_, RetryDecision.GiveUp(_)) => Left(SendFailure.Fatal(failed.error))
          case (Some(r), _)                 => Left(SendFailure.CallsFailed(r, age(r, now), failed.error))
          case _                            =>
            val throttled = if (failed.fault.isInstanceOf[Fault.Throttled]) batch.records.size.toLong else 0L
            val resent    = Resent(batch.records.size, failed)
            val next      = rest.copy(streams = streams.updated(stream, after)).counted(Vector.empty, throttled)
            Right(
              Step(
                next.copy(totals =
                  next.totals.copy(possibleDuplicates = next.totals.possibleDuplicates + resent.possibleDuplicates)
                ),
                worry = Option.when(after.pause.isWorrying && !state.pause.isWorrying)(failed.error),
                resent = Some(resent)
              )
            )
        }
    }
  }

  /** The service cannot use the request: smaller calls find the record that is too large. */
  private def invalid(
      call: Long,
      state: StreamSending,
      batch: Batch,
      rest: Sending,
      error: Throwable
  ): Either[SendFailure, Step] = {
    val stream = batch.records.head.entry.stream
    (batch.entries, state.limits.afterInvalid(batch.bytes)) match {
      case (Vector(one), _) if state.limits.isProbe(one.size) =>
        val next = rest.copy(streams = streams.updated(stream, state.rejected(call, batch))).removing(batch.entries)
        Right(Step(next, Some(Rejected(one, tooLarge(one)))))
      case (_, Some(smaller)) if batch.records.sizeIs > 1 =>
        Right(Step(rest.copy(streams = streams.updated(stream, state.recut(batch, smaller)))))
      case _ => Left(SendFailure.Fatal(error))
    }
  }

  private def age(record: PendingRecord, now: Long) = record.refusedSince.fold(0L)(now - _)

  /** A batch write's slow rows may leave a record waiting for longer than that after its first refusal alone. */
  private def isOver(record: PendingRecord, now: Long) =
    record.tries >= LeastTries && record.refusedSince.nonEmpty && age(record, now) >= settings.maxRetry

  private def tooLong(
      batch: Batch,
      call: CallAnswer.PerRecord,
      spans: ShardSpans,
      now: Long
  ): Option[SendFailure] =
    if (call.areTaken) None
    else
      batch.records.iterator.zip(call.results.iterator).collectFirst {
        case (record, answer: RecordAnswer.Refused) if isOver(record, now) =>
          SendFailure.Refused(
            record,
            age(record, now),
            ShardThrottles.shardOf(record, answer, spans),
            answer.code,
            answer.message
          )
      }

  private def removing(entries: Vector[Entry]) = copy(heldBytes = heldBytes - Entry.weightOf(entries))

  private def counted(taken: Vector[Entry], throttled: Long) = copy(
    totals = totals.copy(
      records = totals.records + taken.size,
      bytes = totals.bytes + Entry.bytesOf(taken),
      throttled = totals.throttled + throttled
    )
  )
}

object Sending {

  /** Before a record is given up, whatever time has passed. */
  private val LeastTries = 3

  /** @param bad    found only by the service
    * @param worry  why calls have failed for so long that it is logged
    * @param resent a call that is sent again as a whole
    */
  final case class Step(
      next: Sending,
      bad: Option[Rejected] = None,
      taken: Taken = Taken.none,
      worry: Option[Throwable] = None,
      resent: Option[Resent] = None
  )

  /** Records of a call that failed as a whole. */
  final case class Resent(records: Int, failed: CallAnswer.Failed) {

    /** Those of the records that the service may have stored, and will store again. */
    def possibleDuplicates: Int = if (MayBeStored(failed.fault.kind.errorClass)) records else 0
  }

  /** Error classes of failures after which the service may have stored a call's records. After all others that are retried, the call was not sent, or
    * the service refused it.
    */
  private val MayBeStored = Set(
    "KINESIS_CONNECTION_LOST",
    "KINESIS_CONNECTION_ENDING",
    "KINESIS_ANSWER_DAMAGED",
    "KINESIS_TIMED_OUT",
    "KINESIS_UNAVAILABLE"
  )

  /** A record that will never be taken. */
  final case class Rejected(entry: Entry, why: BadRecord)

  /** Records that are in their stream.
    *
    * @param answers one for each of the entries
    */
  final class Taken private (val entries: Vector[Entry], answers: Vector[RecordAnswer]) {

    /** With the shard that each is in. */
    def foreach(use: (Entry, String) => Unit): Unit = {
      val shards = answers.iterator
      entries.foreach { entry =>
        shards.next() match {
          case RecordAnswer.Taken(shard) => use(entry, shard)
          case _: RecordAnswer.Refused   => ()
        }
      }
    }
  }

  object Taken {
    val none: Taken = new Taken(Vector.empty, Vector.empty)

    private[send] def of(batch: Batch, answer: CallAnswer.PerRecord): Taken =
      if (answer.areTaken) new Taken(batch.entries, answer.results)
      else {
        val (entries, answers) =
          batch.entries.zip(answer.results).filter(_._2.isInstanceOf[RecordAnswer.Taken]).unzip
        new Taken(entries, answers)
      }
  }

  /** A call to make. */
  final case class Outgoing(call: Long, stream: StreamRef, entries: Vector[Entry])

  /** Mostly all are for the same one. */
  private def byStream(entries: Vector[Entry]): Map[StreamRef, Vector[Entry]] =
    entries.headOption.map(_.stream) match {
      case Some(stream) if entries.forall(_.stream == stream) => Map(stream -> entries)
      case _                                                  => entries.groupBy(_.stream)
    }

  private def throttledOf(answer: CallAnswer.PerRecord): Long =
    if (answer.areTaken) 0L
    else answer.results.count { case r: RecordAnswer.Refused => r.isThrottling; case _ => false }.toLong

  private def tooLarge(entry: Entry) = BadRecord(
    entry.row,
    Some(entry.stream),
    Some(entry.partitionKey),
    s"it has ${entry.size} bytes with its key, which the stream doesn't take. See the stream's MaxRecordSizeInKiB (UpdateMaxRecordSize)."
  )
}

sealed trait SendFailure

object SendFailure {

  /** A failure that isn't retried. */
  final case class Fatal(error: Throwable) extends SendFailure

  /** A record was refused for too long.
    *
    * @param millis since its first refusal
    */
  final case class Refused(record: PendingRecord, millis: Long, shard: String, code: String, message: String)
      extends SendFailure

  /** Calls with a record have failed as a whole for too long.
    *
    * @param millis since the first failure
    * @param error  of the last call
    */
  final case class CallsFailed(record: PendingRecord, millis: Long, error: Throwable) extends SendFailure
}
