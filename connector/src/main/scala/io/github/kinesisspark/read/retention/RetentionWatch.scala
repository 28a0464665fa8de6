package io.github.kinesisspark.read.retention

import java.time.Instant

import io.github.kinesisspark.position.{KinesisOffset, ShardKey, ShardPosition, StreamArn}
import io.github.kinesisspark.read.catalog.{Parallel, ProbeClients, ShardCatalog}
import io.github.kinesisspark.read.plan.{Completeness, ReaderStatus, RetentionLag}

/** Whether a query keeps up with the retention of its streams: writes into its offsets up to when they are complete, and holds
  * that against retention when a run begins.
  *
  * @see [[Completeness]] why only the time decides
  */
final class RetentionWatch(catalog: ShardCatalog) {
  import RetentionWatch._
  import catalog.clients.runtime

  private var known     = Completeness()
  private var isChecked = false
  private var lag       = RetentionLag()

  /** Asked before anything is read: what an offset had not read and may be gone, by stream. Reported once. */
  def gapsOnce(from: KinesisOffset): Map[StreamArn, Completeness.Gap] =
    if (isChecked) Map.empty
    else {
      isChecked = true
      for {
        (arn, stream) <- from.streams if catalog.reads(arn)
        to            <- stream.completeTo
        gap           <- gap(arn, to)
      } yield arn -> gap
    }

  /** What speaks for records in a gap, in words: shards of the offset whose oldest record came soon after it. Nothing proves it. */
  def evidence(arn: StreamArn, gap: Completeness.Gap, from: KinesisOffset): Option[String] = {
    val unread = from.streams(arn).shards.collect { case (id, at) if at.position != ShardPosition.ShardEnd => id }
    val shards = unread.filter(catalog.lineage(arn).has).toVector.sorted
    val oldest = ProbeClients.using(catalog.clients, Map(arn -> catalog.access(arn))) { ends =>
      Parallel.map(shards)(id => ends.first(ShardKey(arn, id), ShardPosition.TrimHorizon))
    }
    val likely = for {
      (id, record) <- shards.zip(oldest)
      arrival      <- record.map(r => Instant.ofEpochMilli(r.arrivalMillis)) if gap.isLikelyLoss(arrival)
    } yield s"$id has one of $arrival"
    val more = Option.when(likely.size > MostNamed)(s"and ${likely.size - MostNamed} more shards have one")
    Option.when(likely.nonEmpty)((likely.take(MostNamed) ++ more).mkString(", "))
  }

  /** Asked at every planning: what may have gone since the last one before it was read. Reported once, until the shard has caught up. */
  def overtaken(statuses: Iterable[ReaderStatus]): Map[ShardKey, Completeness.Gap] = {
    val reported = statuses.iterator
      .filterNot(_.isComplete)
      .map(status => status.shard -> status.completeTo(status.all, catalog.now(status.shard.stream)))
      .toMap
    val (now, gaps) =
      lag.after(reported, shard => catalog.now(shard.stream) - catalog.retention(shard.stream).toMillis)
    lag = now
    gaps
  }

  /** A batch's end with the times up to which it is complete.
    *
    * @param reading where the batch's shards begin
    * @param read    up to when a shard that begins there is in the batch and those before, if that is known
    */
  def complete(
      end: KinesisOffset,
      reading: collection.Map[ShardKey, ShardPosition],
      read: (ShardKey, ShardPosition) => Option[Long]
  ): KinesisOffset = {
    // What comes before the time that a query begins at is not wanted.
    def begun(shard: ShardKey, at: ShardPosition) = Some(at).collect {
      case ShardPosition.AtTimestamp(time) if gap(shard.stream, time).isEmpty => time
    }
    val reported = for {
      (shard, at) <- reading.iterator
      time        <- read(shard, at).orElse(begun(shard, at))
    } yield shard -> time
    known = known.after(reported.toMap, end)
    known.recordIn(end)
  }

  /** Whether to plan a batch without records: the time in the last offset is old. */
  def isDue(from: KinesisOffset, end: => KinesisOffset): Boolean = {
    val old = aging(from)
    old.nonEmpty && old.exists(!aging(end).contains(_))
  }

  private def aging(offset: KinesisOffset): Set[StreamArn] =
    offset.streams.iterator.collect {
      case (arn, stream)
          if stream.completeTo.exists(Completeness.isAging(_, catalog.now(arn), catalog.retention(arn))) =>
        arn
    }.toSet

  private def gap(stream: StreamArn, completeTo: Long) =
    Completeness.gap(completeTo, catalog.now(stream), catalog.retention(stream))
}

object RetentionWatch {

  /** Shards in a message. */
  private val MostNamed = 3
}
