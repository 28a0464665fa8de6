package io.github.kinesisspark.it.faults

import java.nio.file.Files

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import software.amazon.awssdk.services.kinesis.model.Consumer

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.{BatchLog, Mode, TestkitSuite}
import io.github.kinesisspark.testkit._
import io.github.kinesisspark.testkit.model.ConsumerDelays

/** Tests that a query which ends leaves no stream consumer that one of its runs registered, unless another driver runs it. A consumer is CREATING for a minute of
  * the server's clock, which a test advances.
  */
final class OwnConsumerSpec extends TestkitSuite(OwnConsumerSpec.config) {
  override protected def mode: Mode = Mode.FanOut

  private def consumers(stream: TestStream): Seq[Consumer] =
    service.call(_.listStreamConsumers(r => r.streamARN(stream.arn()))).consumers.asScala.toSeq

  private def awaitCreating(stream: TestStream): Unit =
    eventually(consumers(stream).map(_.consumerStatusAsString) shouldBe Seq("CREATING")): Unit

  private def activate(stream: TestStream): Unit = {
    awaitCreating(stream)
    serverClock.advance(java.time.Duration.ofMinutes(1))
  }

  private def calls(stream: TestStream, action: String): Seq[Call] =
    kinesis.calls.recent.filter(call => call.action == action && call.stream.contains(stream.name))

  describe("a query that stops leaves no consumer that it registered") {
    it("after the answer of RegisterStreamConsumer was lost") {
      val stream = newStream(shards = 1)
      val lost   = FaultEffect.Reset(ResetPoint.AfterCall)
      underFault(FaultRule(lost, Some("RegisterStreamConsumer"), Some(stream.name), occurrence = Occurrence.First(1))) {
        val query = start(stream, checkpoint())
        activate(stream)
        eventually(calls(stream, "SubscribeToShard") should not be empty)
        query.stop()
      }
      consumers(stream) shouldBe empty
    }

    it("while the consumer is CREATING") {
      val stream = newStream(shards = 1)
      val query  = start(stream, checkpoint())
      awaitCreating(stream)
      query.stop()
      consumers(stream) shouldBe empty
    }

    it("before RegisterStreamConsumer is answered") {
      val stream = newStream(shards = 1)
      underFault(FaultRule(FaultEffect.Delay(3.seconds), Some("RegisterStreamConsumer"), Some(stream.name))) {
        val query = start(stream, checkpoint())
        eventually(kinesis.faults.hits shouldBe 1L)
        query.stop()
        eventually(calls(stream, "RegisterStreamConsumer") should have size 1)
      }
      consumers(stream) shouldBe empty
    }

    it("in a run whose driver was killed") {
      val stream = newStream(shards = 1)
      val at     = checkpoint()
      put(stream, "first", 20)
      val killed = ForkedQuery.start(options(stream) ++ mode.options + ("startingPosition" -> "TRIM_HORIZON"), at)
      try {
        activate(stream)
        eventually(killed.look().rows shouldBe 20L)
        killed.kill()
      } finally killed.close()
      val second = put(stream, "second", 20)
      val log    = new BatchLog
      val query  = start(stream, at, log)
      eventually {
        query.exception shouldBe None
        log.texts should contain allElementsOf second
      }
      query.stop()
      consumers(stream) shouldBe empty
      calls(stream, "RegisterStreamConsumer") should have size 1
    }
  }

  describe("a query that another driver runs from its checkpoint as well fails, and leaves its consumer to that one") {
    for ((folder, what) <- Seq("offsets" -> "planned", "commits" -> "committed"))
      it(s"when the other has $what the next batch") {
        val stream    = newStream(shards = 1)
        val (at, log) = (checkpoint(), new BatchLog)
        val first     = put(stream, "first", 20)
        val query     = start(stream, at, log)
        activate(stream)
        eventually(log.texts should have size first.size)
        awaitCommit(at, log)
        val batch = Files.list(at.resolve(folder)).iterator.asScala.flatMap(_.getFileName.toString.toLongOption).max
        Files.copy(at.resolve(s"$folder/$batch"), at.resolve(s"$folder/${batch + 1}"))
        put(stream, "second", 20): Unit
        failureOf(query).getMessage should include("Multiple streaming")
        consumers(stream) should have size 1
      }
  }
}

private object OwnConsumerSpec {
  val config: KinesisServerConfig =
    KinesisServerConfig(consumerDelays = ConsumerDelays(create = 1.minute, delete = Duration.Zero))
}
