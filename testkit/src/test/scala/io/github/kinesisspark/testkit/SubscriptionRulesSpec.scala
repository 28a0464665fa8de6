package io.github.kinesisspark.testkit

import io.github.kinesisspark.testkit.model.ConsumerDelays
import software.amazon.awssdk.services.kinesis.model._

import java.time.Duration
import scala.concurrent.duration._

/** Tests which subscriptions are refused, and what ends a subscription early. */
class SubscriptionRulesSpec extends SubscriptionSuite {
  import Clients._
  import Subscriber._

  override protected def config: KinesisServerConfig =
    KinesisServerConfig(consumerDelays = ConsumerDelays(create = 4.seconds, delete = 2.seconds))

  private def activeConsumer(stream: String, name: String = "reader"): String = {
    val arn = consumer(stream, name)
    clock.advance(Duration.ofSeconds(4))
    arn
  }

  describe("A second subscription") {
    it("is refused within five seconds after the first, whether the first still lives or not") {
      val stream = newStream(1)
      val arn    = activeConsumer(stream)
      val first  = subscribe(arn, latest).opened()
      clock.advance(Duration.ofMillis(4999))
      subscribe(arn, latest).failure() shouldBe a[ResourceInUseException]
      first.cancel()
      eventually(liveOf(arn) shouldBe empty)
      subscribe(arn, latest).failure() shouldBe a[ResourceInUseException]
      clock.advance(Duration.ofMillis(1))
      subscribe(arn, latest).opened()
      server.subscriptions.mostAtOnce(arn) shouldBe 1
    }

    it("takes over after five seconds, and the first ends with ResourceInUse") {
      val stream = newStream(1)
      val arn    = activeConsumer(stream)
      val first  = subscribe(arn, latest).opened()
      clock.advance(Duration.ofSeconds(5))
      first.event().records shouldBe empty
      val second = subscribe(arn, latest).opened()
      first.failure() shouldBe a[ResourceInUseException]
      eventually(liveOf(arn) should have size 1)
      server.subscriptions.mostAtOnce(arn) shouldBe 2
      server.streams.put(stream, "k", "data")
      second.texts(1) shouldBe Vector("data")
    }

    it("of another consumer or shard lives beside the first") {
      val stream = newStream(2)
      val arn    = activeConsumer(stream)
      val other  = activeConsumer(stream, "other")
      val all    = Seq(subscribe(arn, latest), subscribe(arn, latest, shard = 1), subscribe(other, latest))
      all.foreach(_.opened())
      server.streams.putInto(stream, shardId(0), "k", "data".getBytes)
      all(0).texts(1) shouldBe all(2).texts(1)
      all(1).pending shouldBe 0
    }
  }

  describe("A call") {
    it("is refused for a consumer that is not ACTIVE") {
      val stream = newStream(1)
      val arn    = consumer(stream)
      subscribe(arn).failure() shouldBe a[ResourceInUseException]
      clock.advance(Duration.ofSeconds(4))
      kinesis.deregister(arn)
      subscribe(arn).failure() shouldBe a[ResourceInUseException]
      clock.advance(Duration.ofSeconds(2))
      subscribe(arn).failure() shouldBe a[ResourceNotFoundException]
    }

    it("is refused for an unknown stream, consumer or shard") {
      val stream = newStream(1)
      val arn    = activeConsumer(stream)
      subscribe(arn.replace(stream, "nobody")).failure() shouldBe a[ResourceNotFoundException]
      subscribe(arn.replace("reader", "nobody")).failure() shouldBe a[ResourceNotFoundException]
      subscribe(arn, shard = 7).failure() shouldBe a[ResourceNotFoundException]
    }

    it("is refused for a closed shard past retention, and for a sequence number of another shard") {
      val stream = newStream(1)
      val arn    = activeConsumer(stream)
      val number = server.streams.put(stream, "k", "old").sequenceNumber
      server.streams.split(stream, shardId(0))
      subscribe(arn, at(number), shard = 1).failure() shouldBe an[InvalidArgumentException]
      clock.advance(Duration.ofHours(25))
      subscribe(arn, at(number)).failure() shouldBe a[ResourceNotFoundException]
    }

    it("at a trimmed position starts with the oldest record") {
      val stream = newStream(1)
      val arn    = activeConsumer(stream)
      val old    = server.streams.put(stream, "k", "old").sequenceNumber
      clock.advance(Duration.ofHours(25))
      server.streams.put(stream, "k", "young")
      subscribe(arn, at(old)).texts(1) shouldBe Vector("young")
    }
  }

  describe("A live subscription") {
    it("ends with an error if its consumer is deleted") {
      val arn = activeConsumer(newStream(1))
      val sub = subscribe(arn, latest).opened()
      kinesis.deregister(arn)
      sub.failure() shouldBe a[ResourceNotFoundException]
      eventually(liveOf(arn) shouldBe empty)
    }

    it("ends with an error if its stream is deleted") {
      val stream = newStream(1)
      val arn    = activeConsumer(stream)
      val sub    = subscribe(arn, latest).opened()
      server.streams.deleteStream(stream)
      sub.failure() shouldBe a[ResourceNotFoundException]
      eventually(liveOf(arn) shouldBe empty)
    }
  }

  describe("The quotas of a consumer and shard") {
    lazy val limited = closing(
      KinesisServer.start(KinesisServerConfig(enforceLimits = true, clock = clock))
    )
    lazy val sdk = closing(client(limited.endpoint, software.amazon.awssdk.http.Protocol.HTTP2))

    def prepared(stream: String): String = {
      limited.streams.createStream(stream, 2)
      sdk.register(arnOf(stream))
    }

    it("allow one call per second") {
      val arn = prepared("calls")
      new Subscriber(sdk, arn, shardId(0), latest).opened()
      new Subscriber(sdk, arn, shardId(1), latest).opened()
      new Subscriber(sdk, arn, shardId(0), latest).failure() shouldBe a[LimitExceededException]
      clock.advance(Duration.ofSeconds(1))
      new Subscriber(sdk, arn, shardId(0), latest).failure() shouldBe a[ResourceInUseException]
    }

    it("allow two megabytes per second") {
      val arn = prepared("bytes")
      (1 to 8).foreach(n => limited.streams.putInto("bytes", shardId(0), s"$n", new Array(1000000)))
      val sub                  = new Subscriber(sdk, arn, shardId(0), trimHorizon)
      def keys(n: Int)         = Vector.fill(n)(sub.event().records.get(0).partitionKey)
      def afterASecond(): Unit = clock.advance(Duration.ofSeconds(1))
      keys(3) shouldBe Vector("1", "2", "3") // Two and a bit are there; the third runs up a debt.
      afterASecond()                         // It is paid back then, but no full second's worth is there.
      sub.pending shouldBe 0
      afterASecond()
      keys(3) shouldBe Vector("4", "5", "6")
      (1 to 2).foreach(_ => afterASecond())
      keys(2) shouldBe Vector("7", "8")
    }
  }
}
