package io.github.kinesisspark.aws

import java.net.URI
import java.time.{Instant, ZoneOffset, ZonedDateTime}
import java.time.format.DateTimeFormatter
import java.util.concurrent.{CompletableFuture, CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicReference

import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.config.{CallRetries, StreamRef}
import io.github.kinesisspark.position.{HashKeyRange, Shard, StreamArn}
import org.scalatest.funsuite.AnyFunSuite
import software.amazon.awssdk.awscore.exception.{AwsErrorDetails, AwsServiceException}
import software.amazon.awssdk.http.{SdkHttpFullResponse, SdkHttpResponse}
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.kinesis.KinesisServiceClientConfiguration
import software.amazon.awssdk.services.kinesis.model.{
  KinesisException => _,
  Shard => SdkShard,
  ShardFilter => _,
  StreamDescription => _,
  _
}

import scala.collection.mutable.ListBuffer
import scala.concurrent.duration._

class StreamDirectoryTest extends AnyFunSuite {

  private val arn     = StreamArn("arn:aws:kinesis:eu-west-1:000000000000:stream/events")
  private val noon    = Instant.parse("2026-01-31T12:00:00Z")
  private val created = Instant.parse("2026-01-01T00:00:00.123Z")

  private def http(date: Option[Instant] = Some(noon)): SdkHttpResponse = {
    val builder = SdkHttpFullResponse.builder().statusCode(200)
    date.foreach(d =>
      builder.putHeader("Date", DateTimeFormatter.RFC_1123_DATE_TIME.format(ZonedDateTime.ofInstant(d, ZoneOffset.UTC)))
    )
    builder.build()
  }

  private def refusal(code: String, date: Option[Instant] = Some(noon)): AwsServiceException = AwsServiceException
    .builder()
    .statusCode(400)
    .awsErrorDetails(
      AwsErrorDetails
        .builder()
        .errorCode(code)
        .errorMessage("as scripted")
        .serviceName("Kinesis")
        .sdkHttpResponse(http(date))
        .build()
    )
    .build()

  private def sdkShard(
      id: String,
      from: BigInt,
      to: BigInt,
      closed: Boolean = false,
      parents: Seq[String] = Nil
  ): SdkShard = {
    val range = SequenceNumberRange.builder().startingSequenceNumber("1")
    if (closed) range.endingSequenceNumber("2")
    SdkShard
      .builder()
      .shardId(id)
      .hashKeyRange(
        software.amazon.awssdk.services.kinesis.model.HashKeyRange
          .builder()
          .startingHashKey(from.toString)
          .endingHashKey(to.toString)
          .build()
      )
      .sequenceNumberRange(range.build())
      .parentShardId(parents.headOption.orNull)
      .adjacentParentShardId(parents.drop(1).headOption.orNull)
      .build()
  }

  private val lastKey = (BigInt(1) << 128) - 1

  private def page(next: String, ids: String*): ListShardsResponse = {
    val builder = ListShardsResponse.builder().shards(ids.map(sdkShard(_, 0, lastKey))*).nextToken(next)
    builder.sdkHttpResponse(http())
    builder.build()
  }

  private type Configure = KinesisServiceClientConfiguration.Builder => Any

  private def configuration(more: Configure): KinesisServiceClientConfiguration = {
    val builder = KinesisServiceClientConfiguration.builder()
    builder.region(Region.EU_WEST_1)
    more(builder)
    builder.build()
  }

  private type Step[A] = Either[Throwable, A]

  /** A client that answers from a script, the last line without end, and remembers what it was asked. */
  private final class Scripted(
      listings: Seq[Step[ListShardsResponse]],
      descriptions: Seq[Step[DescribeStreamSummaryResponse]] = Nil
  ) extends OfflineClient {
    val listed    = ListBuffer.empty[ListShardsRequest]
    val described = ListBuffer.empty[DescribeStreamSummaryRequest]

    override def serviceClientConfiguration(): KinesisServiceClientConfiguration =
      configuration(_.endpointOverride(new URI("http://localhost:4567")))

    private def answer[A](script: Seq[Step[A]], index: Int): CompletableFuture[A] =
      script(index.min(script.size - 1))
        .fold(e => CompletableFuture.failedFuture[A](e), a => CompletableFuture.completedFuture(a))

    override def listShards(request: ListShardsRequest): CompletableFuture[ListShardsResponse] = {
      listed += request
      answer(listings, listed.size - 1)
    }
    override def describeStreamSummary(
        request: DescribeStreamSummaryRequest
    ): CompletableFuture[DescribeStreamSummaryResponse] = {
      described += request
      answer(descriptions, described.size - 1)
    }
  }

  private def summary(streamArn: String = arn.text): DescribeStreamSummaryResponse =
    DescribeStreamSummaryResponse
      .builder()
      .streamDescriptionSummary(
        StreamDescriptionSummary
          .builder()
          .streamARN(streamArn)
          .streamName("events")
          .streamStatus("ACTIVE")
          .retentionPeriodHours(48)
          .openShardCount(3)
          .streamCreationTimestamp(created)
          .build()
      )
      .build()

  private def describe(steps: Step[DescribeStreamSummaryResponse]*)(ref: StreamRef, time: FakeTime = new FakeTime) = {
    val client = new Scripted(Nil, steps)
    (client, new StreamDirectory(client, SilentCalls.retry()(time.runtime)).describe(ref))
  }

  private def failure(steps: Step[ListShardsResponse]*): (KinesisException, Scripted, FakeTime) = {
    val (client, time) = (new Scripted(steps), new FakeTime)
    (
      intercept[KinesisException](
        new StreamDirectory(client, SilentCalls.retry()(time.runtime)).listShards(arn, ShardFilter.All)
      ),
      client,
      time
    )
  }

  private def listing(filter: ShardFilter, steps: Step[ListShardsResponse]*): (ShardListing, Scripted) = {
    val client = new Scripted(steps)
    (new StreamDirectory(client, SilentCalls.retry()((new FakeTime).runtime)).listShards(arn, filter), client)
  }

  test("a stream is described by name") {
    val (client, found) = describe(Right(summary()))(StreamRef.ByName("events"))
    assert(found == StreamDescription(arn, created.toEpochMilli, retentionHours = 48))
    assert(client.described.head.streamName == "events" && client.described.head.streamARN == null)
  }

  test("a stream is described by ARN, whatever ARN the answer holds") {
    val (client, found) = describe(Right(summary(streamArn = "strange")))(StreamRef.ByArn(arn))
    assert(found.arn == arn && client.described.head.streamARN == arn.text && client.described.head.streamName == null)
    intercept[KinesisException](describe(Right(summary(streamArn = "strange")))(StreamRef.ByName("events")))
  }

  test("the local time is used if the answer has no Date header") {
    val dateless = ListShardsResponse.builder().shards(sdkShard("shardId-000000000000", 0, 9)).build()
    assert(listing(ShardFilter.All, Right(dateless))._1.serviceTimeMillis == 1_000_000L)
  }

  test("a stream that does not exist fails at once with its name, region and endpoint") {
    val e =
      intercept[KinesisException](describe(Left(refusal("ResourceNotFoundException")))(StreamRef.ByName("evnets")))
    assert(e.errorClass == "KINESIS_NOT_FOUND")
    for (word <- Seq("DescribeStreamSummary", "evnets", "region eu-west-1", "endpoint http://localhost:4567"))
      assert(e.getMessage.contains(word))
  }

  test("listed shards have their parents, hash key range and closed state") {
    val builder = ListShardsResponse
      .builder()
      .shards(
        sdkShard("shardId-000000000000", 0, 4, closed = true),
        sdkShard("shardId-000000000002", 0, 9, parents = Seq("shardId-000000000000", "shardId-000000000001"))
      )
    builder.sdkHttpResponse(http())
    val (found, _) = listing(ShardFilter.All, Right(builder.build()))
    assert(
      found == ShardListing(
        Vector(
          Shard("shardId-000000000000", Nil, HashKeyRange(0, 4), closed = true),
          Shard(
            "shardId-000000000002",
            Seq("shardId-000000000000", "shardId-000000000001"),
            HashKeyRange(0, 9),
            closed = false
          )
        ),
        noon.toEpochMilli
      )
    )
  }

  test("the pages of a listing are concatenated, and only the first request has stream and filter") {
    val (found, client) =
      listing(ShardFilter.All, Right(page("t1", "a", "b")), Right(page("t2", "c")), Right(page(null, "d")))
    assert(found.shards.map(_.id) == Vector("a", "b", "c", "d"))
    assert(client.listed.map(_.nextToken) == Seq(null, "t1", "t2"))
    assert(
      client.listed
        .map(r => Option(r.shardFilter).map(_.`type`)) == Seq(Some(ShardFilterType.FROM_TRIM_HORIZON), None, None)
    )
    assert(client.listed.map(_.streamARN) == Seq(arn.text, null, null))
  }

  test("an expired page token restarts the listing and drops the earlier pages") {
    val (found, client) =
      listing(
        ShardFilter.All,
        Right(page("t1", "a")),
        Left(refusal("ExpiredNextTokenException")),
        Right(page("t2", "a")),
        Right(page(null, "b"))
      )
    assert(found.shards.map(_.id) == Vector("a", "b"))
    assert(client.listed.map(_.nextToken) == Seq(null, "t1", null, "t2"))
  }

  test("page tokens that keep expiring fail the listing") {
    val (e, client, _) = failure(Left(refusal("ExpiredNextTokenException")))
    assert(e.errorClass == "KINESIS_PAGING_EXPIRED" && client.listed.size == 9)
  }

  test("a page that is denied fails the listing") {
    val (e, _, _) = failure(Right(page("t1", "a")), Left(refusal("AccessDeniedException")))
    assert(e.errorClass == "KINESIS_ACCESS_DENIED" && e.getMessage.contains("ListShards failed for stream " + arn.text))
  }

  test("a listing is retried on an UPDATING stream, throttling and server errors") {
    val (found, _) = listing(
      ShardFilter.All,
      Left(refusal("ResourceInUseException")),
      Left(refusal("LimitExceededException")),
      Left(refusal("InternalFailure")),
      Right(page(null, "a"))
    )
    assert(found.shards.map(_.id) == Vector("a"))
  }

  test("a throttled listing is retried for at most maxRetryDuration, with waits of at most five seconds") {
    val (e, client, time) = failure(Left(refusal("LimitExceededException")))
    assert(e.errorClass == "KINESIS_THROTTLED" && client.listed.size > 300)
    assert(time.waits.map(_.toMillis).sum <= 15 * 60_000L)
    assert(time.waits.forall(_ <= 5.seconds))
  }

  test("a listing with an unknown host fails after six attempts") {
    val (e, client, _) = failure(Left(new java.net.UnknownHostException("kinesis.eu-nowhere-1.amazonaws.com")))
    assert(e.errorClass == "KINESIS_UNKNOWN_HOST" && client.listed.size == 6 && e.getMessage.contains("Tried 6 times"))
  }

  test("a listing with an unknown host is retried for maxRetryDuration if the client has worked before") {
    val client = new Scripted(Seq(Left(new java.net.UnknownHostException("kinesis.eu-west-1.amazonaws.com"))))
    val time   = new FakeTime
    val retry  = SilentCalls.retry(CallRetries.default.within(5.minutes), hasWorked = true)(time.runtime)
    intercept[KinesisException](new StreamDirectory(client, retry).listShards(arn, ShardFilter.All))
    val waited = time.waits.map(_.toMillis).sum.millis
    assert(waited > 4.minutes && waited <= 5.minutes)
  }

  test("shards open at a time are listed with AT_TIMESTAMP") {
    val (found, client) = listing(ShardFilter.OpenAt(noon.toEpochMilli - 1000), Right(page(null, "a")))
    assert(found.shards.map(_.id) == Vector("a"))
    assert(client.listed.head.shardFilter.`type` == ShardFilterType.AT_TIMESTAMP)
    assert(client.listed.head.shardFilter.timestamp == noon.minusSeconds(1))
  }

  test("shards open at a refused time before retention are those at TRIM_HORIZON") {
    val (found, client) =
      listing(ShardFilter.OpenAt(0), Left(refusal("InvalidArgumentException")), Right(page(null, "a")))
    assert(found.shards.map(_.id) == Vector("a"))
    assert(
      client.listed.map(_.shardFilter.`type`) == Seq(ShardFilterType.AT_TIMESTAMP, ShardFilterType.AT_TRIM_HORIZON)
    )
  }

  test("an incomplete listing of shards open at a time is replaced by the one at TRIM_HORIZON") {
    def some(shards: SdkShard*) = Right(ListShardsResponse.builder().shards(shards*).build())
    for (
      incomplete <- Seq(some(), some(sdkShard("b", 5, lastKey)), some(sdkShard("a", 0, 4), sdkShard("c", 6, lastKey)))
    ) {
      val (found, client) = listing(ShardFilter.OpenAt(5_000), incomplete, Right(page(null, "all")))
      assert(found.shards.map(_.id) == Vector("all"))
      assert(client.listed.last.shardFilter.`type` == ShardFilterType.AT_TRIM_HORIZON)
    }
  }

  test("a refused time in the second of the answer is treated as before retention, not as future") {
    val refused    = Left(refusal("InvalidArgumentException"))
    val (found, _) = listing(ShardFilter.OpenAt(noon.toEpochMilli), refused, Right(page(null, "a")))
    assert(found.shards.map(_.id) == Vector("a"))
  }

  test("coversAllKeys is true if shards cover all hash keys in any order, also with overlaps") {
    val half                              = lastKey / 2
    def covers(ranges: (BigInt, BigInt)*) = StreamDirectory.coversAllKeys(ranges.map { case (from, to) =>
      Shard("s", Nil, HashKeyRange(from, to), closed = false)
    })
    assert(covers((half + 1, lastKey), (0, half)))
    assert(covers((0, half + 10), (half, lastKey), (0, 5)))
    assert(!covers() && !covers((0, half), (half + 2, lastKey)) && !covers((1, lastKey)) && !covers((0, lastKey - 1)))
  }

  test("a refused time in the future fails the listing") {
    val client = new Scripted(Seq(Left(refusal("InvalidArgumentException"))))
    val e      = intercept[KinesisException](
      new StreamDirectory(client, SilentCalls.retry()((new FakeTime).runtime))
        .listShards(arn, ShardFilter.OpenAt(noon.toEpochMilli + 60_000))
    )
    assert(e.errorClass == "KINESIS_INVALID_ARGUMENT" && client.listed.size == 1)
  }

  test("an interrupted call ends at once and cancels its request") {
    val sent    = new CountDownLatch(1)
    val pending = new CompletableFuture[ListShardsResponse]
    val client  = new OfflineClient {
      override def serviceClientConfiguration(): KinesisServiceClientConfiguration =
        configuration(identity)
      override def listShards(request: ListShardsRequest): CompletableFuture[ListShardsResponse] = {
        sent.countDown()
        pending
      }
    }
    val thrown = new AtomicReference[Throwable]
    val caller = new Thread(() =>
      try { new StreamDirectory(client, SilentCalls.retry()).listShards(arn, ShardFilter.All); () }
      catch { case e: Throwable => thrown.set(e) }
    )
    caller.start()
    assert(sent.await(60, TimeUnit.SECONDS))
    caller.interrupt()
    caller.join(60000)
    assert(thrown.get.isInstanceOf[InterruptedException] && pending.isCancelled)
  }
}
