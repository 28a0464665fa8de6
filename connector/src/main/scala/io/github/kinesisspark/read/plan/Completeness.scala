package io.github.kinesisspark.read.plan

import java.time.{Duration => JavaDuration, Instant}

import scala.concurrent.duration._

import io.github.kinesisspark.position.{CompleteTo, KinesisOffset, ShardKey, StreamArn}

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
    *
    * @param retentionHours as the query knows it: it has compared the time in its first offset with that
    */
  def recordIn(end: KinesisOffset, retentionHours: StreamArn => Long): KinesisOffset =
    KinesisOffset(end.streams.map { case (arn, stream) =>
      val known = stream.shards.keysIterator.map(id => byShard.get(ShardKey(arn, id)))
      val time  = (stream.completeTo.map(_.millis) ++ earliest(known)).maxOption
      arn -> stream.copy(completeTo = time.map(CompleteTo(_, Some(retentionHours(arn)))))
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
  private val Soon = JavaDuration.ofHours(1)

  /** Records that arrived within it and were not read yet, if there were any, are gone. */
  final case class Gap(from: Instant, until: Instant) {

    /** Whether a shard has lost none: a record that is left came before them, and a shard loses its oldest first.
      *
      * @param oldest when the oldest record that is left arrived
      */
    def isCovered(oldest: Instant): Boolean = !oldest.isAfter(from)

    /** Whether a shard's oldest record makes it likely that there were some: it came within the gap, or right after it, within as much time as the gap
      * took, and an hour at most. A stream that was idle for that long was as likely idle before.
      *
      * @param oldest when the oldest record that is left arrived
      */
    def isLikelyLoss(oldest: Instant): Boolean =
      !isCovered(oldest) && oldest.isBefore(until.plus(Seq(JavaDuration.between(from, until), Soon).min))
  }

  /** @param completeTo of the last batch
    * @param now        the service's clock, in ms since 1970
    * @param retention  as it is now. Records that a shorter one has taken before stay gone, and when it was raised is unknown
    */
  def gap(completeTo: CompleteTo, now: Long, retention: FiniteDuration): Option[Gap] = {
    val oldest = now - shortest(completeTo, retention).toMillis
    Option.when(completeTo.millis < oldest)(Gap(Instant.ofEpochMilli(completeTo.millis), Instant.ofEpochMilli(oldest)))
  }

  /** Of the retention as it is now, and as it was. */
  def shortest(completeTo: CompleteTo, retention: FiniteDuration): FiniteDuration =
    completeTo.retentionHours.map(_.hours).foldLeft(retention)(_ min _)

  /** Whether it is so old that an idle stream is worth a batch without records: a query that ran all the time must not look like one that was stopped. */
  def isAging(completeTo: Long, now: Long, retention: FiniteDuration): Boolean =
    now - completeTo > retention.toMillis / 2
}
