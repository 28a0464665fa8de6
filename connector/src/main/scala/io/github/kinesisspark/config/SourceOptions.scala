package io.github.kinesisspark.config

import java.time.Instant

import io.github.kinesisspark.position.{CompleteTo, ShardPosition, StreamArn}

import scala.concurrent.duration._

/** What a source was asked to do: the options, read and checked once, as values. They hold no client and no session, and
  * travel to executors.
  *
  * @param streams                in the user's order, one or more
  * @param client                 for streams that nothing is said of: those that are not in the list any more
  * @param fanOut                 where records come by fan-out; left out, by polling
  * @param failOnDataLoss         whether records that are gone before they were read end the query
  * @param deaggregate            whether the KPL's aggregated records are taken apart
  * @param shardDiscoveryInterval how often each stream's shards are listed
  * @param minPartitions          tasks of a batch to aim at, even if shards must be shared by several
  * @param reservedCores          that tasks of a real-time batch leave to others, if it is said
  * @param polling                of readers by polling, and of ranges that are read again
  * @param readerBufferSize       bytes that the readers of one executor may hold; by default a part of its heap
  * @param cloudWatch             where metrics are published, if they are
  */
final case class SourceOptions(
    streams: Seq[StreamOptions],
    client: ClientOptions,
    fanOut: Option[FanOutOptions],
    failOnDataLoss: Boolean,
    deaggregate: Boolean,
    admission: AdmissionOptions,
    shardDiscoveryInterval: FiniteDuration,
    minPartitions: Int,
    reservedCores: Option[Int],
    polling: PollingOptions,
    readerBufferSize: Option[Long],
    cloudWatch: Option[CloudWatchOptions]
)

object SourceOptions extends OptionGroup(OptionScope.Source) {

  /** Whether by fan-out. */
  val recordPublisher: Opt[Boolean] = option(
    "recordPublisher",
    OptionValue.oneOf("polling" -> false, "efo" -> true),
    default = "polling",
    doc = "How records come out of shards: `polling` shares the 2 MB/s of a shard with its other readers; `efo` " +
      "(enhanced fan-out) has 2 MB/s of each shard to itself, by a stream consumer that AWS charges for. The `efo.` options " +
      "count with `efo` alone."
  )

  val failOnDataLoss: Opt[Boolean] = option(
    "failOnDataLoss",
    OptionValue.boolean,
    default = "true",
    doc =
      "Whether the query fails when records were removed (past the stream's retention) before it had read them, also if that " +
        "is only likely, or when a stream of the checkpoint is not in the list any more. With `false` it warns and " +
        "continues with the oldest records that are left, or without that stream."
  )

  val deaggregate: Opt[Boolean] = option(
    "deaggregate",
    OptionValue.boolean,
    default = "true",
    doc = "Whether records that the Kinesis Producer Library has aggregated are taken apart into their user records " +
      "(see [Aggregated records](../concepts/aggregation.md)). With `false` they come as they are."
  )

  // ListShards may be called 1,000 times a second per stream; the limit here only stops a busy loop.
  val shardDiscoveryInterval: Opt[FiniteDuration] = option(
    "shardDiscoveryInterval",
    OptionValue.durationAtLeast(100.millis),
    default = "10s",
    doc = "How often the shards of each stream are listed, to find those of a split or merge; at least 100 ms."
  )

  val minPartitions: Opt[Int] = option(
    "minPartitions",
    OptionValue.smallCount,
    default = "1",
    doc =
      "The least number of tasks for a micro-batch, as far as it has records enough. Left at 1, tasks follow bytes and " +
        "cores, and a shard has one task at most. With more, what a shard brings is cut into parts of their own tasks, in " +
        "order, where there are fewer shards, but not with `Trigger.Once`, nor when a batch is run again after a " +
        "restart. A batch read has a task for each shard, and with more parts of the same time."
  )

  val reservedCores: Opt[Option[Int]] = optional(
    "realTime.reservedCores",
    OptionValue.countOrZero,
    doc =
      "Cores that the tasks of a real-time batch leave to others: all stages of such a batch run at once. Left out, it is " +
        "`spark.sql.shuffle.partitions` for each operator that shuffles the stream's rows, which Spark 4.3 can run, and as many as a repartition says."
  )

  // The least that holds one full answer of GetRecords (10 MB) with room for the next one to arrive.
  val readerBufferSize: Opt[Option[Long]] = optional(
    "readerBufferSize",
    OptionValue.sizeAtLeast(16L << 20, "16m"),
    doc =
      "Memory for records that are read but not yet in a batch, in one executor, at least `16m`; by default a fifth of its heap, of which Spark's 300 MiB don't count. " +
        "All sources and queries of an executor share the largest that one of them asks for. Full buffers stop reading until batches " +
        "catch up."
  )

