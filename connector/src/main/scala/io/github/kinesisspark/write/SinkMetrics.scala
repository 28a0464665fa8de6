package io.github.kinesisspark.write

import java.util
import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

/** What tasks have done, as they tell the driver when they are done.
  *
  * @param records     of Kinesis
  * @param userRecords rows, several of which may share a record
  * @param retried   records sent again
  * @param throttled refusals because of a limit, of records or of whole calls' records
  * @param calls     of PutRecords
  * @param skipped   rows that could never be written
  */
final case class SinkCounts(
    records: Long,
    userRecords: Long,
    bytes: Long,
    retried: Long,
    throttled: Long,
    calls: Long,
    skipped: Long
) {
  def +(other: SinkCounts): SinkCounts = SinkCounts(
    records + other.records,
    userRecords + other.userRecords,
    bytes + other.bytes,
    retried + other.retried,
    throttled + other.throttled,
    calls + other.calls,
    skipped + other.skipped
  )
}

object SinkCounts {
  val none: SinkCounts = SinkCounts(0, 0, 0, 0, 0, 0, 0)
}

/** The counts for Spark: in `StreamingQueryProgress.sink.metrics`, as sums over all batches since the query started, and for each batch in the web UI. */
private[write] final class SinkMetrics {
  private val sum = new AtomicReference(SinkCounts.none)

  def add(counts: SinkCounts): Unit = sum.updateAndGet(_ + counts): Unit

  def toJava: util.Map[String, String] =
    SinkMetrics.all.map(metric => metric.name -> metric.value(sum.get).toString).toMap.asJava
}

private[write] object SinkMetrics {
  val all: Seq[SinkMetric] =
    Seq(
      new RecordsMetric,
      new UserRecordsMetric,
      new BytesMetric,
      new RetriedMetric,
      new ThrottledMetric,
      new CallsMetric,
      new SkippedMetric
    )

  def supported: Array[CustomMetric] = all.toArray

  def ofTask(counts: SinkCounts): Array[CustomTaskMetric] = all.map { metric =>
    new CustomTaskMetric {
      override def name(): String = metric.name
      override def value(): Long  = metric.value(counts)
    }: CustomTaskMetric
  }.toArray
}

/** One of the counts. Spark's UI makes them anew by class name, so each is a class. */
sealed abstract class SinkMetric(
    override val name: String,
    override val description: String,
    val value: SinkCounts => Long
) extends CustomSumMetric

final class RecordsMetric     extends SinkMetric("records", "records written", _.records)
final class UserRecordsMetric extends SinkMetric("userRecords", "rows written", _.userRecords)
final class BytesMetric       extends SinkMetric("bytes", "bytes written, keys included", _.bytes)
final class RetriedMetric     extends SinkMetric("retried", "records sent again", _.retried)
final class ThrottledMetric   extends SinkMetric("throttled", "records refused by a limit", _.throttled)
final class CallsMetric       extends SinkMetric("calls", "PutRecords calls", _.calls)
final class SkippedMetric     extends SinkMetric("skipped", "bad rows skipped", _.skipped)
