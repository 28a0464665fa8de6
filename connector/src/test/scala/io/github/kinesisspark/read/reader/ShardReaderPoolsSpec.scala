package io.github.kinesisspark.read.reader

import java.net.UnknownHostException
import java.util.concurrent.CompletableFuture

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.core.exception.SdkClientException
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.kinesis.KinesisServiceClientConfiguration
import software.amazon.awssdk.services.kinesis.model.{HashKeyRange => SdkHashKeyRange, Shard => SdkShard, _}

import io.github.kinesisspark.Generators.{number, shard, stream}
import io.github.kinesisspark.aws.{KinesisClients, KinesisException}
import io.github.kinesisspark.config.{ClientOptions, CredentialsOptions, PollingOptions}
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, TrimHorizon}
import io.github.kinesisspark.position.{SequenceNumber, ShardRange}
import io.github.kinesisspark.runtime.VirtualTime

/** Tasks on an executor that no order has reached. */
class ShardReaderPoolsSpec extends AnyFunSpec with Matchers {
  private val Outage = 1.minute

  private abstract class Scene {
    val time = new VirtualTime
    import time.runtime

    def service: StubKinesis

    private val access       = StreamAccess(ClientOptions(None, None, CredentialsOptions.DefaultChain), "us-east-1")
    val config: ReaderConfig =
      ReaderConfig("source", Map(stream -> access), 16L << 20, PollingOptions.Default, failOnDataLoss = true)
    lazy val pools: ShardReaderPools = new ShardReaderPools(
      () => "1",
      new KinesisClients((_, success) => new KinesisClients.SharedClient(service, success, () => ()))
    )

    /** The records of a range of the first two, as a task takes them. */
    def read(by: ReaderConfig): Vector[SequenceNumber] = {
      val readers = pools.task(by)
      try {
        val records = readers.read(ShardRange(shard(0), TrimHorizon, AfterSequenceNumber(number(2))))
        val all     = Vector.newBuilder[SequenceNumber]
        def isThere = {
          while (!records.isReady) readers.wakeUp.await()
          records.hasNext
        }
        while (isThere) all += records.next().sequenceNumber
        all.result()
      } finally readers.close()
    }
  }

  describe("a task on an executor without an order, where the endpoint's host is not found for a minute") {
    final class WithoutHost extends Scene {
      override object service extends StubKinesis {
        override def getShardIterator(r: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] =
          if (time.elapsed > Outage) super.getShardIterator(r)
          else
            CompletableFuture.failedFuture(
              SdkClientException.create("Unable to execute HTTP request", new UnknownHostException("kinesis.test"))
            )
      }
    }

    it("reads on after it if the query has read before, also through readers that a task has opened earlier") {
      val scene = new WithoutHost
      scene.read(scene.config.copy(hasRead = true)) shouldBe Vector(number(1), number(2))
      scene.time.elapsed should be >= Outage

      val known = new WithoutHost
      known.pools.placedOn("1", known.config).map(_.hasEverRead) shouldBe Some(false)
      known.pools.placedOn("1", known.config.copy(hasRead = true)).map(_.hasEverRead) shouldBe Some(true)
      known.pools.ofTask(known.config.copy(hasRead = true)).hasEverRead shouldBe true
    }

    it("fails soon if the query has never read") {
      val scene = new WithoutHost
      (the[KinesisException] thrownBy scene.read(scene.config)).errorClass shouldBe "KINESIS_UNKNOWN_HOST"
      scene.time.elapsed should be < Outage
    }
  }

  describe("a task whose shard is not found") {
    final class WithoutShard(listed: Int*) extends Scene {
      var listings = 0

      override object service extends StubKinesis {
        override def getShardIterator(r: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] =
          CompletableFuture.failedFuture(ResourceNotFoundException.builder.statusCode(400).build)

        override def serviceClientConfiguration: KinesisServiceClientConfiguration =
          KinesisServiceClientConfiguration.builder
            .region(Region.US_EAST_1)
            .build
            .asInstanceOf[KinesisServiceClientConfiguration]

        override def listShards(r: ListShardsRequest): CompletableFuture[ListShardsResponse] = {
          listings += 1
          val keys   = SdkHashKeyRange.builder.startingHashKey("0").endingHashKey("1").build
          val shards = listed.map(n => SdkShard.builder.shardId(shard(n).shardId).hashKeyRange(keys).build)
          CompletableFuture.completedFuture(ListShardsResponse.builder.shards(shards.asJava).build)
        }
      }
    }

    it("fails with that, and not with lost records, if a new listing has the shard, whatever failOnDataLoss is") {
      for (failOnDataLoss <- Seq(true, false)) {
        val scene   = new WithoutShard(0, 1)
        val failure =
          the[KinesisException] thrownBy scene.read(scene.config.copy(failOnDataLoss = failOnDataLoss))
        (failure.errorClass, scene.listings) shouldBe (("KINESIS_NOT_FOUND", 1))
      }
    }

    it("has lost its records if a new listing lacks the shard, and ends without them with failOnDataLoss=false") {
      val scene = new WithoutShard(1)
      (the[KinesisException] thrownBy scene.read(scene.config)).errorClass shouldBe "KINESIS_DATA_LOSS"
      scene.read(scene.config.copy(failOnDataLoss = false)) shouldBe empty
      scene.listings shouldBe 2
    }
  }
}
