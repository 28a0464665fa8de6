package io.github.kinesisspark.read.stream

import scala.annotation.tailrec
import scala.concurrent.duration._

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.catalog.{Parallel, Probe, ShardCatalog, ShardEnds}
import io.github.kinesisspark.read.plan.{CutPoint, LatestPositionSearch, LongTrigger, ReaderStatus, WatermarkAlignment}
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, AtTimestamp, ShardEnd}
import io.github.kinesisspark.runtime.Clock

/** Ends of a batch beyond what its readers hold. [[LongTrigger]] decides up to which arrival time the batch goes; this class asks Kinesis for the first
  * record that arrived then, whose sequence number is the end. The tasks read up to it through the live readers.
  *
  * {{{
  * records since the wanted time           the part of the shard ends
  * some                                    with the first of them
  * none, for no longer than maxShardSkew   close to the newest record: after it arrived no more than a shard may take in a second
  * none for longer                         with the newest record, or at the shard's end: in the next batch the rest would be late
  * }}}
  * Children begin in the batch after the one that ends their parents. So where a part ends at its shard's end, no other goes further than `maxShardSkew`
  * after the last record there.
  *
  * Each look takes one GetShardIterator and one or two GetRecords of one record, out of the 5 calls a second that all pollers of the shard share. A look
  * for the newest record takes as many calls, with up to 1,000 records in an answer.
  */
final class BeyondBuffers(catalog: ShardCatalog) {
  import BeyondBuffers._
  import catalog.clients.runtime

  private val log = LoggerFactory.getLogger(classOf[BeyondBuffers])

  /** The parts of a batch that end later than the readers stand. None if one of the looks fails, or comes too late: the driver's way to Kinesis may be lost
    * for all shards.
    */
  def ends(questions: LongTrigger.Questions, statuses: Map[ShardKey, ReaderStatus]): Map[ShardKey, CutPoint] =
    try {
      val check     = deadline(questions, runtime.clock)
      val shardEnds = catalog.ends(Some(Patience))

      def found(times: Map[ShardKey, Long]) = Parallel
        .map(times.toVector) { case (shard, time) =>
          val now   = catalog.now(shard.stream)
          val looks = new Looks {
            override def first(at: Long): Option[Probe.Record] = {
              check()
              // An answer that is wrong about a shard without records makes the batch a bit shorter.
              shardEnds.first(shard, AtTimestamp(at), confirms = false)
            }
            override def newest(from: ShardPosition, until: Long): ShardEnds.Extent = {
              check()
              shardEnds.tip(shard, from, until)
            }
          }
          end(statuses(shard), time, now, questions)(looks).map(shard -> _)
        }
        .flatten
        .toMap
      aligned(found(questions.times), statuses, questions)(found)
    } catch {
      case e: KinesisException =>
        runtime.lines.warn(log, "ends beyond buffers", catalog.access.keySet)(
          s"The end of a batch beyond the readers' buffers was not found: ${e.getMessage} The batch ends where its readers stand."
        )
        Map.empty
    }
}

object BeyondBuffers {

  /** For one look with all its attempts: after an answer of 10 MiB the service refuses the calls of 5 s. */
  private val Patience = 10.seconds

  /** Looks into one shard. */
  private[stream] trait Looks {

    /** The first record that arrived at a time or later. */
    def first(at: Long): Option[Probe.Record]

    /** Where what arrived up to a time ends, seen from a position before it. */
    def newest(from: ShardPosition, until: Long): ShardEnds.Extent
  }

  /** To be called before each look. Throws a [[KinesisException]] once the questions' time is over. */
  private[stream] def deadline(questions: LongTrigger.Questions, clock: Clock): () => Unit = {
    val began = clock.nanos()
    () =>
      if (clock.nanos() - began > questions.within.toNanos)
        throw new KinesisException(
          "KINESIS_TIMED_OUT",
          s"${questions.times.size} shards were not looked into within the trigger's interval, ${questions.within}."
        )
  }

  /** A shard's part of the batch, if the shard has anything after what its reader holds.
    *
    * @param now by the service's clock
    */
  private[stream] def end(status: ReaderStatus, time: Long, now: Long, questions: LongTrigger.Questions)(
      looks: Looks
  ): Option[CutPoint] = {
    val record   = search(time, low(status, questions), now, questions.apart)(looks.first)
    val position = record.fold(status.position)(r => AfterSequenceNumber(r.number))
    val arrival  = record.map(_.arrivalMillis)
    val until    = time.min(now)
    // Without an answer nothing is known of a shard: all of its records may have arrived before the times that the search looks at.
    val isNear = questions.alignment.skewMillis.forall(skew => arrival.orElse(readTo(status)).exists(_ + skew >= until))
    val extent = if (isNear) ShardEnds.Extent(position, arrival) else looks.newest(position, until)
    Option.when(status.position.isBefore(extent.end)) {
      status.all.copy(
        position = extent.end,
        newestArrival = (status.newestArrival ++ arrival ++ extent.newest).maxOption
      )
    }
  }

  /** The parts of a batch, none of which goes further than `maxShardSkew` after the last record of a shard that ends in it.
    *
    * @param again looks for the ends by other times
    */
  private[stream] def aligned(
      ends: Map[ShardKey, CutPoint],
      statuses: Map[ShardKey, ReaderStatus],
      questions: LongTrigger.Questions
  )(again: Map[ShardKey, Long] => Map[ShardKey, CutPoint]): Map[ShardKey, CutPoint] = {
    val ended = ends.collect {
      case (shard, end) if end.position == ShardEnd =>
        (end.newestArrival ++ readTo(statuses(shard))).maxOption.getOrElse(WatermarkAlignment.Unknown)
    }
    questions.alignment.horizon(ended).fold(ends) { latest =>
      val (ahead, kept) = ends.partition { case (_, end) => end.newestArrival.exists(_ > latest) }
      kept ++ again(ahead.collect {
        case (shard, _) if low(statuses(shard), questions) < latest => shard -> latest
      })
    }
  }

  /** What arrived before it is read. */
  private def readTo(status: ReaderStatus) = (status.newestArrival ++ status.reached).maxOption

  private def low(status: ReaderStatus, questions: LongTrigger.Questions) = readTo(status).getOrElse(questions.oldest)

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
