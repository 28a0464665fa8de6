package io.github.kinesisspark

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.config.OptionTables
import io.github.kinesisspark.read.row.SourceSchema
import io.github.kinesisspark.read.stream.SourceMetrics
import io.github.kinesisspark.write.{SinkCounts, SinkMetrics, SinkSchema}

/** Holds the generated parts of docs/reference to the code. `make reference` writes them anew. */
class ReferencePagesSpec extends AnyFunSpec with Matchers {
  import ReferencePages._

  parts.foreach(_.writeIfAsked())

  describe("the reference") {
    parts.foreach { part =>
      it(s"has the ${part.name} of the code on its page") {
        part.onPage shouldBe part.text
      }
    }

    it("describes each column of the source, and no other") {
      columns.keySet shouldBe SourceSchema.schema.fieldNames.toSet
    }

    it("describes each metric of the source, and no other") {
      metrics
        .map(_._1)
        .toSet shouldBe SourceMetrics.gauges(isFanOut = true, () => SourceMetrics.none).keySet ++ Set(
        "details",
        "millisBehindLatest"
      )
    }

    it("describes each column and each metric of the sink, and no other") {
      columnsOfSink.keySet shouldBe SinkSchema.columns.map(_.name).toSet
      metricsOfSink.map(_._1).toSet shouldBe SinkMetrics.shown(SinkCounts.none).keySet
    }
  }
}

private object ReferencePages {

  val columns: Map[String, String] = Map(
    "data"            -> "payload of the record, or of the user record",
    "partitionKey"    -> "partition key; null on a stream that distributes records itself",
    "explicitHashKey" -> "explicit hash key of an aggregated user record, if its producer gave one",
    "sequenceNumber" -> "position in the shard. Greater numbers are later, but as numbers, not as text: sort by `sequence_key()` in Python, or `lpad(sequenceNumber, 129, '0')` in SQL",
    "subSequenceNumber" -> "place within an aggregated record, from 0; 0 for other records",
    "approximateArrivalTimestamp" -> "time at which Kinesis received the record; it may go back from one record to the next",
    "streamName" -> "name of the stream that the record was read from",
    "shardId"    -> "shard that the record was read from"
  )

  val metrics: Seq[(String, String)] = Seq(
    "maxMillisBehindLatest" -> "Lag: how far the planned end of the shard that is furthest behind is from that shard's newest record, in ms. **The one to watch**: while it grows, the query doesn't keep up.",
    "avgMillisBehindLatest" -> "Mean lag of the shards.",
    "minMillisBehindLatest" -> "Least lag. Far below the greatest: some shards get more records than others.",
    "millisBehindLatest"    -> "The same as `maxMillisBehindLatest`, by FLIP-128's name. Only in the query's progress.",
    "records"               -> "Kinesis records in the planned batch, as far as readers hold them.",
    "bytes"                 -> "Bytes in the planned batch, as far as readers hold them.",
    "shardsOpen"            -> "Shards that are read.",
    "bufferedBytes" -> "Bytes held by the readers of all executors. Near three quarters of `readerBufferSize` times executors: batches are the bottleneck, not reading.",
    "rereadRecords" -> "Records read again by GetRecords because the buffer that held them was lost. Growth without restarts: executors are being lost.",
    "rereadBytes" -> "Bytes of these records.",
    "callsThrottled" -> "GetRecords and GetShardIterator calls refused by a limit of the shard, and made again. Some during a catch-up are normal. Steady growth of a query that keeps up: others poll the same shards. Lower `polling.callsPerSecond`, or use fan-out.",
    "callsFailed" -> "Such calls that failed otherwise, and were made again. The log has their causes.",
    "readsDecodedBySdk" -> "GetRecords answers and subscriptions' events that the AWS SDK decoded, because the connector's decoder didn't expect something in them. They take more CPU. The log names each cause once.",
    "userRecords" -> "Rows given to the query since it started. More than Kinesis records if those are [aggregated](../concepts/aggregation.md). A batch that is read twice counts twice.",
    "userRecordsOfOtherShards" -> "User records left out because [their keys belong to another shard](../concepts/aggregation.md#after-a-reshard).",
    "malformedAggregatedRecords" -> "Records that begin like aggregated ones and are not; they are returned as they are.",
    "cloudWatchCalls" -> "Calls of CloudWatch's PutMetricData; 0 unless `cloudWatch.namespace` is set. AWS charges for each.",
    "cloudWatchCallsFailed" -> "Such calls that failed. The log has the first failure of a row; the query is not affected.",
    "bytesPerRead" -> "Mean bytes of a GetRecords answer or a subscription's event since the planning before.",
    "numberOfAggregatedRecords"   -> "Mean Kinesis records, aggregated or not, of the same.",
    "numberOfDeaggregatedRecords" -> "User records in as many Kinesis records, estimated from those read so far.",
    "details" -> "JSON: lag, records, throttled calls, records read again and subscriptions of each stream, of the fifty shards that are furthest behind, first those that have never reported, and of each executor. Of each shard also `bytesPerRead` and `numberOfAggregatedRecords`; shards are a table by column. [KinesisMonitor](../how-to/monitoring.md) shows it as tables. No gauge, as it is a text.",
    "subscriptionsLive" -> "Fan-out: open subscriptions; `shardsOpen` when all is well.",
    "subscriptionsWaiting" -> "Fan-out: shards without a subscription: between two, or not requested because the buffer is full.",
    "subscriptionsRefused" -> "Fan-out: subscriptions refused because the consumer has another one on the shard, or by a limit. Some after a crash are normal. Steady growth: something else uses the consumer.",
    "subscriptionsFailed" -> "Fan-out: subscriptions that failed for other reasons. The log has their causes.",
    "resubscriptions" -> "Fan-out: SubscribeToShard calls after the first of each reader. One for each shard in five minutes is normal.",
    "millisSinceLastEvent" -> "Fan-out: time since the last event of the most silent shard. Kinesis sends one about every 5 s, even without records; a subscription is reopened after 35 s. Grows also while the buffer is full.",
    "consumerCalls"      -> "Fan-out: calls that found, registered or listed stream consumers.",
    "consumerWaits"      -> "Fan-out: pauses before such calls were made again.",
    "consumerWaitMillis" -> "Fan-out: length of these pauses in all, in ms."
  )

