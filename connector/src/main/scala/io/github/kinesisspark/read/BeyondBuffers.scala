package io.github.kinesisspark.read

import scala.annotation.tailrec
import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.Peek
import io.github.kinesisspark.position.{ShardKey, StreamArn}
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, AtTimestamp}
import io.github.kinesisspark.read.plan.{Alignment, HistoryPart, LongTrigger}
import io.github.kinesisspark.read.shard.{RecordBuffer, ShardTip, StreamAccess}

/** Ends of a batch beyond what its readers hold: a record in the shard that arrived about a given time. The tasks read up to there through the
  * live readers, as any other range.
  *
  * Each look takes one GetShardIterator and one or two GetRecords of one record, of the calls that all pollers of the shard share. A shard whose looks
  * fail ends where its reader stands.
  *
  * @param now by the service's clock
  */
final class BeyondBuffers(streams: Map[StreamArn, StreamAccess], alignment: Alignment, now: StreamArn => Long) {
  import BeyondBuffers._

  private val log = LoggerFactory.getLogger(classOf[BeyondBuffers])

  /** The parts of a batch that end later than the readers stand.
    *
    * @param cuts   the batch as far as readers hold it
    * @param toCome the earliest arrivals of shards that others wait for, before the batch
    * @param unheard the same of shards that nothing is held of
    */
  def ends(
      interval: FiniteDuration,
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
    val isBehind = behind.iterator.map(_.shard).toSet
    val others   = unheard ++ toCome.collect { case (shard, time) if !isBehind(shard) => time } ++
      cuts.collect { case (shard, cut) if !isBehind(shard) => cut.nextArrival }.flatten
    val times = LongTrigger.times(interval, behind, others, alignment)
    if (times.isEmpty) Map.empty
    else
      PeekingClients.using(streams.view.mapValues(_.copy(maxRetryDuration = Patience)).toMap) { looks =>
        SideBySide.map(times.toVector) { case (shard, time) => end(tips(shard), time, looks) }.flatten.toMap
      }
  }

  private def end(tip: ShardTip, time: Long, looks: ShardEnds): Option[(ShardKey, RecordBuffer.Cut)] =
    try
      search(tip, time, looks).flatMap { last =>
        val position = AfterSequenceNumber(last.number)
        val newest   = tip.newestArrival.fold(last.arrivalMillis)(_.max(last.arrivalMillis))
        Option.when(HistoryPart.isBefore(tip.position, position))(
          tip.shard -> tip.all.copy(position = position, newestArrival = Some(newest))
        )
      }
    catch {
      case NonFatal(e) =>
        log.info("{}: the batch ends where its reader stands, as no later end was found: {}", tip.shard, e.getMessage)
        None
    }

  /** What arrived first at the time or after it; where that is nothing, something before it. */
  private def search(tip: ShardTip, time: Long, looks: ShardEnds): Option[Peek.Seen] = {
    val low = tip.newestArrival.getOrElse(time)

    @tailrec def between(some: Long, none: Long, found: Option[Peek.Seen], left: Int): Option[Peek.Seen] =
      if (left == 0 || none - some <= (none - low) / 8) found
      else {
        val middle = some + (none - some) / 2
        look(middle) match {
          case Some(record) => between(middle.max(record.arrivalMillis), none, Some(record), left - 1)
          case None         => between(some, middle, found, left - 1)
        }
      }
    def look(at: Long) = looks.first(tip.shard, AtTimestamp(at))
    // The service refuses times in the future, and tells its own in whole seconds.
    val latest = time.min(now(tip.shard.stream) - 1000)
    if (latest <= low) None
    else look(latest).orElse(between(low, latest, None, MostLooks))
  }
}

object BeyondBuffers {

  /** After the first. */
  private val MostLooks = 4

  /** For one look with all its attempts. */
  private val Patience = 3.seconds
}