  /** @param options as the user gave them; names are matched case-insensitively, a null value is an option left out
    * @throws OptionException with every problem found
    */
  def parse(options: Map[String, String]): SourceOptions = SourceOptionsParser.parse(options)

  /** With options that take the place of others of the same name.
    *
    * @throws OptionException as above
    */
  def parse(options: Map[String, String], instead: Map[String, String]): SourceOptions =
    parse(GivenOptions.replaced(options, instead))

  /** The same options, for somebody who looks after consumers by hand: which of them a query would read through doesn't matter.
    *
    * @throws OptionException as [[parse]]
    */
  def parseConsumers(options: Map[String, String]): ConsumerOptions = SourceOptionsParser.parseConsumers(options)

  /** The streams alone, for somebody who asks about them.
    *
    * @throws OptionException as [[parse]]
    */
  def parseStreams(options: Map[String, String]): Seq[StreamOptions] = SourceOptionsParser.parseStreams(options)
}

/** One stream of a source, and whatever was said of it alone.
  *
  * @param startingPosition left out, it depends on how the stream is read
  * @param endingPosition   of a batch read
  */
final case class StreamOptions(
    stream: StreamRef,
    client: ClientOptions,
    startingPosition: Option[StartingPosition] = None,
    endingPosition: Option[StartingPosition] = None
)

object StreamOptions extends OptionGroup(OptionScope.Source, perStream = true) {

  val startingPosition: Opt[Option[PositionValue]] = optional(
    "startingPosition",
    PositionValue.kind,
    doc = "Where a query without a checkpoint starts (left out: `LATEST`), or a batch read (left out: `TRIM_HORIZON`): " +
      "`LATEST`, `TRIM_HORIZON`, `AT_TIMESTAMP:<time>`, the time being ISO-8601 with an offset, such as " +
      "`2026-01-31T08:00:00Z`, or milliseconds since 1970 (UTC), or positions by stream and shard as JSON, such as the offset " +
      "of another query. `LATEST` is the second of the service's clock in which the query first plans. A query with a " +
      "checkpoint continues from there.",
    aliases = Seq("initialPosition")
  )

  val endingPosition: Opt[Option[PositionValue]] = optional(
    "endingPosition",
    PositionValue.kind,
    doc =
      "Where a batch read ends, in the form of `startingPosition`; what is at that position itself isn't read. Left out, it is " +
        "`LATEST`: what is in the stream when the DataFrame is first used. It is fixed then, to the record."
  )
}

/** A stream as the user named it. */
sealed trait StreamRef extends Product with Serializable {
  def name: String
  def arn: Option[StreamArn]
}

object StreamRef extends OptionGroup(OptionScope.Both) {

  val streamName: Opt[Option[Seq[StreamRef]]] = optional(
    "streamName",
    OptionValue.list(OptionValue.streamName, _.name),
    doc = "The stream to read, or several, comma-separated. Either this or `streamArn` is required; streams that share a name, " +
      "in several regions or accounts, are named by `streamArn`. In writing: the one stream for rows that don't name " +
      "theirs in a column `targetStream`."
  )

  val streamArn: Opt[Option[Seq[StreamRef]]] = optional(
    "streamArn",
    OptionValue.list(OptionValue.streamArn, _.toString),
    doc =
      "The ARN of the stream to read, or of several, comma-separated, or of the one to write to. Region and account are " +
        "taken from it."
  )
  final case class ByName(name: String) extends StreamRef {
    def arn: Option[StreamArn]    = None
    override def toString: String = name
  }

  final case class ByArn(value: StreamArn) extends StreamRef {
    def name: String              = value.name
    def arn: Option[StreamArn]    = Some(value)
    override def toString: String = value.text
  }
}

/** Where a query without a checkpoint starts in each shard, and where a batch read starts and ends. */
sealed trait StartingPosition extends Product with Serializable

object StartingPosition {
  case object Latest                          extends StartingPosition
  case object TrimHorizon                     extends StartingPosition
  final case class AtTimestamp(time: Instant) extends StartingPosition

  /** A place in each shard: their parents count as read, their children are read from their beginning.
    *
    * @param stream        which it is about, where that was said
    * @param createdMillis when that stream was created, where that was said: another one may have the same name
    * @param completeTo    what comes before these places, where that was said
    */
  final case class Shards(
      stream: Option[StreamArn],
      createdMillis: Option[Long],
      shards: Map[String, ShardPosition],
      completeTo: Option[CompleteTo] = None
  ) extends StartingPosition
}
