package io.github.kinesisspark.read.stream

/** Every metric of the source, once: progress and Spark's metrics system have these names, and docs/polling-or-fan-out.md is made of it. */
private[stream] object MetricCatalogue {
  sealed trait Scope

  /** A number, in progress and as a gauge. */
  case object All extends Scope

  /** The same, of sources that read by fan-out. */
  case object FanOut extends Scope

  /** A text, which no gauge can show. */
  case object ProgressOnly extends Scope

  final case class Entry(scope: Scope, names: Seq[String], meaning: String)

  /** Of a scope. */
  def names(scope: Scope): Set[String] = entries.filter(_.scope == scope).flatMap(_.names).toSet

  /** The page's table. */
  def markdown: String = entries
    .map { entry =>
      val only = if (entry.scope == FanOut) "Fan-out: " else ""
      s"| ${entry.names.map(name => s"`$name`").mkString(", ")} | $only${entry.meaning} |"
    }
    .mkString("| Metric | Means |\n|---|---|\n", "\n", "\n")

  val entries: Seq[Entry] = Seq(
    Entry(
      All,
      Seq("maxMillisBehindLatest"),
      "How far the planned end of the shard that is furthest behind is from its newest record. **The one to " +
        "watch**: while it grows, the query doesn't keep up."
    ),
    Entry(
      All,
      Seq("avgMillisBehindLatest"),
      "The mean over the shards."
    ),
    Entry(
      All,
      Seq("minMillisBehindLatest"),
      "The least. Far from the greatest: some shards get more records than others."
    ),
    Entry(
      All,
      Seq("millisBehindLatest"),
      "The same as `maxMillisBehindLatest`."
    ),
    Entry(
      All,
      Seq("records", "bytes"),
      "In the planned batch, as far as readers hold it already."
    ),
    Entry(
      All,
      Seq("shardsOpen"),
      "Shards that are being read."
    ),
    Entry(
      All,
      Seq("bufferedBytes"),
      "Held in all executors. Near `readerBufferSize` times executors, the batches are the bottleneck, not the " +
        "reading."
    ),
    Entry(
      All,
      Seq("rereadRecords", "rereadBytes"),
      "Read again by GetRecords, because a batch's buffer was lost. Growing without restarts: executors are " +
        "being lost."
    ),
    Entry(
      All,
      Seq("callsThrottled"),
      "Calls of GetRecords and GetShardIterator that the service refused because the shard's limits were used " +
        "up; they were tried again. Some in a catch-up are normal; steady growth of a query that keeps up means " +
        "that others poll the same shards: lower `polling.callsPerSecond`, or use fan-out."
    ),
    Entry(
      All,
      Seq("callsFailed"),
      "Such calls that failed otherwise and were tried again. The log has them."
    ),
    Entry(
      All,
      Seq("userRecords"),
      "Rows that tasks have given to the query since it started: with [aggregated records](aggregation.md), " +
        "more than Kinesis records. A batch that is read twice counts twice."
    ),
    Entry(
      All,
      Seq("userRecordsOfOtherShards"),
      "User records that were left out, because [their keys belong to another shard](aggregation.md)."
    ),
    Entry(
      All,
      Seq("malformedAggregatedRecords"),
      "Records that begin as aggregated ones and are none; they come as they are."
    ),
    Entry(
      All,
      Seq("bytesPerRead", "numberOfAggregatedRecords"),
      "Bytes and Kinesis records, aggregated or not, in an answer of GetRecords, or an event of a subscription, " +
        "on average since the planning before."
    ),
    Entry(
      All,
      Seq("numberOfDeaggregatedRecords"),
      "The user records in as many Kinesis records, going by what those had that were read so far."
    ),
    Entry(
      ProgressOnly,
      Seq("details"),
      "JSON: lag, records, calls throttled, records read again and subscriptions of each stream and of the " +
        "fifty shards that are furthest behind, and of each executor. `KinesisMonitor` shows it as tables."
    ),
    Entry(
      FanOut,
      Seq("subscriptionsLive"),
      "subscriptions that are open; `shardsOpen` when all is well."
    ),
    Entry(
      FanOut,
      Seq("subscriptionsWaiting"),
      "shards without one: between two, or not asked for because the buffer is full."
    ),
    Entry(
      FanOut,
      Seq("subscriptionsRefused"),
      "refused because the consumer had another one on the shard, or a limit was used up. Some after a crash " +
        "are normal; steady growth means that something else uses the consumer."
    ),
    Entry(
      FanOut,
      Seq("subscriptionsFailed"),
      "failed for other reasons. The log has them."
    ),
    Entry(
      FanOut,
      Seq("resubscriptions"),
      "calls of SubscribeToShard after the first of each reader; one for each shard in five minutes is normal."
    ),
    Entry(
      FanOut,
      Seq("millisSinceLastEvent"),
      "since the last event of the most silent shard. Kinesis sends one about every 5 s even if there is " +
        "nothing new; the query subscribes anew after 35 s without the event it waits for. Grows, too, while the " +
        "buffer is full."
    ),
    Entry(
      FanOut,
      Seq("consumerCalls"),
      "calls that found, registered or listed consumers."
    ),
    Entry(
      FanOut,
      Seq("consumerWaits", "consumerWaitMillis"),
      "pauses before such calls were tried again, and how long they were in all."
    )
  )
}
