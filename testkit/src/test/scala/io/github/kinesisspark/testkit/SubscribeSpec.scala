package io.github.kinesisspark.testkit

import software.amazon.awssdk.http.Protocol
import software.amazon.awssdk.services.kinesis.model._

import java.time.Duration
import scala.jdk.CollectionConverters._

/** Tests SubscribeToShard with an SDK client over HTTP/2. */
class SubscribeSpec extends SubscriptionSuite {
  import Clients._
  import Subscriber._

  override protected def config: KinesisServerConfig = KinesisServerConfig(tlsPort = Some(0))

  private lazy val tls = closing(client(server.tlsEndpoint.get, Protocol.HTTP2))

  describe("A subscription") {
    for ((name, sdk) <- Seq("cleartext with prior knowledge" -> (() => h2c), "TLS" -> (() => tls)))
      it(s"receives existing and new records over $name") {
        val stream = newStream(1)
        val arn    = consumer(stream)
        val first  = server.streams.put(stream, "key", "one")
        val sub    = new Subscriber(sdk(), arn, shardId(0), trimHorizon)
        val event  = sub.event()
        sub.answered shouldBe true
        texts(event) shouldBe Vector("one")
        val record = event.records.get(0)
        record.partitionKey shouldBe "key"
        record.sequenceNumber shouldBe first.sequenceNumber
        record.approximateArrivalTimestamp.toEpochMilli shouldBe clock.millis
        event.continuationSequenceNumber shouldBe first.sequenceNumber
        event.millisBehindLatest shouldBe 0
        event.hasChildShards shouldBe false
        server.streams.put(stream, "key", "two")
        sub.texts(1) shouldBe Vector("two")
        liveOf(arn) shouldBe Vector(LiveSubscription(arn, stream, shardId(0), clock.millis, 2, 2))
        server.calls.recent.filter(_.action == "SubscribeToShard").last.protocol shouldBe "HTTP/2.0"
        sub.cancel()
        eventually(liveOf(arn) shouldBe empty)
      }

    it("opens at once on a stream that was made anew, by a consumer of the same ARN") {
      val stream = newStream(1)
      val arn    = consumer(stream)
      subscribe(arn).opened(): Unit
      server.streams.deleteStream(stream)
      server.streams.createStream(stream, 1)
      consumer(stream) shouldBe arn
      subscribe(arn).opened(): Unit
    }

    it("starts at each kind of starting position") {
      val stream  = newStream(1)
      val numbers = (1 to 3).map { n =>
        clock.advance(Duration.ofSeconds(1))
        server.streams.put(stream, "k", s"$n").sequenceNumber
      }
      val secondPut                                                    = clock.instant.minusSeconds(1)
      val arn                                                          = consumer(stream)
      def read(position: StartingPosition, count: Int): Vector[String] = {
        clock.advance(Duration.ofSeconds(5))
        val sub = subscribe(arn, position)
        val all = sub.texts(count)
        sub.cancel()
        all
      }
      read(trimHorizon, 3) shouldBe Vector("1", "2", "3")
      read(at(numbers(1)), 2) shouldBe Vector("2", "3")
      read(following(numbers(1)), 1) shouldBe Vector("3")
      read(from(secondPut), 2) shouldBe Vector("2", "3")
      clock.advance(Duration.ofSeconds(5))
      val tip = subscribe(arn, latest).opened()
      server.streams.put(stream, "k", "4")
      tip.texts(1) shouldBe Vector("4")
      server.calls.recent.filter(_.action == "SubscribeToShard").takeRight(5).flatMap(_.start) shouldBe Vector(
        "TRIM_HORIZON",
        s"AT_SEQUENCE_NUMBER ${numbers(1)}",
        s"AFTER_SEQUENCE_NUMBER ${numbers(1)}",
        s"AT_TIMESTAMP ${secondPut.toEpochMilli}",
        "LATEST"
      )
      server.calls.count("SubscribeToShard", stream, shardId(0)) shouldBe 5
    }

    it("receives a heartbeat every five seconds on an idle shard, with an advancing position") {
      val stream = newStream(1)
      val arn    = consumer(stream)
      val sub    = subscribe(arn, latest).opened()
      clock.advance(Duration.ofMillis(4999))
      clock.advance(Duration.ofMillis(1))
      val first = sub.event()
      first.records shouldBe empty
      first.millisBehindLatest shouldBe 0
      clock.advance(Duration.ofSeconds(5))
      val second = sub.event()
      BigInt(second.continuationSequenceNumber) should be > BigInt(first.continuationSequenceNumber)
      liveOf(arn).map(_.events) shouldBe Vector(2)
      val put = server.streams.put(stream, "k", "data")
      BigInt(put.sequenceNumber) should be > BigInt(second.continuationSequenceNumber)
      sub.texts(1) shouldBe Vector("data")
      // From the heartbeat's position on there is the record, and nothing else.
      clock.advance(Duration.ofSeconds(5))
      subscribe(arn, following(second.continuationSequenceNumber)).texts(1) shouldBe Vector("data")
    }

    it("completes after five minutes") {
      val stream = newStream(1)
      val arn    = consumer(stream)
      val sub    = subscribe(arn, latest).opened()
      clock.advance(Duration.ofMinutes(5).minusMillis(1))
      sub.event().records shouldBe empty
      clock.advance(Duration.ofMillis(1))
      sub.completes()
      eventually(liveOf(arn) shouldBe empty)
    }

    it("receives the end of a closed shard after its last record, with the child shards, and completes") {
      val stream = newStream(1)
      val arn    = consumer(stream)
      server.streams.put(stream, "k", "last")
      val sub = subscribe(arn)
      val put = sub.event()
      server.streams.split(stream, shardId(0))
      val end = sub.event()
      end.records shouldBe empty
      end.continuationSequenceNumber shouldBe null
      end.millisBehindLatest shouldBe 0
      end.childShards.asScala.map(c => (c.shardId, c.parentShards.asScala.toVector)) shouldBe
        Seq((shardId(1), Vector(shardId(0))), (shardId(2), Vector(shardId(0))))
      end.childShards.get(0).hashKeyRange.startingHashKey shouldBe "0"
      sub.completes()
      // Whoever comes back for the end gets it again.
      clock.advance(Duration.ofSeconds(5))
      val again = subscribe(arn, following(put.continuationSequenceNumber))
      again.event().childShards should have size 2
      again.completes()
      server.subscriptions.mostAtOnce(arn) shouldBe 1
    }
  }
}
