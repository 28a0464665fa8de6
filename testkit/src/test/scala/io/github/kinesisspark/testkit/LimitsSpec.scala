package io.github.kinesisspark.testkit

import software.amazon.awssdk.services.kinesis.model._

import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.time.Duration
import java.util.concurrent.CompletableFuture
import scala.jdk.CollectionConverters._

/** Tests the service's quotas on a manual clock. */
class LimitsSpec extends ServerSpec {
  import Clients._

  override protected def config: KinesisServerConfig = KinesisServerConfig(enforceLimits = true)

  it("a shard answers five GetRecords per second") {
    val stream    = newStream(2)
    val iterators = Vector(0, 1).map(i => kinesis.iterator(stream, shardId(i)))
    (1 to 5).foreach(_ => kinesis.get(iterators(0)))
    val error = the[ProvisionedThroughputExceededException] thrownBy kinesis.get(iterators(0))
    error.awsErrorDetails.errorMessage shouldBe
      s"Rate exceeded for shard ${shardId(0)} in stream $stream under account 000000000000."
    kinesis.get(iterators(1))
    clock.advance(Duration.ofMillis(200))
    kinesis.get(iterators(0))
  }

  it("a shard refuses GetRecords for five seconds after a 10 MiB answer") {
    val stream = newStream(1)
    (1 to 10).foreach(_ => server.streams.put(stream, "k", new Array[Byte](1024 * 1024 - 1)))
    val iterator = kinesis.iterator(stream, shardId(0))
    kinesis.get(iterator).records should have size 10
    clock.advance(Duration.ofMillis(4999))
    a[ProvisionedThroughputExceededException] should be thrownBy kinesis.get(iterator)
    clock.advance(Duration.ofMillis(1))
    kinesis.get(iterator)
  }

  it("a shard answers five GetShardIterator per second") {
    val stream = newStream(1)
    (1 to 5).foreach(_ => kinesis.iterator(stream, shardId(0)))
    a[ProvisionedThroughputExceededException] should be thrownBy kinesis.iterator(stream, shardId(0))
  }

  it("a shard stores 1,000 records per second, and refuses the others one by one") {
    val stream  = newStream(1)
    val entries = Vector.tabulate(400)(i => s"$i" -> "")
    kinesis.putAll(stream, entries).failedRecordCount shouldBe 0
    kinesis.putAll(stream, entries).failedRecordCount shouldBe 0
    val third = kinesis.putAll(stream, entries)
    third.failedRecordCount shouldBe 200
    third.records.asScala.drop(200).map(_.errorCode).distinct shouldBe Vector("ProvisionedThroughputExceededException")
    a[ProvisionedThroughputExceededException] should be thrownBy kinesis.put(stream, "k", "d")
    clock.advance(Duration.ofSeconds(1))
    kinesis.put(stream, "k", "d")
  }

  it("a shard stores 1 MiB per second") {
    val stream = newStream(1)
    val half   = "x" * (512 * 1024 - 1)
    kinesis.putAll(stream, Vector.fill(3)("k" -> half)).failedRecordCount shouldBe 1
  }

  it("a stream answers 1,000 ListShards per second") {
    val stream = newStream(1)
    (1 to 1000).foreach(_ => kinesis.shards(stream))
    a[LimitExceededException] should be thrownBy kinesis.shards(stream)
  }

  it("an account answers ten DescribeStream per second") {
    val stream     = newStream(1)
    def describe() = await(kinesis.describeStream { (b: DescribeStreamRequest.Builder) => b.streamName(stream); () })
    (1 to 10).foreach(_ => describe())
    a[LimitExceededException] should be thrownBy describe()
    clock.advance(Duration.ofMillis(100))
    describe()
  }

  it(
    "each stream answers 20 DescribeStreamConsumer, and 5 ListStreamConsumers and DeregisterStreamConsumer, per second"
  ) {
    val streams = Vector.fill(2)(arnOf(newStream(1)))
    val calls   = Seq[(Int, String => CompletableFuture[_])](
      20 -> (arn =>
        kinesis.describeStreamConsumer { (b: DescribeStreamConsumerRequest.Builder) =>
          b.streamARN(arn).consumerName("c"); ()
        }
      ),
      5 -> (arn => kinesis.listStreamConsumers { (b: ListStreamConsumersRequest.Builder) => b.streamARN(arn); () }),
      5 -> (arn =>
        kinesis.deregisterStreamConsumer { (b: DeregisterStreamConsumerRequest.Builder) =>
          b.streamARN(arn).consumerName("c"); ()
        }
      )
    )
    for ((quota, call) <- calls; arn <- streams) {
      def isRefused =
        try { await(call(arn)); false }
        catch {
          case _: LimitExceededException    => true
          case _: ResourceNotFoundException => false
        }
      Iterator.continually(isRefused).takeWhile(refused => !refused).size shouldBe quota
    }
  }

  it("a stream's shard count is updated ten times in 24 hours") {
    val stream              = newStream(2)
    def update(target: Int) = await(kinesis.updateShardCount { (b: UpdateShardCountRequest.Builder) =>
      b.streamName(stream).targetShardCount(target).scalingType(ScalingType.UNIFORM_SCALING); ()
    })
    (1 to 10).foreach { i =>
      update(if (i % 2 == 0) 2 else 3)
      clock.advance(Duration.ofSeconds(1))
    }
    a[LimitExceededException] should be thrownBy update(3)
    server.streams.updateShardCount(stream, 3)
    clock.advance(Duration.ofHours(24))
    update(2)
  }

  it("an account answers each control-plane call as many times per second as its quota allows") {
    val http                         = HttpClient.newHttpClient
    def code(action: String): String = {
      val request = HttpRequest
        .newBuilder(server.endpoint)
        .header("X-Amz-Target", s"Kinesis_20131202.$action")
        .header("Content-Type", "application/x-amz-json-1.1")
        .POST(HttpRequest.BodyPublishers.ofString("{}"))
        .build()
      http.send(request, HttpResponse.BodyHandlers.ofString).headers.firstValue("x-amzn-ErrorType").orElse("none")
    }
    clock.advance(Duration.ofSeconds(1))
    // From the service's "Quotas and limits" and the API reference of each call.
    val quotas = Map(
      "CreateStream"             -> 5,
      "DeleteStream"             -> 5,
      "DescribeLimits"           -> 1,
      "DescribeStream"           -> 10,
      "DescribeStreamConsumer"   -> 20,
      "DescribeStreamSummary"    -> 20,
      "DeregisterStreamConsumer" -> 5,
      "ListStreamConsumers"      -> 5,
      "ListStreams"              -> 5,
      "MergeShards"              -> 5,
      "RegisterStreamConsumer"   -> 5,
      "SplitShard"               -> 5,
      "TagResource"              -> 5
    )
    quotas.map { case (action, _) =>
      action -> Iterator.continually(code(action)).takeWhile(_ != "LimitExceededException").size
    } shouldBe
      quotas
  }
}
