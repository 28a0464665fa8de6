package io.github.kinesisspark.read.catalog

import java.util.concurrent.CompletableFuture

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.Generators.{number, shard}
import io.github.kinesisspark.aws.{DirectoryRetry, KinesisException}
import io.github.kinesisspark.config.CallRetries
import io.github.kinesisspark.position.ShardPosition.TrimHorizon
import io.github.kinesisspark.read.reader.StubKinesis
import io.github.kinesisspark.runtime.VirtualTime

class ShardProbesSpec extends AnyFunSpec with Matchers {
  import ShardProbesSpec._

  /** A service that refuses GetRecords for a while, until the iterator has expired. */
  private final class Scene(outage: FiniteDuration, iteratorLife: FiniteDuration) {
    val time = new VirtualTime
    import time.runtime

    private val client = new StubKinesis {
      override def getShardIterator(request: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] =
        CompletableFuture.completedFuture(
          GetShardIteratorResponse.builder.shardIterator(time.elapsed.toNanos.toString).build
        )

      override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] =
        if (time.elapsed - request.shardIterator.toLong.nanos > iteratorLife) CompletableFuture.failedFuture(expired)
        else if (time.elapsed < outage) CompletableFuture.failedFuture(throttled)
        else super.getRecords(request)
    }

    def look(): Probe =
      new ShardProbes(client, DirectoryRetry(CallRetries.default, () => true)).at(shard(0), TrimHorizon, 1)
  }

  describe("a look into a shard whose iterators expire while calls are refused") {
    it("gets a new iterator each time, however often") {
      val scene = new Scene(outage = 10.minutes, iteratorLife = 30.seconds)
      scene.look().records.map(_.number) shouldBe Vector(number(1))
      scene.time.elapsed should (be >= 10.minutes and be < 11.minutes)
    }

    it("fails after maxRetryDuration with the refusal") {
      val scene = new Scene(outage = 1.day, iteratorLife = 5.minutes)
      intercept[KinesisException](scene.look()).errorClass shouldBe "KINESIS_THROTTLED"
      scene.time.elapsed should (be > 14.minutes and be <= 15.minutes)
    }
  }
}

private object ShardProbesSpec {
  private val expired   = ExpiredIteratorException.builder.message("Iterator expired").statusCode(400).build
  private val throttled =
    ProvisionedThroughputExceededException.builder.message("Rate exceeded").statusCode(400).build
}
