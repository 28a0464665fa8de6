package io.github.kinesisspark.read.reader

import java.util.concurrent.CompletableFuture

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.runtime.VirtualTime

/** A reader by fan-out of a closed shard whose subscriptions fail for a while. */
class ClosedShardSpec extends AnyFunSpec with Matchers {

  /** @param failures of the first calls of SubscribeToShard; the next one brings records */
  private final class Failing(failures: Iterator[Throwable]) extends StubKinesis {
    var polls = 0

    override def getRecords(r: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = {
      polls += 1
      super.getRecords(r)
    }

    override def subscribeToShard(
        request: SubscribeToShardRequest,
        handler: SubscribeToShardResponseHandler
    ): CompletableFuture[Void] =
      failures
        .nextOption()
        .fold(super.subscribeToShard(request, handler))(CompletableFuture.failedFuture[Void](_))
  }

  private val refusal   = ResourceInUseException.builder.statusCode(400).build
  private val throttled = LimitExceededException.builder.statusCode(400).build
  private val failure   = InternalFailureException.builder.statusCode(500).build

  /** How often the shard was polled in five minutes, in which its record came. */
  private def polls(failures: Iterator[Throwable]): Int = {
    val time      = new VirtualTime
    val client    = new Failing(failures)
    val scene     = new PublisherScene(client)(time.runtime)
    val publisher = scene.fanOut()
    publisher.shardIsClosed()
    publisher.request()
    time.pass(5.minutes)
    scene.failures shouldBe empty
    scene.deliveries should not be empty
    client.polls
  }

  describe("a closed shard that is read by fan-out") {
    it("is left to its subscription, not to polling, after refusals and a few failures") {
      polls(Iterator(refusal, refusal)) shouldBe 0
      polls(Iterator.fill(10)(refusal)) shouldBe 0
      polls(Iterator.fill(10)(throttled)) shouldBe 0
      polls(Iterator(failure, failure)) shouldBe 0
      polls(Iterator(refusal, refusal, failure)) shouldBe 0
    }

    it("is read on by polling once its subscriptions have failed for as long as a silence") {
      polls(Iterator.continually(failure)) should be > 0
    }
  }
}
