package io.github.kinesisspark.it.faults

import scala.jdk.CollectionConverters._

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.{BatchLog, Mode, TestkitSuite}
import io.github.kinesisspark.testkit.{FaultEffect, FaultRule}

/** A stream consumer that was there before the query, made by Terraform, for example. */
final class FoundConsumerSpec extends TestkitSuite {
  override protected def mode: Mode = Mode.FanOut

  private def register(stream: TestStream): String = service
    .call(_.registerStreamConsumer(r => r.streamARN(stream.arn()).consumerName(mode.options("efo.consumerName"))))
    .consumer
    .consumerARN

  private def consumers(stream: TestStream): Seq[String] =
    service.call(_.listStreamConsumers(r => r.streamARN(stream.arn()))).consumers.asScala.map(_.consumerARN).toSeq

  private def readOnce(stream: TestStream, more: (String, String)*): Unit = {
    val log     = new BatchLog
    val records = put(stream, "r", 20)
    running(load(stream, more: _*), checkpoint())(log.add)(_ => eventually(log.texts.sorted shouldBe records.sorted))
  }

  describe("a consumer that a query finds is still there") {
    it("after the query stops") {
      val stream = newStream(shards = 1)
      val arn    = register(stream)
      readOnce(stream)
      consumers(stream) shouldBe Seq(arn)
    }

    it("after the query fails") {
      val stream = newStream(shards = 1)
      val arn    = register(stream)
      val denied = FaultEffect.ServiceCode("AccessDeniedException", "not authorized")
      underFault(FaultRule(denied, Some("SubscribeToShard"), Some(stream.name))) {
        failureOf(start(stream, checkpoint())).getMessage should include("KINESIS_ACCESS_DENIED")
      }
      consumers(stream) shouldBe Seq(arn)
    }

    it("after a batch read") {
      val stream = newStream(shards = 1)
      val arn    = register(stream)
      put(stream, "r", 20)
      backfill(stream, mode.options.toSeq: _*).count() shouldBe 20
      consumers(stream) shouldBe Seq(arn)
    }
  }

  it("a consumer that a query finds is deregistered when efo.deregisterOnStop asks for it") {
    val stream = newStream(shards = 1)
    register(stream): Unit
    readOnce(stream, "efo.deregisterOnStop" -> "true")
    eventually(consumers(stream) shouldBe empty)
  }
}
