package io.github.kinesisspark.read.stream

import scala.annotation.tailrec
import scala.concurrent.duration._

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.catalog.{Parallel, Probe, ShardCatalog, ShardEnds}
import io.github.kinesisspark.read.plan.{CutPoint, LatestPositionSearch, LongTrigger, ReaderStatus}
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, AtTimestamp}
import io.github.kinesisspark.runtime.Clock

/** Ends of a batch beyond what its readers hold. [[LongTrigger]] decides up to which arrival time the batch goes; this class asks Kinesis for the first
  * record that arrived then, whose sequence number is the end. The tasks read up to it through the live readers.
  *
  * Where nothing has arrived since that time, the end is a record close to the shard's newest: between the two arrived no more than a shard may take in a
  * second, which readers can hold. Each look takes one GetShardIterator and one or two GetRecords of one record, out of the 5 calls a second that all
  * pollers of the shard share.
  */
final class BeyondBuffers(catalog: ShardCatalog) {
  import BeyondBuffers._
  import catalog.clients.runtime

  private val log = LoggerFactory.getLogger(classOf[BeyondBuffers])

  /** The parts of a batch that end later than the readers stand. None if one is not found, or not in time: the others would run ahead of it, and the driver's
    * way to Kinesis may be lost for all of them.
    */
  def ends(questions: LongTrigger.Questions, statuses: Map[ShardKey, ReaderStatus]): Map[ShardKey, CutPoint] =
    try {
      val looks = catalog.ends(Some(Patience))
      val first = inTime(questions, runtime.clock) { (shard, at) =>
        // An answer that is wrong about a shard without records makes the batch a bit shorter.
        looks.first(shard, AtTimestamp(at), confirms = false)
      }
      Parallel
        .map(questions.times.toVector) { case (shard, time) =>
          end(statuses(shard), time, questions.oldest, questions.apart)(first(shard, _))
        }
        .flatten
        .toMap
    } catch {
      case e: KinesisException =>
        runtime.lines.warn(log, "ends beyond buffers", catalog.access.keySet)(
          s"The end of a batch beyond the readers' buffers was not found: ${e.getMessage} The batch ends where its readers stand."
        )
        Map.empty
    }

  private def end(
      status: ReaderStatus,
      time: Long,
      begin: Long,
      apart: Long
  )(look: Long => Option[Probe.Record]): Option[(ShardKey, CutPoint)] = if (status.start.isTime)
    None // Until a reader has the first record, nobody knows which one that is.
  else {
    val low = (status.newestArrival ++ status.reached).maxOption.getOrElse(begin)
    search(time, low, catalog.now(status.shard.stream), apart)(look)
      .map(record => record -> AfterSequenceNumber(record.number))
      .collect {
        case (record, position) if status.position.isBefore(position) =>
          val newest = (status.newestArrival ++ Some(record.arrivalMillis)).maxOption
          status.shard -> status.all.copy(position = position, newestArrival = newest)
      }
  }
}

object BeyondBuffers {

  /** For one look with all its attempts: after an answer of 10 MiB the service refuses the calls of 5 s. */
  private val Patience = 10.seconds

  /** Looks until the questions' time is over.
    *
    * @return throws a [[KinesisException]] after that
    */
  private[stream] def inTime(questions: LongTrigger.Questions, clock: Clock)(
      look: (ShardKey, Long) => Option[Probe.Record]
  ): (ShardKey, Long) => Option[Probe.Record] = {
    val began = clock.nanos()
    (shard, at) => {
      if (clock.nanos() - began > questions.within.toNanos)
        throw new KinesisException(
          "KINESIS_TIMED_OUT",
          s"${questions.times.size} shards were not looked into within the trigger's interval, ${questions.within}."
        )
      look(shard, at)
    }
  }

  /** The first record that arrived at a time or later. Where there is none, one close to the newest; nothing if that is not after `low`.
    *
    * @param low   arrival of a record that is known
    * @param now   by the service's clock, which refuses later times
    * @param apart how close, in ms
    * @param look  the first record that arrived at a time or later
    */
  private[stream] def search(time: Long, low: Long, now: Long, apart: Long)(
      look: Long => Option[Probe.Record]
  ): Option[Probe.Record] = {
    @tailrec def newest(state: LatestPositionSearch, found: Option[Probe.Record]): Option[Probe.Record] =
      state.next match {
        case None     => found
        case Some(at) =>
          look(at) match {
            case Some(record) => newest(state.foundMore(at, record.arrivalMillis), Some(record))
            case None         => newest(state.foundNothing(at), found)
          }
      }
    val isPassed = time < now - ShardEnds.ClockTick
    val first    = if (isPassed) look(time) else None
    first.orElse(newest(LatestPositionSearch(if (isPassed) time else now, low, apart), None))
  }
}
