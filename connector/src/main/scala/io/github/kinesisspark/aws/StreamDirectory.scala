package io.github.kinesisspark.aws

import java.time.{DateTimeException, Instant, ZonedDateTime}
import java.time.format.DateTimeFormatter

import scala.jdk.CollectionConverters._

import software.amazon.awssdk.awscore.exception.AwsServiceException
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model.{
  ChildShard,
  DescribeStreamSummaryRequest,
  HashKeyRange => SdkHashKeyRange,
  ListShardsRequest,
  ListShardsResponse,
  Shard => SdkShard,
  ShardFilterType
}

import io.github.kinesisspark.config.StreamRef
import io.github.kinesisspark.position.{HashKey, HashKeyRange, Shard, StreamArn}

/** What a stream is, as the service describes it.
  *
  * @param createdMillis a stream of this name that was created at another time is another stream
  */
final case class StreamDescription(arn: StreamArn, createdMillis: Long, retentionHours: Int)

sealed trait ShardFilter extends Product with Serializable

object ShardFilter {

  /** Every shard that may still hold records, open or closed. */
  case object All extends ShardFilter

  /** The shards that were open at that time, by the service's clock: they hold the records that came next. For a time before the
    * stream's retention, those open at its beginning.
    */
  final case class OpenAt(epochMillis: Long) extends ShardFilter
}

/** All shards that the filter lets through, never a part of them.
  *
  * @param serviceTimeMillis the service's clock at the first page
  */
final case class ShardListing(shards: Vector[Shard], serviceTimeMillis: Long)

/** Questions about streams: the driver's, and those of tasks that aggregate or don't find a shard. Each blocks, and ends
  * within its total time ([[BlockingCalls]]). One directory per client.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ListShards.html ListShards]] (1,000 calls/s per stream),
  *      [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_DescribeStreamSummary.html DescribeStreamSummary]] (20 calls/s per account)
  */
final class StreamDirectory(client: KinesisAsyncClient, calls: BlockingCalls) {
  import StreamDirectory._

  /** @throws KinesisException of the fault's class, `KINESIS_NOT_FOUND` where there is no such stream
    * @throws java.lang.InterruptedException where the thread was interrupted
    */
  def describe(stream: StreamRef): StreamDescription = {
    val request = stream match {
      case StreamRef.ByName(name) => DescribeStreamSummaryRequest.builder().streamName(name)
      case StreamRef.ByArn(value) => DescribeStreamSummaryRequest.builder().streamARN(value.text)
    }
    val question = request.overrideConfiguration(calls.inTime).build()
    val summary  = calls.call(AwsCall.DescribeStreamSummary, resource(stream.toString), Some(calls.deadline())) {
      DamagedAnswer.unlessRead(client.describeStreamSummary(question)) { answer =>
        DamagedAnswer.has(answer.streamDescriptionSummary, "StreamDescriptionSummary")
      }
    }
    val arn = StreamArn
      .parse(summary.streamARN)
      .orElse(stream.arn)
      .getOrElse(
        throw new KinesisException(
          FaultTable.RequestRefused,
          s"DescribeStreamSummary for $stream answered '${summary.streamARN}', which is not the ARN of a stream."
        )
      )
    StreamDescription(
      arn,
      Option(summary.streamCreationTimestamp).fold(0L)(_.toEpochMilli),
      Option(summary.retentionPeriodHours).fold(DefaultRetentionHours)(_.intValue)
    )
  }

  /** All pages, or an error: a page that fails fails the listing, and a token that expires starts it again.
    *
    * @throws KinesisException of the fault's class, `KINESIS_NOT_FOUND` where there is no such stream
    * @throws java.lang.InterruptedException where the thread was interrupted
    */
  def listShards(stream: StreamArn, filter: ShardFilter): ShardListing = listShards(StreamRef.ByArn(stream), filter)

  /** The same, also by the stream's name. */
  def listShards(stream: StreamRef, filter: ShardFilter): ShardListing = {
    val deadline = calls.deadline()
    filter match {
      case ShardFilter.All            => list(stream, Filter(ShardFilterType.FROM_TRIM_HORIZON, None), deadline)
      case ShardFilter.OpenAt(millis) =>
        val at   = Filter(ShardFilterType.AT_TIMESTAMP, Some(Instant.ofEpochMilli(millis)))
        val open =
          try Some(list(stream, at, deadline)).filter(found => coversAllKeys(found.shards))
          catch { case BeforeRetention(answered) if answered.forall(_ >= millis) => None }
        open.getOrElse(list(stream, Filter(ShardFilterType.AT_TRIM_HORIZON, None), deadline))
    }
  }

  private def named(request: ListShardsRequest.Builder, stream: StreamRef) = stream match {
    case StreamRef.ByName(name) => request.streamName(name)
    case StreamRef.ByArn(arn)   => request.streamARN(arn.text)
  }

  /** With region and endpoint: a stream's name alone doesn't show that one of them is wrong. */
  private def resource(stream: String): String = {
    val config   = client.serviceClientConfiguration
    val endpoint = config.endpointOverride.map[String](e => s", endpoint $e").orElse("")
    s"stream $stream (region ${config.region}$endpoint)"
  }

