package io.github.kinesisspark.read.retention

import org.slf4j.LoggerFactory

import io.github.kinesisspark.position.{KinesisOffset, ShardKey, ShardPosition}
import io.github.kinesisspark.read.catalog.ShardCatalog
import io.github.kinesisspark.read.plan.{PlanningState, ReaderStatus}
import io.github.kinesisspark.read.reader.DataLoss

/** Reports records that a planning finds to be gone. The query fails with them, or continues without them (`failOnDataLoss`). */
final class LossReports(catalog: ShardCatalog, retention: RetentionWatch, failOnDataLoss: Boolean) {
  private val log = LoggerFactory.getLogger(classOf[LossReports])

  /** Records that the offset of an earlier run had not read, and retention has passed. Reported once.
    *
    * @throws io.github.kinesisspark.aws.KinesisException if `failOnDataLoss`
    */
  def reportGaps(from: KinesisOffset): Unit =
    retention.gapsOnce(from).foreach { case (stream, gap) =>
      val records = s"$stream: records that arrived between ${gap.from} and ${gap.until} and were not read"
      val past    = s"past the stream's retention of ${catalog.retention(stream).toHours} hours"
      retention.evidence(stream, gap, from) match {
        case Some(evidence) =>
          report(s"$records are $past; that there were any is likely, as $evidence", "the oldest that are left")
        case None =>
          log.warn(
            s"$records, if there were any, are $past. That there were none is as likely, as no shard has any of soon after; continuing with the " +
              "oldest that are left"
          )
      }
    }

  /** Shards that were not read to their end and that are gone.
    *
    * @throws io.github.kinesisspark.aws.KinesisException if there are any and `failOnDataLoss`
    */
  def reportShards(planning: PlanningState): Vector[ShardKey] = {
    val lost                   = planning.pastRetention
    def named(shard: ShardKey) =
      // One that came and went between two listings was to be read from its beginning.
      s"$shard (from ${ShardPosition.encode(planning.reading.getOrElse(shard, ShardPosition.TrimHorizon))} to its end)"
    if (lost.nonEmpty)
      report(
        s"${lost.map(named).mkString(", ")}: not read to the end, and the stream does not have them any more, " +
          "so that records past retention are lost",
        "their children"
      )
    lost
  }

  /** A suspicion only: no call shows whether there were records. */
  def warnIfOvertaken(statuses: Iterable[ReaderStatus]): Unit =
    retention.overtaken(statuses).foreach { case (shard, gap) =>
      log.warn(
        s"$shard: the query is further behind than the stream's retention of ${catalog.retention(shard.stream).toHours} hours. " +
          s"Records that arrived between ${gap.from} and ${gap.until} and were not read, if there were any, are lost. Raise the retention, " +
          "or give the query more to work with."
      )
    }

  /** @param rest what the query continues with */
  private def report(what: String, rest: String): Unit = DataLoss.report(
    what,
    s"Set failOnDataLoss to false to continue with $rest, and raise the stream's retention.",
    rest,
    failOnDataLoss,
    log
  )
}
