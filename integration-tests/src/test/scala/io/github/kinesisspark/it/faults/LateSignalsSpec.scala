package io.github.kinesisspark.it.faults

import java.util.concurrent.atomic.AtomicInteger

import software.amazon.eventstream.Message

import io.github.kinesisspark.it.source.{BatchLog, Mode, TestkitSuite}
import io.github.kinesisspark.testkit.KinesisServerConfig

/** Subscriptions whose server speaks after the end of the answer. */
final class LateSignalsSpec extends TestkitSuite(KinesisServerConfig(tlsPort = Some(0))) {
  import LateSignalsSpec._

  override protected def mode: Mode = Mode.FanOut

  describe("a subscription whose server sends an event and a second error after the first error") {
    it("delivers every record once and in order, and the query runs on") {
      val misled = new AtomicInteger
      val proxy  = new KinesisProxy(kinesis, rewrite = () => afterTheFirstEvent(misled))
      try {
        val stream   = newStream(shards = 2)
        val log      = new BatchLog
        val expected = Seq.newBuilder[String]
        running(load(stream, "endpoint" -> proxy.endpoint.toString), checkpoint())(log.add) { query =>
          for (round <- 1 to 6) {
            expected ++= put(stream, s"round-$round", 50)
            eventually(log.texts.sorted shouldBe expected.result().sorted)
          }
          eventually(misled.get should be >= 4)
          // Each error counts once, however often the server repeats it.
          val seen = misled.get.toLong
          eventually(metric(query, "subscriptionsFailed") should be >= seen)
          metric(query, "subscriptionsFailed") should be <= misled.get.toLong
          query.exception shouldBe empty
        }
        inOrder(log)
      } finally proxy.close()
    }
  }
}

object LateSignalsSpec {

  /** Of each subscription, the second event is preceded by an error, and followed by another one. */
  private def afterTheFirstEvent(misled: AtomicInteger): Message => Seq[Message] = {
    var events = 0
    message =>
      if (!KinesisProxy.isEvent(message)) Seq(message)
      else {
        events += 1
        if (events != 2) Seq(message)
        else {
          misled.incrementAndGet()
          val error = KinesisProxy.exception("InternalFailureException", message)
          Seq(error, message, error)
        }
      }
  }
}
