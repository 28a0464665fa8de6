package io.github.kinesisspark.read.stream

import scala.annotation.tailrec
import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.Peek
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, AtTimestamp}
import io.github.kinesisspark.position.{ShardKey, ShardPosition, StreamArn}
import io.github.kinesisspark.read.catalog.{Parallel, PeekingClients, ShardEnds}
import io.github.kinesisspark.read.plan.{HistoryPart, LongTrigger, WatermarkAlignment}
import io.github.kinesisspark.read.reader.{RecordBuffer, ShardTip, StreamAccess}

/** Ends of a batch beyond what its readers hold: a record in the shard that arrived about a given time. The tasks read up to there through the
  * live readers, as any other range.
  *
  * Each look takes one GetShardIterator and one or two GetRecords of one record, of the calls that all pollers of the shard share. A shard whose looks
  * fail ends where its reader stands.
  *
  * @param serviceNow by the service's clock, in ms
  */
final class BeyondBuffers(
    streams: Map[StreamArn, StreamAccess],
    alignment: WatermarkAlignment,
    serviceNow: StreamArn => Long
) {
  import BeyondBuffers._

  private val log = LoggerFactory.getLogger(classOf[BeyondBuffers])

  /** The parts of a batch that end later than the readers stand.
    *
    * @param cuts   the batch as far as readers hold it
    * @param stretch as LongTrigger has it
    * @param toCome the earliest arrivals of shards that others wait for, before the batch
    * @param unheard the same of shards that nothing is held of
    */
  def ends(
      interval: FiniteDuration,
      stretch: Double,
      tips: Map[ShardKey, ShardTip],
      cuts: Map[ShardKey, RecordBuffer.Cut],
      toCome: Vector[(ShardKey, Long)],
      unheard: Vector[Long]
  ): Map[ShardKey, RecordBuffer.Cut] = {
    val behind = for {
      (shard, cut) <- cuts.toVector
      tip          <- tips.get(shard)
      if cut.position == tip.position && tip.isBehind
      oldest <- tip.oldestArrival
      newest <- tip.newestArrival
    } yield LongTrigger.Behind(shard, tip.bytes, tip.room, oldest, newest)
    val starved = tips.valuesIterator.filter(t => t.starved && t.isBehind && t.records == 0).map(_.shard).toVector
    val known   = behind.iterator.map(_.shard).toSet ++ starved
    val others  = unheard ++ toCome.collect { case (shard, time) if !known(shard) => time } ++
      cuts.collect { case (shard, cut) if !known(shard) => cut.nextArrival }.flatten
    val times  = LongTrigger.times(interval, stretch, behind, starved, others, alignment)
    val oldest = behind.map(_.oldest).minOption
    if (times.isEmpty) Map.empty
    else
      PeekingClients.using(streams.view.mapValues(_.copy(maxRetryDuration = Patience)).toMap) { looks =>
        Parallel.map(times.toVector) { case (shard, time) => end(tips(shard), time, oldest, looks) }.flatten.toMap
      }
  }

  private def end(
      tip: ShardTip,
      time: Long,
      oldest: Option[Long],
      looks: ShardEnds
  ): Option[(ShardKey, RecordBuffer.Cut)] =
    try
      search(tip, time, oldest, looks).filter(found => isPast(tip.position, found.end)).map { found =>
        tip.shard -> tip.all.copy(position = found.end, newestArrival = (tip.newestArrival ++ found.newest).maxOption)
      }
    catch {
      case NonFatal(e) =>
        log.info(s"${tip.shard}: the batch ends where its reader stands, as no later end was found: ${e.getMessage}")
        None
    }

  /** A time in a position is from before anything was read. */
  private def isPast(before: ShardPosition, end: ShardPosition) = before match {
    case _: AtTimestamp => true
    case _              => HistoryPart.isBefore(before, end)
  }

  /** What arrived first at the time or after it; where nothing has, the newest record. */
  private def search(tip: ShardTip, time: Long, oldest: Option[Long], looks: ShardEnds): Option[ShardEnds.Extent] = {
    val now = serviceNow(tip.shard.stream)
    val low = (tip.newestArrival ++ tip.reached).maxOption.orElse(oldest).getOrElse(time)

    def look(at: Long)                = looks.first(tip.shard, AtTimestamp(at))
    def newestAfter(found: Peek.Seen) = {
      val newest = looks.tip(tip.shard, AfterSequenceNumber(found.number), now)
      newest.copy(newest = newest.newest.orElse(Some(found.arrivalMillis)))
    }
    @tailrec def between(some: Long, none: Long, found: Option[Peek.Seen], left: Int): Option[Peek.Seen] =
      if (left == 0 || none - some <= (none - low) / 8) found
      else {
        val middle = some + (none - some) / 2
        look(middle) match {
          case Some(record) => between(middle.max(record.arrivalMillis), none, Some(record), left - 1)
          case None         => between(some, middle, found, left - 1)
        }
      }
    // The service refuses times in the future, and tells its own in whole seconds.
    val latest = time.min(now - 1000)
    if (latest <= low) None
    else
      look(latest)
        .map(record => ShardEnds.Extent(AfterSequenceNumber(record.number), Some(record.arrivalMillis)))
        .orElse(between(low, latest, None, MostLooks).map(record => newestAfter(record)))
  }
}

object BeyondBuffers {

  /** After the first. */
  private val MostLooks = 4

  /** For one look with all its attempts. */
  private val Patience = 3.seconds
}