  private def list(stream: StreamRef, filter: Filter, deadline: BlockingCalls.Deadline): ShardListing = {
    def page(token: Option[String]): Page = {
      val request = ListShardsRequest
        .builder()
        .maxResults(PageSize)
        .overrideConfiguration(calls.inTime)
      token match {
        // The token holds stream and filter; the service refuses a request that repeats them.
        case Some(t) => request.nextToken(t)
        case None    =>
          named(request, stream).shardFilter { f =>
            f.`type`(filter.kind); filter.at.foreach(f.timestamp(_)); ()
          }
      }
      calls.call(AwsCall.ListShards, resource(stream.toString), Some(deadline))(
        DamagedAnswer.unlessRead(client.listShards(request.build()))(pageOf)
      )
    }

    val pages =
      calls.restarting(AwsCall.ListShards)(
        Paging.all(AwsCall.ListShards, resource(stream.toString), MostShards)(page)(_.next, _.shards.size)
      )
    ShardListing(
      pages.flatMap(_.shards),
      pages.head.timeMillis.getOrElse(calls.runtime.clock.millis())
    )
  }
}

object StreamDirectory {

  /** The most that the service gives in one answer. */
  private val PageSize = 1000

  /** Of one stream, closed ones included. Far more than Kinesis has; a server that never ends its listing ends here. */
  private val MostShards = 1000000

  private val DefaultRetentionHours = 24

  private final case class Page(shards: Vector[Shard], next: Option[String], timeMillis: Option[Long])

  private def pageOf(answer: ListShardsResponse): Page = {
    // Taken for an empty one, it would make all shards past retention.
    if (!answer.hasShards) throw new DamagedAnswer("It has no Shards")
    Page(
      answer.shards.asScala.iterator.map(shard).toVector,
      Option(answer.nextToken).filter(_.nonEmpty),
      ServiceClock.of(answer.sdkHttpResponse)
    )
  }

  private final case class Filter(kind: ShardFilterType, at: Option[Instant])

  /** "A timestamp that the service can't use", with the service's clock if the answer has it: a future time is refused the
    * same way as one before retention.
    */
  private object BeforeRetention {
    def unapply(e: KinesisException): Option[Option[Long]] = (e.reason, e.getCause) match {
      case (FailureReason.InvalidArgument, aws: AwsServiceException) =>
        Some(Option(aws.awsErrorDetails).flatMap(d => ServiceClock.of(d.sdkHttpResponse)))
      case _ => None
    }
  }

  /** Whether each hash key belongs to one of the shards at least. The shards that were open at one time always do that; if they
    * don't, some of them are past retention already, or the stream is younger than that time.
    */
  private[aws] def coversAllKeys(shards: Seq[Shard]): Boolean = {
    val next = shards.map(_.hashKeys).sortBy(_.start).foldLeft(BigInt(0)) { (from, keys) =>
      if (keys.start <= from) from.max(keys.end + 1) else from
    }
    next > HashKey.Last
  }

  /** The children of a shard, from its last answer. */
  def children(of: String, listed: java.util.List[ChildShard]): Vector[Shard] = DamagedAnswer.unlessRead {
    listed.asScala.iterator.map { c =>
      val id      = idOf(c.shardId)
      val parents = c.parentShards.asScala.toVector
      if (id == of || (parents.nonEmpty && !parents.contains(of)))
        throw new DamagedAnswer(s"Its child $id is not one of $of")
      Shard(id, parents, hashKeys(c.hashKeyRange), closed = false)
    }.toVector
  }

  /** Ids go into offsets, logs and messages. */
  def idOf(text: String): String = {
    val id = DamagedAnswer.has(text, "ShardId")
    if (!ShardId.matches(id)) throw new DamagedAnswer("Its ShardId has characters that no shard's has")
    id
  }

  private val ShardId = "[A-Za-z0-9_.-]{1,128}".r

  private[aws] def shard(shard: SdkShard): Shard = Shard(
    id = idOf(shard.shardId),
    parents = Seq(shard.parentShardId, shard.adjacentParentShardId).filter(p => p != null && p.nonEmpty),
    hashKeys = hashKeys(shard.hashKeyRange),
    closed = Option(shard.sequenceNumberRange).exists(_.endingSequenceNumber != null)
  )

  private def hashKeys(range: SdkHashKeyRange) = {
    def key(text: String) =
      HashKey.parse(text).getOrElse(throw new DamagedAnswer(s"'$text' is not the hash key of a shard"))
    HashKeyRange(key(range.startingHashKey), key(range.endingHashKey))
  }
}

/** The service's clock, from the `Date` header of its answers (to the second). Times that are sent to the service are taken
  * from it, because a driver's clock that is ahead would ask for the future.
  */
object ServiceClock {

  /** Milliseconds since 1970; none where the answer has no date that can be read. */
  def of(response: SdkHttpResponse): Option[Long] =
    Option(response).flatMap(r => Option(r.firstMatchingHeader("Date").orElse(null))).flatMap { date =>
      try Some(ZonedDateTime.parse(date, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant.toEpochMilli)
      catch { case _: DateTimeException => None }
    }
}
