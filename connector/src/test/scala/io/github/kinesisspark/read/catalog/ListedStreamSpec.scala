package io.github.kinesisspark.read.catalog

import java.net.URI
import java.util.concurrent.CompletableFuture

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.kinesis.KinesisServiceClientConfiguration
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.Generators.{shardId, stream}
import io.github.kinesisspark.SystemProperties
import io.github.kinesisspark.aws.{KinesisClients, KinesisException}
import io.github.kinesisspark.config.{ClientOptions, CredentialsOptions, Secret, StreamOptions, StreamRef}
import io.github.kinesisspark.read.reader.StubKinesis
import io.github.kinesisspark.runtime.VirtualTime

class ListedStreamSpec extends AnyFunSpec with Matchers {
  import ListedStreamSpec._

  /** A stream that has had a shard 1, and a service that refuses calls while a test says so. */
  private final class Scene {
    val time            = new VirtualTime
    var refused         = Option.empty[Exception]
    var listedShards    = Seq(0)
    var hasAll          = false
    var listings        = 0
    private val service = new StubKinesis {
      override def serviceClientConfiguration: KinesisServiceClientConfiguration =
        KinesisServiceClientConfiguration.builder
          .region(Region.US_EAST_1)
          .build
          .asInstanceOf[KinesisServiceClientConfiguration]

      override def describeStreamSummary(
          request: DescribeStreamSummaryRequest
      ): CompletableFuture[DescribeStreamSummaryResponse] = answer {
        val summary = StreamDescriptionSummary.builder.streamARN(stream.text).streamName(stream.name).build
        DescribeStreamSummaryResponse.builder.streamDescriptionSummary(summary).build
      }

      override def listShards(request: ListShardsRequest): CompletableFuture[ListShardsResponse] = answer {
        listings += 1
        val keys = HashKeyRange.builder.startingHashKey("0").endingHashKey("9").build
        val all  = listedShards.map(n => Shard.builder.shardId(shardId(n)).hashKeyRange(keys).build)
        ListShardsResponse.builder.shards(all: _*).build
      }

      override def getShardIterator(request: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] =
        answer(
          if (hasAll) GetShardIteratorResponse.builder.shardIterator("there").build
          else throw ResourceNotFoundException.builder.message("no such shard").statusCode(400).build
        )
    }

    val listed: ListedStream = {
      import time.runtime
      val clients =
        new KinesisClients((_, success) => new KinesisClients.SharedClient(service, success, () => ()))
      ListedStream.open(StreamOptions(StreamRef.ByArn(stream), options), failOnDataLoss = true, clients)
    }

    private def answer[A](is: => A): CompletableFuture[A] =
      try CompletableFuture.completedFuture(refused.fold(is)(throw _))
      catch { case e: Exception => CompletableFuture.failedFuture(e) }

    /** Plannings that look for new shards. */
    def plan(times: Int, apart: FiniteDuration): Unit = for (_ <- 1 to times) {
      listed.refreshAfter(10.seconds)
      time.pass(apart)
    }

    /** Plannings for which the former shard is in doubt. */
    def ask(times: Int, apart: FiniteDuration): Unit = for (_ <- 1 to times) {
      listed.askAbout(Seq(shardId(1)))
      time.pass(apart)
    }

    /** Asks so often, and there is never an answer. */
    def staysDoubtful(times: Int, apart: FiniteDuration): Unit = for (_ <- 1 to times) {
      listed.askAbout(Seq(shardId(1))) shouldBe Set(shardId(1))
      time.pass(apart)
    }
  }

  describe("access to a stream without an endpoint among its options") {
    it("has the endpoint that the driver's machine has, for executors to call") {
      val endpoint = "http://localhost:4567"
      val scene    = SystemProperties.within("aws.endpointUrlKinesis" -> endpoint)(new Scene)
      scene.listed.access.client.endpoint shouldBe Some(new URI(endpoint))
    }
  }

  describe("listing that fails") {
    it("ends no query whose plannings are far apart: it may have succeeded between them") {
      val scene = new Scene
      scene.refused = Some(outage)
      noException should be thrownBy scene.plan(4, apart = 1.hour)
    }

    it("ends the query after maxRetryDuration") {
      val scene = new Scene
      scene.refused = Some(outage)
      scene.plan(15, apart = 1.minute)
      intercept[KinesisException](scene.plan(4, apart = 1.minute)).errorClass shouldBe "KINESIS_UNAVAILABLE"
    }
  }

