package io.github.kinesisspark.read.catalog

import scala.annotation.tailrec
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.jdk.DurationConverters._

import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model.{GetRecordsRequest, GetRecordsResponse}

import io.github.kinesisspark.aws._
import io.github.kinesisspark.position.{SequenceNumber, ShardKey, ShardPosition}
import io.github.kinesisspark.read.reader.RecordExtractor

/** What one look into a shard showed: some records in a row, as many as there were or as a look takes.
  *
  * @param records  in order
  * @param isTip    nothing comes after them, yet
  * @param isEnd    nothing will: the shard is closed
  * @param position where the look began
  */
final case class Probe(
    records: Vector[Probe.Record],
    isTip: Boolean,
    isEnd: Boolean,
    position: ShardPosition,
    private[catalog] val next: Option[String]
) {
  def bytes: Long = records.iterator.map(_.bytes).sum
}

object Probe {

  /** @param bytes of data and key */
  final case class Record(number: SequenceNumber, arrivalMillis: Long, bytes: Long)
}

/** The driver's short looks into shards, by GetShardIterator and GetRecords: all pollers of a shard share 5 calls a second.
  * Each blocks and retries as the driver's other questions do.
  */
final class ShardProbes(client: KinesisAsyncClient, calls: BlockingCalls) {
  import ShardProbes._

  /** @param most     records to see
    * @param confirms whether an answer that nothing is there is to be confirmed, which takes another call
    * @throws KinesisException of the fault's class
    */
  def at(shard: ShardKey, position: ShardPosition, most: Int, confirms: Boolean = true): Probe =
    read(shard, position, position, None, most, confirms)

  /** The same look, which begins at a time instead of the position and leaves out what comes before the position. From the position of a shard that was idle
    * for a day, the way to the tip takes hundreds of calls, as each scans only some minutes.
    *
    * @param readTo   all that arrived up to then comes before the position, in ms by the service's clock
    * @param confirms as of [[at]]
    */
  def since(readTo: Long, shard: ShardKey, position: ShardPosition, most: Int, confirms: Boolean = false): Probe =
    read(shard, position, laterThan(position, readTo - OutOfOrder.toMillis), None, most, confirms)

  /** What comes after a look that was not at the tip. */
  def after(shard: ShardKey, last: Probe, most: Int): Probe = {
    val position = last.records.lastOption.fold(last.position)(r => ShardPosition.AfterSequenceNumber(r.number))
    if (last.next.isEmpty) last.copy(records = Vector.empty)
    else read(shard, position, position, last.next, most, confirms = true)
  }

  /** An empty answer says nothing while it is behind: the service scans a part of the shard for each. One that says that nothing is there
    * may be wrong. An iterator that expires while calls are retried is renewed until their deadline. However long the way is, a look ends only where it
    * comes no nearer to the tip.
    *
    * @param begin    where new iterators begin
    * @param iterator one that exists already
    */
  private def read(
      shard: ShardKey,
      position: ShardPosition,
      begin: ShardPosition,
      iterator: Option[String],
      most: Int,
      confirms: Boolean
  ): Probe = {
    val patience = calls.retries.maxDuration.max(LeastPatience).toNanos

    /** @param least how far it was behind at the least, in ms
      * @param since when it was so first
      */
    @tailrec def look(
        from: Option[String],
        confirmed: Boolean,
        deadline: BlockingCalls.Deadline,
        least: Long,
        since: Long
    ): Probe =
      ask(shard, from.getOrElse(iteratorAt(shard, begin, deadline)), most, deadline) match {
        case None =>
          // Not at once: a server may say so of every iterator.
          calls.runtime.waits.sleep(BetweenCalls)
          look(None, confirmed, deadline, least, since)
        case Some((answer, seen)) =>
          val next    = Option(answer.nextShardIterator)
          val behind  = Option(answer.millisBehindLatest).fold(0L)(_.longValue)
          val records = seen.filter(isPast(position))
          // A full answer may have been cut within one millisecond, so that nothing seems to be left.
          val isTip   = next.isEmpty || (behind == 0 && seen.size < most)
          val settles = confirmed || !confirms
          if (records.nonEmpty || next.isEmpty || (isTip && settles))
            Probe(records, isTip, next.isEmpty, position, next)
          else {
            val now      = calls.runtime.clock.nanos()
            val isNearer = behind < least
            if (!isNearer && now - since > patience) throw endless(shard, least, now - since)
            calls.runtime.waits.sleep(BetweenCalls)
            look(next, confirmed = isTip, calls.deadline(), least.min(behind), if (isNearer) now else since)
          }
      }
    look(iterator, confirmed = false, calls.deadline(), Long.MaxValue, calls.runtime.clock.nanos())
  }

