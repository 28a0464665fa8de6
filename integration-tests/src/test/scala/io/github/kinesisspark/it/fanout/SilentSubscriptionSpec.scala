package io.github.kinesisspark.it.fanout

import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatest.tags.Slow
import software.amazon.awssdk.services.kinesis.model.ConsumerStatus

import io.github.kinesisspark.aws.ClientKind
import io.github.kinesisspark.it.{ConnectorClients, TestStream}
import io.github.kinesisspark.read.reader.{MemoryBudget, SubscriptionCall}
import io.github.kinesisspark.read.reader.SubscriptionCall.News
import io.github.kinesisspark.testkit.{KinesisServer, KinesisServerConfig, SubscriptionSettings}

import scala.concurrent.duration._

/** Subscriptions on which nothing moves. The server's live for ten minutes here and have no heartbeat within that time, so that only the
  * client can end one.
  */
@Slow
final class SilentSubscriptionSpec extends AnyFunSpec with Matchers {
  private val config =
    KinesisServerConfig(subscriptions = SubscriptionSettings(life = 10.minutes, heartbeat = 10.minutes))

  /** Longer than a call may wait for its answer. */
  private val LongerThanACall = 35.seconds

  /** Longer than the service's subscriptions live. */
  private val LongerThanItsLife = 5.minutes + 10.seconds

  /** @param demand requests an event before the silence; without, the reader asks for nothing, as under backpressure */
  private def deliversAfter(silence: FiniteDuration, demand: Boolean): Unit = {
    val server = KinesisServer.start(config)
    val lease  = ConnectorClients.lease(server.endpoint, ClientKind.Subscriptions)
    val news   = new LinkedBlockingQueue[News]
    try {
      server.streams.createStream("silent", 1)
      val arn =
        lease.client.describeStreamSummary(r => r.streamName("silent"): Unit).join().streamDescriptionSummary.streamARN
      val consumer = lease.client
        .registerStreamConsumer(r => r.streamARN(arn).consumerName("app"): Unit)
        .join()
        .consumer
        .consumerARN
      def status = lease.client.describeStreamConsumer(r => r.consumerARN(consumer): Unit).join()
      while (status.consumerDescription.consumerStatus != ConsumerStatus.ACTIVE) TimeUnit.MILLISECONDS.sleep(50)
      server.streams.put("silent", "key", "first")
      val request = TestStream.subscription(consumer, "shardId-000000000000")
      val call    =
        new SubscriptionCall(request, lease.client, new MemoryBudget(_.run()).join(64L << 20).account(), news.put)
      try {
        news.poll(30, TimeUnit.SECONDS) shouldBe News.Opened
        call.requestOne()
        news.poll(30, TimeUnit.SECONDS) shouldBe a[News.Arrived]
        if (demand) call.requestOne() else server.streams.put("silent", "key", "second"): Unit
        withClue("during the silence: ")(news.poll(silence.toMillis, TimeUnit.MILLISECONDS) shouldBe null)
        if (demand) server.streams.put("silent", "key", "second"): Unit else call.requestOne()
        news.poll(30, TimeUnit.SECONDS) shouldBe a[News.Arrived]
      } finally call.cancel()
    } finally {
      lease.close()
      server.close()
    }
  }

  describe("a subscription") {
    it("delivers the next record after 35 s without an event")(deliversAfter(LongerThanACall, demand = true))

    it("delivers the next record after 35 s without demand")(deliversAfter(LongerThanACall, demand = false))

    it(
      "delivers the next record after 5 minutes without demand, which is longer than the service keeps one open"
    )(
      deliversAfter(LongerThanItsLife, demand = false)
    )
  }
}
