package io.github.kinesisspark.read.reader

import java.util.concurrent.CompletableFuture

import scala.concurrent.duration._

import org.apache.logging.log4j.Level
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.CapturedLogs
import io.github.kinesisspark.Generators._
import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.config.{CallRetries, PollingOptions}
import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.runtime.VirtualTime

/** What a polling reader logs of a shard that refuses calls, on a clock that the test moves. */
class SharedShardSpec extends AnyFunSpec with Matchers with CapturedLogs {

  /** Lines of ten minutes in which a call is refused every so often. */
  private def lines(isAws: Boolean, every: FiniteDuration): Vector[String] = {
    val time = new VirtualTime
    import time.runtime
    val client = new StubKinesis {
      private var lastRefused = runtime.clock.nanos()

      override def getRecords(r: GetRecordsRequest): CompletableFuture[GetRecordsResponse] =
        if (runtime.clock.nanos() - lastRefused < every.toNanos) super.getRecords(r)
        else {
          lastRefused = runtime.clock.nanos()
          CompletableFuture.failedFuture(ProvisionedThroughputExceededException.builder.message("Rate exceeded").build)
        }
    }
    val access  = ReadingClient(client, CallRetries.default, isAws, () => true, () => ())
    val pollers = new PollingPublisherFactory(
      _ => access,
      runtime.workers.fixed("shared", 1),
      new PollingTelemetry(ShardTelemetry.ignored),
      Some(new StartSchedule(5.millis)),
      PollingOptions.Default
    )
    val budget                          = new MemoryBudget(_.run()).join(100L << 30)
    lazy val publisher: RecordPublisher = pollers.open(
      shard(0),
      ShardPosition.TrimHorizon,
      new RecordPublisher.Sink {
        override val memory: MemoryBudget.Account                      = budget.account()
        override def deliver(delivery: RecordPublisher.Delivery): Unit = publisher.request()
        override def fail(cause: KinesisException): Unit               = throw cause
      }
    )
    val (_, log) = withLogs(Map("io.github.kinesisspark" -> Level.WARN), Some(Thread.currentThread)) {
      publisher.request()
      time.pass(10.minutes)
    }
    log.linesIterator.filter(_.contains("is polled by others too")).toVector
  }

  describe("a shard that refuses a call every ten seconds") {
    it("has a line a minute that says who may poll it too, at AWS and at a server that has refused a call before") {
      for (isAws <- Seq(true, false)) {
        val all = lines(isAws, every = 10.seconds)
        all.size should (be >= 9 and be <= 11)
        all.head should (include(shard(0).toString) and include("Lambda") and include("polling.callsPerSecond"))
      }
    }
  }

  describe("a shard that refuses a call every minute and a half") {
    it("has none") {
      lines(isAws = true, every = 90.seconds) shouldBe empty
    }
  }
}