  val columnsOfSink: Map[String, String] = Map(
    "data" -> "payload; may be empty, not null",
    "partitionKey" -> "1 to 256 characters. Without the column each row gets [a key of its own](../how-to/write.md#repeats-and-how-to-drop-them)",
    "explicitHashKey" -> "optional: a number from 0 to 2^128-1 that selects the shard in place of the key; null for none",
    "targetStream" -> "optional: the stream of the row, by name or ARN; null for the option's"
  )

  val metricsOfSink: Seq[(String, String)] = Seq(
    "records"              -> "Kinesis records that the service has taken.",
    "userRecords"          -> "Rows that are written: as many as `records`, unless they are aggregated.",
    "userRecordsPerRecord" -> "Mean rows in a record.",
    "bytes"                -> "Bytes of the records' data and keys.",
    "calls"                -> "PutRecords calls.",
    "callMillis"     -> "Time of these calls together, in ms; `maxInFlightCalls` of a task may be under way at once.",
    "meanCallMillis" -> "Mean time of a call until its answer, in ms.",
    "slowestCallMillis" -> "Longest time of a call until its answer, in ms.",
    "retried"           -> "Records sent again.",
    "throttled"         -> "Records refused by a limit.",
    "skipped"           -> "Bad rows left out.",
    "possibleDuplicates" -> "Records of calls that failed as a whole after the service may have stored them, and that were sent again."
  )

  private def sourceColumns = PagePart.table(
    Seq("Column", "Type", "Null", "Content"),
    SourceSchema.schema.toSeq.map { field =>
      Seq(
        s"`${field.name}`",
        field.dataType.simpleString,
        if (field.nullable) "yes" else "no",
        columns.getOrElse(field.name, "")
      )
    }
  )

  private def sourceMetrics =
    PagePart.table(Seq("Metric", "Meaning"), metrics.map { case (name, meaning) => Seq(s"`$name`", meaning) })

  private def sinkColumns =
    PagePart.table(
      Seq("Column", "Type", "Content"),
      SinkSchema.columns.map(c => Seq(s"`${c.name}`", c.kind, columnsOfSink.getOrElse(c.name, "")))
    )

  private def sinkMetrics = {
    val inUi = SinkMetrics.supported.map(_.name).toSet
    PagePart.table(
      Seq("Metric", "In the web UI", "Meaning"),
      metricsOfSink.map { case (name, meaning) => Seq(s"`$name`", if (inUi(name)) "yes" else "no", meaning) }
    )
  }

  val parts: Seq[PagePart] = Seq(
    new PagePart("options.md", "options", OptionTables.all.trim),
    new PagePart("options.md", "retries", OptionTables.retries),
    new PagePart("columns.md", "columns", sourceColumns),
    new PagePart("columns.md", "sink-columns", sinkColumns),
    new PagePart("metrics.md", "metrics", sourceMetrics),
    new PagePart("metrics.md", "sink-metrics", sinkMetrics)
  ) ++ CallsPage.tables.map(table => new PagePart("calls.md", table.name, CallsPage.markdown(table)))
}
