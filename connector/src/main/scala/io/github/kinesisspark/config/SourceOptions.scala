package io.github.kinesisspark.config

import java.net.URI
import java.time.Instant

import io.github.kinesisspark.position.{ShardPosition, StreamArn}

import scala.concurrent.duration.FiniteDuration

/** What a source was asked to do: the options, read and checked once, as values. They hold no client and no session, and
  * travel to executors.
  *
  * @param streams                in the user's order, one or more
  * @param client                 for streams that nothing is said of: those that are not in the list any more
  * @param failOnDataLoss         whether records that are gone before they were read end the query
  * @param deaggregate            whether the KPL's aggregated records are taken apart
  * @param shardDiscoveryInterval how often each stream's shards are listed
  * @param minPartitions          tasks of a batch to aim at, even if shards must be shared by several
  * @param reservedCores          that tasks of a real-time batch leave to others, if it is said
  * @param callsPerSecond         GetRecords calls of a shard, at most
  * @param readerBufferSize       bytes that the readers of one executor may hold; by default a part of its heap
  * @param cloudWatch             where metrics are published, if they are
  */
final case class SourceOptions(
    streams: Seq[StreamOptions],
    client: ClientOptions,
    recordPublisher: RecordPublisherConfig,
    failOnDataLoss: Boolean,
    deaggregate: Boolean,
    admission: AdmissionOptions,
    shardDiscoveryInterval: FiniteDuration,
    minPartitions: Int,
    reservedCores: Option[Int],
    callsPerSecond: Int,
    readerBufferSize: Option[Long],
    cloudWatch: Option[CloudWatchOptions]
) extends Serializable {

  /** For failures in a row of one call, shard or stream. */
  def maxRetryDuration: FiniteDuration = client.retries.maxDuration
}

object SourceOptions {

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

/** @param endpoint instead of the region's own */
final case class CloudWatchOptions(namespace: String, interval: FiniteDuration, endpoint: Option[URI])

/** How records come out of a shard. */
sealed trait RecordPublisherConfig extends Product with Serializable

object RecordPublisherConfig {

  /** GetRecords: 2 MB/s and 5 calls/s per shard, shared with all other pollers of it. */
  case object Polling extends RecordPublisherConfig

  /** SubscribeToShard: 2 MB/s per shard and consumer. */
  final case class FanOut(options: FanOutOptions) extends RecordPublisherConfig
}

/** How much one micro-batch takes in.
  *
  * @param maxRecordsPerTrigger at most so many Kinesis records
  * @param maxBytesPerTrigger   at most so many bytes of data
  * @param minRecordsPerTrigger wait for so many records ...
  * @param maxTriggerDelay      ... but no longer than this
  * @param maxShardSkew         how far shards may run ahead of the slowest, by times of arrival; nothing for no bound
  */
final case class AdmissionOptions(
    maxRecordsPerTrigger: Option[Long],
    maxBytesPerTrigger: Option[Long],
    minRecordsPerTrigger: Option[Long],
    maxTriggerDelay: FiniteDuration,
    maxShardSkew: Option[FiniteDuration]
)

/** One stream of a source, and whatever was said of it alone.
  *
  * @param startingPosition left out, it depends on how the stream is read
  * @param endingPosition   of a batch read
  */
final case class StreamOptions(
    stream: StreamRef,
    client: ClientOptions,
    startingPosition: Option[StartingPosition],
    endingPosition: Option[StartingPosition]
)

/** A stream as the user named it. */
sealed trait StreamRef extends Product with Serializable {
  def name: String
  def arn: Option[StreamArn]
}

object StreamRef {
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
    */
  final case class Shards(
      stream: Option[StreamArn],
      createdMillis: Option[Long],
      shards: Map[String, ShardPosition]
  ) extends StartingPosition
}
