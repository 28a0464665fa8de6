package io.github.kinesisspark.write

import java.util
import java.util.Locale
import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.github.kinesisspark.write.send.Totals

/** What tasks have done, as they report to the driver at their end.
  *
  * @param userRecords rows that were written, several of which may share a record
  * @param skipped     rows that could never be written
  * @param callTimes   of all calls
  */
final case class SinkCounts(sent: Totals, userRecords: Long, skipped: Long, callTimes: CallTimes)
    extends WriterCommitMessage {
  def +(other: SinkCounts): SinkCounts = SinkCounts(
    sent + other.sent,
    userRecords + other.userRecords,
    skipped + other.skipped,
    callTimes + other.callTimes
  )
}

object SinkCounts {
  val none: SinkCounts = SinkCounts(Totals(), 0, 0, CallTimes.none)
}

/** How long calls took, from being sent to their answer.
  *
  * @param sum     in ms, of all
  * @param slowest in ms
  */
final case class CallTimes(sum: Long, slowest: Long) {
  def and(millis: Long): CallTimes   = this + CallTimes(millis, millis)
  def +(other: CallTimes): CallTimes = CallTimes(sum + other.sum, math.max(slowest, other.slowest))
}

object CallTimes {
  val none: CallTimes = CallTimes(0, 0)
}

/** The counts for Spark: in `StreamingQueryProgress.sink.metrics`, over all batches since the query started, and for each batch in the web UI. */
private[write] final class SinkMetrics {
  private val all = new AtomicReference(SinkCounts.none)

  def add(counts: SinkCounts): Unit = all.updateAndGet(_ + counts): Unit

  /** Whether the service has taken a record. */
  def hasWritten: Boolean = all.get.sent.records > 0

  def toJava: util.Map[String, String] = SinkMetrics.shown(all.get).asJava
}

private[kinesisspark] object SinkMetrics {
  private val each: Seq[SinkMetric] =
    Seq(
      new RecordsMetric,
      new UserRecordsMetric,
      new BytesMetric,
      new RetriedMetric,
      new ThrottledMetric,
      new CallsMetric,
      new SkippedMetric,
      new PossibleDuplicatesMetric,
      new CallMillisMetric,
      new SlowestCallMillisMetric
    )

  def supported: Array[CustomMetric] = each.toArray

  def ofTask(counts: SinkCounts): Array[CustomTaskMetric] = each.map { metric =>
    new CustomTaskMetric {
      override def name(): String = metric.name
      override def value(): Long  = metric.value(counts)
    }: CustomTaskMetric
  }.toArray

  def shown(counts: SinkCounts): Map[String, String] =
    each.map(metric => metric.name -> metric.value(counts).toString).toMap ++ Map(
      "meanCallMillis"       -> ratio(counts.callTimes.sum, counts.sent.calls),
      "userRecordsPerRecord" -> ratio(counts.userRecords, counts.sent.records)
    )

  private def ratio(of: Long, to: Long) = if (to == 0) "0.0" else "%.1f".formatLocal(Locale.ROOT, of.toDouble / to)
}

/** One of the counts. Spark's UI makes them anew by class name, so each is a class. */
sealed trait SinkMetric extends CustomMetric {
  def value(counts: SinkCounts): Long
}

sealed abstract class SinkSum(
    override val name: String,
    override val description: String,
    of: SinkCounts => Long
) extends CustomSumMetric
    with SinkMetric {
  override def value(counts: SinkCounts): Long = of(counts)
}

final class RecordsMetric     extends SinkSum("records", "records written", _.sent.records)
final class UserRecordsMetric extends SinkSum("userRecords", "rows written", _.userRecords)
final class BytesMetric       extends SinkSum("bytes", "bytes written, keys included", _.sent.bytes)
final class RetriedMetric     extends SinkSum("retried", "records sent again", _.sent.retried)
final class ThrottledMetric   extends SinkSum("throttled", "records refused by a limit", _.sent.throttled)
final class CallsMetric       extends SinkSum("calls", "PutRecords calls", _.sent.calls)
final class SkippedMetric     extends SinkSum("skipped", "bad rows skipped", _.skipped)
final class PossibleDuplicatesMetric
    extends SinkSum("possibleDuplicates", "records sent again that may be stored twice", _.sent.possibleDuplicates)
final class CallMillisMetric extends SinkSum("callMillis", "time of PutRecords calls (ms)", _.callTimes.sum)

final class SlowestCallMillisMetric extends SinkMetric {
  override def name(): String                                     = "slowestCallMillis"
  override def description(): String                              = "slowest PutRecords call (ms)"
  override def value(counts: SinkCounts): Long                    = counts.callTimes.slowest
  override def aggregateTaskMetrics(ofTasks: Array[Long]): String = ofTasks.iterator.foldLeft(0L)(_ max _).toString
}
