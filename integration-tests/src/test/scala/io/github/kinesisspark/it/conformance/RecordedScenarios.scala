package io.github.kinesisspark.it.conformance

import java.nio.charset.StandardCharsets.UTF_8
import java.time.{Duration, Instant}

import scala.jdk.CollectionConverters._

import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.it.{Differences, Recording, Recordings, TestStream}
import io.github.kinesisspark.testkit.Subscriber._

/** What others have recorded on the service itself, call by call as they made them. */
trait RecordedScenarios { this: Conformance with SubscribeScenarios =>

  private def recorded(recording: Recording, departures: Departure*)(body: => Any): Unit = {
    asserted += recording
    promise(s"${recording.call} ${recording.fact} (recorded on AWS on ${recording.on})", departures: _*)(body)
  }

  private val asserted = scala.collection.mutable.Set.empty[Recording]

  private def atTheStart(stream: TestStream): String = {
    val shard = stream.onlyShard()
    stream.at(shard.shardId, shard.sequenceNumberRange.startingSequenceNumber)
  }

  private def recordOf(stream: TestStream): Record = {
    val put = stream.put("data")
    stream.get(stream.trimHorizon(put.shardId)).records.asScala.head
  }

  protected def recordedScenarios(): Unit = describe("On AWS,") {
    recorded(Recordings.StreamWithoutName) {
      intercept[KinesisException](
        service.callOnce(_.createStream((_: CreateStreamRequest.Builder) => ()))
      ).statusCode shouldBe 400
    }

    recorded(Recordings.StreamWithoutShardCount) {
      val stream = new TestStream(service, Conformance.freshName())
      service.call(_.createStream(r => r.streamName(stream.name)))
      awaitActive(stream)
      stream.openShards() should have size 4
      delete(stream)
    }

    recorded(Recordings.MissingStreamByArn) {
      withStream(1) { stream =>
        val arn     = stream.arn().replace(stream.name, "conformance-no-such-stream")
        val refusal = intercept[ResourceNotFoundException](service.callOnce(_.describeStream(r => r.streamARN(arn))))
        refusal.statusCode shouldBe 400
      }
    }

    recorded(Recordings.IteratorAtTheStart) {
      withStream(1) { stream =>
        val iterator = atTheStart(stream)
        Seq("1", "2").foreach(stream.put(_))
        stream.texts(iterator) shouldBe Seq("1", "2")
      }
    }

    recorded(Recordings.DataAsPut) {
      withStream(1) { stream =>
        val sent = Seq("", "Größe 数 🔥", "a" * 1000)
        sent.foreach(text => stream.putBytes(text.getBytes(UTF_8)))
        stream.texts(stream.trimHorizon(stream.onlyShard().shardId)) shouldBe sent
      }
    }

    recorded(
      Recordings.RecordWithoutEncryption,
      Differences.EncryptionTypeOfUnencrypted.instead(
        withStream(1)(stream => recordOf(stream).encryptionType shouldBe EncryptionType.NONE)
      )
    ) {
      withStream(1)(stream => recordOf(stream).encryptionType shouldBe null)
    }

    recorded(Recordings.IteratorTwice) {
      withStream(1) { stream =>
        val put      = stream.put("data")
        val iterator = stream.trimHorizon(put.shardId)
        eventually(TestStream.texts(stream.get(iterator)) shouldBe Seq("data"))
        TestStream.texts(stream.get(iterator)) shouldBe Seq("data")
      }
    }

    recorded(Recordings.ListedConsumer) {
      withSubscribed(1) { subscribed =>
        val arn           = subscribed.newConsumer()
        val Seq(consumer) =
          service
            .call(_.listStreamConsumers(r => r.streamARN(subscribed.stream.arn())))
            .consumers
            .asScala
            .toSeq: @unchecked
        consumer.consumerARN shouldBe arn
        arn should include(s"/${consumer.consumerName}:")
        consumer.consumerStatus shouldBe ConsumerStatus.ACTIVE
        Duration.between(consumer.consumerCreationTimestamp, Instant.now).abs should be < Duration.ofMinutes(5)
      }
    }

    recorded(Recordings.DescribedConsumer) {
      withSubscribed(1) { subscribed =>
        val arn       = subscribed.newConsumer()
        val stream    = subscribed.stream.arn()
        val described = service
          .call(_.describeStreamConsumer(r => r.streamARN(stream).consumerARN(arn)))
          .consumerDescription
        (described.consumerARN, described.streamARN) shouldBe ((arn, stream))
        described.consumerStatus shouldBe ConsumerStatus.ACTIVE
      }
    }

    recorded(Recordings.EventAfterTheCall) {
      withSubscribed(1) { subscribed =>
        val stream     = subscribed.stream
        val subscriber = subscribed.subscribe(stream.onlyShard().shardId, trimHorizon).opened()
        stream.putAll((1 to 5).map(n => entry(s"$n", "key"))) shouldBe empty
        val events = Iterator
          .continually(subscriber.event())
          .filterNot(_.records.isEmpty)
          .scanLeft(Vector.empty[SubscribeToShardEvent])(_ :+ _)
          .find(_.map(_.records.size).sum >= 5)
          .get
        subscriber.cancel()
        events.flatMap(_.records.asScala).map(_.data.asUtf8String) shouldBe (1 to 5).map(_.toString)
        events.last.continuationSequenceNumber should not be null
        events.last.millisBehindLatest.longValue shouldBe 0
      }
    }

    recorded(
      Recordings.EventWithoutChildren,
      Differences.ChildrenInEveryEvent.instead(withEvent(_.hasChildShards shouldBe true))
    ) {
      withEvent(_.hasChildShards shouldBe false)
    }

    recorded(
      Recordings.EventWithoutEncryption,
      Differences.EncryptionTypeOfUnencrypted.instead(
        withEvent(_.records.asScala.map(_.encryptionType).toSet shouldBe Set(EncryptionType.NONE))
      )
    ) {
      withEvent(_.records.asScala.map(_.encryptionType).toSet shouldBe Set(null))
    }

    recorded(Recordings.SubscriptionFromBeforeTheStream) {
      withSubscribed(1) { subscribed =>
        val shard      = subscribed.stream.onlyShard().shardId
        val subscriber = subscribed.subscribe(shard, from(Instant.parse("2015-01-01T00:00:00Z"))).opened()
        subscribed.stream.put("data")
        subscriber.texts(1) shouldBe Seq("data")
        subscriber.cancel()
      }
    }

    recorded(Recordings.SubscriptionAtTheStart) {
      withSubscribed(1) { subscribed =>
        val shard      = subscribed.stream.onlyShard()
        val start      = at(shard.sequenceNumberRange.startingSequenceNumber)
        val subscriber = subscribed.subscribe(shard.shardId, start).opened()
        subscribed.stream.put("data")
        subscriber.texts(1) shouldBe Seq("data")
        subscriber.cancel()
      }
    }

    it("each recording is asserted by a scenario") {
      Recordings.all.filterNot(asserted) shouldBe empty
    }
  }

  /** The first event with records of an open shard. */
  private def withEvent(body: SubscribeToShardEvent => Any): Unit = withSubscribed(1) { subscribed =>
    val put = subscribed.stream.put("data")
    body(firstRecords(subscribed.subscribe(put.shardId, trimHorizon)))
  }
}
