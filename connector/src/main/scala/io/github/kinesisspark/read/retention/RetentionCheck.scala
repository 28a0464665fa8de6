package io.github.kinesisspark.read.retention

import java.time.Instant

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.{FailureReason, KinesisException}
import io.github.kinesisspark.position.{CompleteTo, KinesisOffset, ShardKey, ShardPosition, StreamArn}
import io.github.kinesisspark.read.catalog.{Parallel, ShardCatalog}
import io.github.kinesisspark.read.plan.{Completeness, PlanningState}
import io.github.kinesisspark.read.reader.DataLoss

/** What retention means for a query's offsets: writes into them up to when they are complete, holds that against retention when a run
  * begins, and reports records that a planning finds to be gone. The query fails with them, or continues without them (`failOnDataLoss`).
  *
  * @see [[Completeness]] why only the time decides
  */
final class RetentionCheck(catalog: ShardCatalog, failOnDataLoss: Boolean) {
  import RetentionCheck._
  import catalog.clients.runtime

  private val log        = LoggerFactory.getLogger(classOf[RetentionCheck])
  private var known      = Completeness()
  private var isChecked  = false
  private var lostShards = Set.empty[ShardKey]

  /** Records that the offset of an earlier run had not read, and retention has passed. Reported once, before anything is read.
    *
    * @throws io.github.kinesisspark.aws.KinesisException if `failOnDataLoss`
    */
  def reportGaps(from: KinesisOffset): Unit = if (!isChecked) {
    isChecked = true
    for {
      (stream, offset) <- from.streams if catalog.reads(stream)
      to               <- offset.completeTo
      gap              <- gap(stream, to)
    } {
      val records  = s"$stream: records that arrived between ${gap.from} and ${gap.until} and were not read"
      val shortest = Completeness.shortest(to, catalog.retention(stream))
      val raised   = if (shortest < catalog.retention(stream)) ", which was raised later" else ""
      val past     = s"past the stream's retention of ${shortest.toHours} hours$raised"
      val oldest   = oldestOf(stream, from)
      val isKept   = oldest.nonEmpty && oldest.forall { case (_, arrival) => arrival.exists(gap.isCovered) }
      val likely   = oldest.collect {
        case (id, Some(arrival)) if gap.isLikelyLoss(arrival) => s"$id has one of $arrival"
      }
      val more = Option.when(likely.size > MostNamed)(s"and ${likely.size - MostNamed} more shards have one")
      if (likely.nonEmpty)
        report(
          s"$records are $past; that there were any is likely, as ${(likely.take(MostNamed) ++ more).mkString(", ")}",
          "the oldest that are left"
        )
      else if (!isKept)
        log.warn(
          s"$records, if there were any, are $past. That there were none is as likely, as no shard has any of soon after; continuing with the " +
            "oldest that are left"
        )
    }
  }

  /** When the oldest record arrived that is left of each shard that the offset has not read to its end. */
  private def oldestOf(arn: StreamArn, from: KinesisOffset): Vector[(String, Option[Instant])] = {
    val unread = from.streams(arn).shards.collect { case (id, at) if !at.isAtEnd => id }
    val ends   = catalog.ends()
    Parallel.map(unread.filter(catalog.lineage(arn).has).toVector.sorted) { id =>
      val first =
        try ends.first(ShardKey(arn, id), ShardPosition.TrimHorizon)
        // It has gone past retention since it was listed.
        catch { case e: KinesisException if e.reason == FailureReason.NotFound => None }
      id -> first.map(record => Instant.ofEpochMilli(record.arrivalMillis))
    }
  }

  /** Shards that were not read to their end and that are gone. Reported once, however many plannings find them before a batch leaves them out.
    *
    * @throws io.github.kinesisspark.position.OffsetException if they are gone because the stream was created anew
    * @throws io.github.kinesisspark.aws.KinesisException     if there are any and `failOnDataLoss`
    */
  def reportShards(planning: PlanningState): Unit = {
    val lost = planning.pastRetention.filterNot(lostShards)
    lost.map(_.stream).distinct.foreach(catalog.checkIsSame)
    def named(shard: ShardKey) =
      // One that came and went between two listings was to be read from its beginning.
      s"$shard (from ${ShardPosition.encode(planning.reading.getOrElse(shard, ShardPosition.TrimHorizon))} to its end)"
    if (lost.nonEmpty)
      report(
        s"${lost.map(named).mkString(", ")}: not read to the end, and the stream does not have them any more, " +
          "so that records past retention are lost",
        "their children"
      )
    lostShards = planning.pastRetention.toSet
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
      case ShardPosition.AtTimestamp(time) if gap(shard.stream, CompleteTo(time, None)).isEmpty => time
    }
    val reported = for {
      (shard, at) <- reading.iterator
      time        <- read(shard, at).orElse(begun(shard, at))
    } yield shard -> time
    known = known.after(reported.toMap, end)
    known.recordIn(end, catalog.retention(_).toHours)
  }

  /** Whether to plan a batch without records: the time in the last offset is old. */
  def isDue(from: KinesisOffset, end: => KinesisOffset): Boolean = {
    val old = aging(from)
    old.nonEmpty && old.exists(!aging(end).contains(_))
  }

  /** Whether a batch without records may be due. */
  def isAging(from: KinesisOffset): Boolean = aging(from).nonEmpty

  private def aging(offset: KinesisOffset): Set[StreamArn] =
    offset.streams.iterator.collect {
      case (arn, stream)
          if stream.completeTo
            .exists(to => Completeness.isAging(to.millis, catalog.now(arn), catalog.retention(arn))) =>
        arn
    }.toSet

  private def gap(stream: StreamArn, completeTo: CompleteTo) =
    Completeness.gap(completeTo, catalog.now(stream), catalog.retention(stream))

  /** @param rest what the query continues with */
  private def report(what: String, rest: String): Unit = DataLoss.report(
    what,
    s"Set failOnDataLoss to false to continue with $rest, and raise the stream's retention.",
    rest,
    failOnDataLoss,
    log
  )
}

object RetentionCheck {

  /** Shards in a message. */
  private val MostNamed = 3
}