  describe("the hash keys of a shard that no listing has") {
    it("are awaited where the service has the shard, at most for two minutes and once") {
      val scene = new Scene
      scene.hasAll = true
      scene.listed.hashKeys(Set(shardId(0), shardId(1))).keySet shouldBe Set(shardId(0))
      scene.time.elapsed should (be >= ListedStream.LongestLag and be < ListedStream.LongestLag * 2)
      val listings = scene.listings
      scene.listed.hashKeys(Set(shardId(1))) shouldBe empty
      scene.listings shouldBe listings
    }

    it("are there as soon as a listing has it") {
      val scene = new Scene
      scene.hasAll = true
      import scene.time.runtime
      runtime.workers.start("listing")(scene.listedShards = Seq(0, 1))
      scene.listed.hashKeys(Set(shardId(1))).keySet shouldBe Set(shardId(1))
      scene.time.elapsed should be < 5.seconds
    }

    it("are not awaited where the service doesn't have it any more, nor asked for again") {
      val scene = new Scene
      scene.listed.hashKeys(Set(shardId(1))) shouldBe empty
      val listings = scene.listings
      scene.listed.hashKeys(Set(shardId(1))) shouldBe empty
      scene.listings shouldBe listings
      scene.time.elapsed should be < 5.seconds
    }

    it("end the query where listing can't succeed") {
      val scene = new Scene
      scene.refused = Some(denied)
      intercept[KinesisException](scene.listed.hashKeys(Set(shardId(1)))).errorClass shouldBe "KINESIS_ACCESS_DENIED"
    }
  }

  describe("a shard that GetShardIterator doesn't find, and listings still have") {
    it("is asked about again each second until a listing lacks it, and is gone then") {
      val scene = new Scene
      scene.listedShards = Seq(0, 1)
      scene.staysDoubtful(3, apart = 1100.millis)
      scene.listings shouldBe 4
      scene.listed.lineage.has(shardId(1)) shouldBe true
      scene.listedShards = Seq(0)
      scene.listed.askAbout(Seq(shardId(1))) shouldBe empty
      scene.listed.lineage.has(shardId(1)) shouldBe false
    }

    it("is gone after maxRetryDuration, whatever listings have") {
      val scene = new Scene
      scene.listedShards = Seq(0, 1)
      scene.staysDoubtful(15, apart = 1.minute)
      scene.listed.askAbout(Seq(shardId(1))) shouldBe empty
      scene.listed.lineage.has(shardId(1)) shouldBe false
    }

    it("has the time since the last of two contradictions that are far apart") {
      val scene = new Scene
      scene.listedShards = Seq(0, 1)
      scene.ask(2, apart = 1.hour)
      scene.listed.askAbout(Seq(shardId(1))) shouldBe Set(shardId(1))
    }

    it("is waited for by a caller that needs the answer, for maxRetryDuration at most") {
      val scene = new Scene
      scene.listedShards = Seq(0, 1)
      import scene.time.runtime
      runtime.workers.start("listing") {
        runtime.waits.sleep(5.seconds)
        scene.listedShards = Seq(0)
      }
      scene.listed.gone(Seq(shardId(1))) shouldBe Set(shardId(1))
      scene.time.elapsed should (be >= 5.seconds and be < 10.seconds)
      scene.listedShards = Seq(0, 2)
      scene.listed.gone(Seq(shardId(2))) shouldBe Set(shardId(2))
      scene.time.elapsed should (be >= 15.minutes and be < 16.minutes)
    }
  }

  describe("a question about a shard that fails") {
    it("is repeated until there is an answer, and doesn't count where it is asked again much later") {
      val scene = new Scene
      scene.refused = Some(outage)
      noException should be thrownBy {
        scene.ask(10, apart = 1.minute)
        scene.time.pass(1.day)
        scene.ask(10, apart = 1.minute)
      }
      scene.listed.askAbout(Seq(shardId(1))) shouldBe Set(shardId(1))
      scene.refused = None
      scene.time.pass(1.minute)
      scene.listed.askAbout(Seq(shardId(1))) shouldBe empty
    }

    it("ends the query after maxRetryDuration, and at once where it can't succeed") {
      val scene = new Scene
      scene.refused = Some(outage)
      scene.ask(12, apart = 1.minute)
      intercept[KinesisException](scene.ask(8, apart = 1.minute)).errorClass shouldBe "KINESIS_UNAVAILABLE"
      scene.time.pass(1.hour)
      scene.refused = Some(denied)
      intercept[KinesisException](scene.ask(1, apart = 1.minute)).errorClass shouldBe "KINESIS_ACCESS_DENIED"
    }
  }
}

private object ListedStreamSpec {
  private val options =
    ClientOptions(None, None, CredentialsOptions.StaticKeys(new Secret("id"), new Secret("secret"), None))

  private val outage = InternalFailureException.builder.message("Internal failure").statusCode(500).build
  private val denied = AccessDeniedException.builder.message("not allowed").statusCode(400).build
}