  private def endless(shard: ShardKey, behind: Long, nanos: Long) = new KinesisException(
    "KINESIS_TIMED_OUT",
    s"GetRecords of $shard has answered without records for ${nanos.nanos.toSeconds} s, and came no nearer to the newest one than $behind ms. " +
      "Is the endpoint Amazon Kinesis?",
    reason = FailureReason.Outage
  )

  /** Whether the service has the shard. It says the same of a shard that it doesn't have and of one whose stream it doesn't have.
    *
    * @throws KinesisException of the fault's class, for any other failure
    */
  def finds(shard: ShardKey): Boolean =
    try {
      iteratorAt(shard, ShardPosition.TrimHorizon, calls.deadline())
      true
    } catch { case e: KinesisException if e.reason == FailureReason.NotFound => false }

  /** How far a position is behind, in ms by the service's clock: the age of the first record after it, 0 where there is none. Takes one
    * GetRecords for one record.
    *
    * @throws KinesisException of the fault's class
    */
  def millisBehind(shard: ShardKey, position: ShardPosition): Long =
    if (position == ShardPosition.ShardEnd) 0
    else {
      val deadline = calls.deadline()
      val request  = GetRecordsRequest.builder
        .streamARN(shard.stream.text)
        .shardIterator(iteratorAt(shard, position, deadline))
        .limit(1)
        .overrideConfiguration(calls.inTime)
        .build
      calls.call(AwsCall.GetRecords, shard.toString, Some(deadline)) {
        DamagedAnswer.unlessRead(client.getRecords(request)) { answer =>
          // Measured after the record that is returned, so 0 where that is the last.
          val behind = DamagedAnswer.has(answer.millisBehindLatest, "MillisBehindLatest").longValue
          val now    = ServiceClock.of(answer.sdkHttpResponse).getOrElse(calls.runtime.clock.millis())
          answer.records.asScala.map(now - _.approximateArrivalTimestamp.toEpochMilli).foldLeft(behind)(_ max _)
        }
      }
    }

  private def iteratorAt(shard: ShardKey, position: ShardPosition, deadline: BlockingCalls.Deadline) = {
    val request = ShardIterators.at(shard, position).overrideConfiguration(calls.inTime).build
    calls.call(AwsCall.GetShardIterator, shard.toString, Some(deadline))(client.getShardIterator(request)).shardIterator
  }

  /** None if the iterator has expired and there is time for another. */
  private def ask(
      shard: ShardKey,
      iterator: String,
      most: Int,
      deadline: BlockingCalls.Deadline
  ): Option[(GetRecordsResponse, Vector[Probe.Record])] = {
    def answer = {
      val body    = new RecordExtractor
      val request = GetRecordsRequest.builder
        .streamARN(shard.stream.text)
        .shardIterator(iterator)
        .limit(most)
        .overrideConfiguration(
          ResponseFilter.configuration(body).apiCallAttemptTimeout(calls.retries.attemptTime.toJava).build
        )
        .build
      DamagedAnswer.unlessRead(client.getRecords(request))(a => a -> seenIn(a, body))
    }
    try Some(calls.call(AwsCall.GetRecords, shard.toString, Some(deadline))(answer))
    catch { case e: KinesisException if e.reason == FailureReason.ExpiredIterator && deadline.left.length > 0 => None }
  }
}

object ShardProbes {

  /** A shard may be read 5 times a second, by all pollers together. */
  private[read] val BetweenCalls = 200.millis

  /** With a small `maxRetryDuration`, for answers that have come. */
  private val LeastPatience = 1.minute

  /** How far times of arrival may be out of order, generously: the service promises nothing. */
  private[read] val OutOfOrder = 1.minute

  private def laterThan(position: ShardPosition, time: Long) = position match {
    case ShardPosition.AfterSequenceNumber(_) | ShardPosition.TrimHorizon => ShardPosition.AtTimestamp(time)
    case ShardPosition.AtTimestamp(begin)                                 => ShardPosition.AtTimestamp(begin.max(time))
    case other                                                            => other
  }

  private def seenIn(answer: GetRecordsResponse, body: RecordExtractor): Vector[Probe.Record] = {
    DamagedAnswer.unlessGoesOn(answer)
    body.records(answer).iterator.map(r => Probe.Record(r.sequenceNumber, r.arrivalMillis, r.size)).toVector
  }

  // A server may repeat the record that a look is to begin after.
  private def isPast(position: ShardPosition)(record: Probe.Record) = position match {
    case ShardPosition.AfterSequenceNumber(last) => record.number > last
    case _                                       => true
  }
}
