package io.github.kinesisspark.read.plan

import java.time.{Duration, Instant}

import scala.concurrent.duration.FiniteDuration

import io.github.kinesisspark.position.{KinesisOffset, ShardKey}

/** Up to when all that arrived in a shard is in the batches planned so far; in ms since 1970, by the service's clock.
  *
  * A read from a sequence number past retention continues at the oldest record, and Kinesis doesn't report whether there were records in between. The
  * time decides: if the last batch was complete up to a time within retention, nothing is lost since.
  */
final case class Completeness(byShard: Map[ShardKey, Long] = Map.empty) {

  /** With what a batch takes of its shards. No time decreases, whatever the clock shows. Shards that its end doesn't name any more are forgotten later. */
  def after(reported: Map[ShardKey, Long], end: KinesisOffset): Completeness = {
    var both = 0
    val now  = reported.transform((shard, time) =>
      byShard.get(shard) match {
        case Some(before) =>
          both += 1
          before.max(time)
        case None => time
      }
    )
    val all    = if (both == byShard.size) now else byShard ++ now
    val shards = end.streams.valuesIterator.map(_.shards.size).sum
    Completeness(if (all.size < 2 * shards) all else all.filter { case (shard, _) => end.progress(shard).isDefined })
  }

  /** A batch's end with the time of each stream: the earliest of its shards. One that is read to its end counts until its
    * children are in. What the last batch knew holds for all of them.
    */
  def recordIn(end: KinesisOffset): KinesisOffset = KinesisOffset(end.streams.map { case (arn, stream) =>
    val known = stream.shards.keysIterator.map(id => byShard.get(ShardKey(arn, id)))
    arn -> stream.copy(completeTo = (stream.completeTo ++ earliest(known)).maxOption)
  })

  /** Nothing if one of them is unknown, or there are none. */
  @annotation.tailrec
  private def earliest(times: Iterator[Option[Long]], soFar: Option[Long] = None): Option[Long] =
    if (!times.hasNext) soFar
    else
      times.next() match {
        case None             => None
        case time @ Some(now) => earliest(times, if (soFar.exists(_ <= now)) soFar else time)
      }
}

object Completeness {
  private val Soon = Duration.ofHours(1)

  /** Records that arrived within it and were not read yet, if there were any, are gone. */
  final case class Gap(from: Instant, until: Instant) {

    /** Whether a shard's oldest record makes it likely that there were some: it came right after the gap, within as much time as the gap
      * took, and an hour at most. A stream that was idle for that long was as likely idle before.
      *
      * @param oldest when the oldest record that is left arrived
      */
    def isLikelyLoss(oldest: Instant): Boolean =
      oldest.isBefore(until.plus(Seq(Duration.between(from, until), Soon).min))
  }

  /** @param completeTo of the last batch, in ms since 1970
    * @param now        the service's clock, in ms since 1970
    */
  def gap(completeTo: Long, now: Long, retention: FiniteDuration): Option[Gap] = {
    val oldest = now - retention.toMillis
    Option.when(completeTo < oldest)(Gap(Instant.ofEpochMilli(completeTo), Instant.ofEpochMilli(oldest)))
  }

  /** Whether it is so old that an idle stream is worth a batch without records: a query that ran all the time must not look like one that was stopped. */
  def isAging(completeTo: Long, now: Long, retention: FiniteDuration): Boolean =
    now - completeTo > retention.toMillis / 2
}
