package io.github.kinesisspark.testkit

import io.github.kinesisspark.testkit.action.Request
import io.github.kinesisspark.testkit.model._
import io.github.kinesisspark.testkit.subscription.Timetable

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger
import scala.jdk.CollectionConverters._

/** The streams of an account: what the service's calls work on, and a direct way in for tests that want to set up
  * streams and records without HTTP. Errors of the direct calls are [[model.ServiceException]]s.
  */
final class Streams private[testkit] (
    private[testkit] val config: KinesisServerConfig,
    time: Timetable,
    incarnations: AtomicInteger
) {
  private val byName  = new ConcurrentHashMap[String, Stream]
  private val unkeyed = new AtomicInteger

  /** Makes a stream. */
  def createStream(name: String, shards: Int, settings: StreamSettings = StreamSettings.default): Unit =
    createdAt(config.clock.millis, name, shards, settings)

  /** Makes a stream that is ACTIVE already: it was created so much earlier. */
  private[testkit] def createActive(name: String, shards: Int): Unit =
    createdAt(config.clock.millis - config.createDelay.toMillis, name, shards, StreamSettings.default)

  private def createdAt(millis: Long, name: String, shards: Int, settings: StreamSettings): Unit = {
    Request.checkName(name, "streamName")
    Request.checkAtLeast("shardCount", shards, 1)
    create(name, shards, settings, millis).fold(_.raise(), _ => ())
  }

  /** Puts one record, past all limits and faults. */
  def put(stream: String, partitionKey: String, data: Array[Byte]): Placed =
    append(stream, HashKey.of(partitionKey), Some(partitionKey), data)

  def put(stream: String, partitionKey: String, data: String): Placed = put(stream, partitionKey, data.getBytes(UTF_8))

  /** Puts one record into a shard of one's choice. */
  def putInto(stream: String, shardId: String, partitionKey: String, data: Array[Byte]): Placed =
    existing(stream).putInto(shardId, partitionKey, data).fold(_.raise(), identity)

  /** Puts a record without a partition key, as a stream that distributes records itself holds them. */
  def putUnkeyed(stream: String, data: Array[Byte]): Placed =
    append(stream, HashKey.of(unkeyed.getAndIncrement().toString), None, data)

  /** Splits a shard in the middle of its range, or at `at`. */
  def split(stream: String, shardId: String, at: Option[BigInt] = None): Unit = {
    val range = existing(stream).map.get(shardId).getOrElse(notFound(shardId, stream)).range
    existing(stream).split(shardId, at.getOrElse((range.start + range.end + 1) / 2)).fold(_.raise(), identity)
  }

  /** Merges two adjacent shards. */
  def merge(stream: String, shardId: String, adjacent: String): Unit =
    existing(stream).merge(shardId, adjacent).fold(_.raise(), identity)

  /** Goes to `count` uniform shards. */
  def updateShardCount(stream: String, count: Int): Unit = existing(stream).rescale(count).fold(_.raise(), identity)

  /** Doubles an on-demand stream's shards, as the service does when its traffic grows.
    *
    * @see [[https://docs.aws.amazon.com/streams/latest/dev/how-do-i-size-a-stream.html Choose the capacity mode]]
    */
  def scaleUp(stream: String): Unit = {
    val scaled = existing(stream)
    require(scaled.settings.mode == StreamMode.OnDemand, s"Stream $stream is not in ON_DEMAND mode")
    scaled.rescale(2 * scaled.map.open.size).fold(_.raise(), identity)
  }

  /** Forgets a shard's records below a sequence number, as if they were past retention. */
  def trim(stream: String, shardId: String, belowSequenceNumber: String): Unit = existing(stream).trim(
    shardId,
    SequenceNumber.parse(belowSequenceNumber).getOrElse(sys.error(s"$belowSequenceNumber is not a sequence number"))
  )

  def deleteStream(name: String): Unit = existing(name).delete()

  /** The names of all streams, in order. */
  def names: Vector[String] = byName.keys.asScala.toVector.sorted.filter(get(_).nonEmpty)

  /** A stream's shards, open and closed, in the order they were made. */
  def shards(stream: String): Vector[ShardInfo] = existing(stream).map.shards

  /** How many records a stream holds. */
  def recordCount(stream: String): Long = existing(stream).recordCount

  private[testkit] def get(name: String): Option[Stream] = Option(byName.get(name)).flatMap { stream =>
    if (stream.isGone) { byName.remove(name, stream); None }
    else Some(stream)
  }

  private[testkit] def all: Vector[Stream] = names.flatMap(get)

  private[testkit] def existing(name: String): Stream =
    get(name).getOrElse(ServiceError.streamNotFound(name, config.accountId).raise())

  private[testkit] def create(
      name: String,
      shards: Int,
      settings: StreamSettings,
      createdMillis: Long = config.clock.millis
  ): Either[ServiceError, Stream] =
    checkShardLimit(shards).flatMap { _ =>
      val stream = new Stream(
        name,
        arnOf(name),
        createdMillis,
        incarnations.getAndIncrement() & 0xff,
        shards,
        settings,
        config,
        time
      )
      get(name) // One whose deletion is over makes room.
      Either.cond(
        byName.putIfAbsent(name, stream) == null,
        stream,
        ServiceError.inUse(s"Stream $name under account ${config.accountId} already exists.")
      )
    }

  /** Whether the account may have that many shards more. */
  private[testkit] def checkShardLimit(more: Int): Either[ServiceError, Unit] = {
    val open = all.iterator.map(_.map.open.size).sum
    Either.cond(
      open + more <= config.shardLimit,
      (),
      ServiceError.limitExceeded(
        s"This request would exceed the shard limit for the account ${config.accountId} in ${config.region}. " +
          s"Current shard count for the account: $open. Limit: ${config.shardLimit}. " +
          s"Number of additional shards that would have resulted from this request: $more."
      )
    )
  }

  private[testkit] def arnOf(name: String): String =
    Streams.arn(config.region, config.accountId, name)

  private def append(stream: String, hashKey: BigInt, key: Option[String], data: Array[Byte]): Placed =
    existing(stream).put(hashKey, key, data, metered = false).fold(_.raise(), identity)

  private def notFound(shardId: String, stream: String): Nothing =
    ServiceError.shardNotFound(shardId, stream, config.accountId).raise()
}

private[testkit] object Streams {
  def arn(region: String, accountId: String, name: String): String =
    s"arn:aws:kinesis:$region:$accountId:stream/$name"
}
