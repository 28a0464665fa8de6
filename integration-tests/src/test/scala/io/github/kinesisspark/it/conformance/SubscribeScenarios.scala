package io.github.kinesisspark.it.conformance

import java.time.{Duration, Instant}

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

import software.amazon.awssdk.awscore.retry.AwsRetryStrategy
import software.amazon.awssdk.http.Protocol
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.it.{Differences, KinesisService, TestRun, TestStream}
import io.github.kinesisspark.testkit.Subscriber
import io.github.kinesisspark.testkit.Subscriber.{Signal, _}

/** SubscribeToShard: its starting positions, its events and its end. */
trait SubscribeScenarios { this: Conformance with ListShardsScenarios =>

  /** A stream, and a client that can subscribe. */
  final protected class Subscribed(val stream: TestStream, client: KinesisAsyncClient) {
    private var consumers = 0

    /** An ACTIVE consumer that has subscribed to nothing yet. */
    def newConsumer(): String = {
      consumers += 1
      val arn = stream.service
        .call(
          _.registerStreamConsumer(r => r.streamARN(stream.arn()).consumerName(TestRun.named(s"reader-$consumers")))
        )
        .consumer
        .consumerARN
      eventually {
        stream.service
          .call(_.describeStreamConsumer(r => r.consumerARN(arn)))
          .consumerDescription
          .consumerStatus shouldBe ConsumerStatus.ACTIVE
      }
      arn
    }

    def deregister(consumer: String): Unit = {
      stream.service.call(_.deregisterStreamConsumer(r => r.consumerARN(consumer)))
      ()
    }

    def subscribe(shard: String, position: StartingPosition, consumer: String = newConsumer()): Subscriber =
      new Subscriber(client, consumer, shard, position)

    /** The first so many records from a position. */
    def texts(shard: String, position: StartingPosition, count: Int): Seq[String] = {
      val subscriber = subscribe(shard, position)
      val texts      = subscriber.texts(count)
      subscriber.cancel()
      texts
    }
  }

  protected def withSubscribed(shards: Int)(body: Subscribed => Any): Unit = onSubscribed(service, shards)(body)

  private def onSubscribed(service: KinesisService, shards: Int)(body: Subscribed => Any): Unit = {
    val client = service.newClient(Protocol.HTTP2, AwsRetryStrategy.doNotRetry())
    try
      withStreamOn(service, shards) { stream =>
        body(new Subscribed(stream, client))
        ()
      }
    finally client.close()
  }

  /** One shard with records "1" to "5". */
  private def withFive(body: (Subscribed, String, Seq[String]) => Any): Unit = withSubscribed(1) { subscribed =>
    val numbers = (1 to 5).map(n => subscribed.stream.put(s"$n").sequenceNumber)
    body(subscribed, subscribed.stream.onlyShard().shardId, numbers)
  }

  /** A closed shard with one record: the shard, and the record's number. */
  private def withClosed(body: (Subscribed, String, String) => Any): Unit = withSubscribed(1) { subscribed =>
    val put = subscribed.stream.put("last")
    splitInTwo(subscribed.stream)
    body(subscribed, put.shardId, put.sequenceNumber)
  }

  /** What is received until a subscription ends, and how it does. */
  private def toTheEnd(subscriber: Subscriber): (Vector[SubscribeToShardEvent], Signal) = {
    @tailrec def on(events: Vector[SubscribeToShardEvent]): (Vector[SubscribeToShardEvent], Signal) =
      subscriber.signal() match {
        case Signal.Event(event) if events.size < MaxEvents => on(events :+ event)
        case Signal.Event(_)                                => fail(s"No end after ${events.size} events")
        case end                                            => (events, end)
      }
    on(Vector.empty)
  }

  /** What it sends after the records is no end. */
  private def staysOpen(subscriber: Subscriber, records: String*): Unit = {
    subscriber.texts(records.size) shouldBe records
    (1 to 3).foreach { _ =>
      val event = subscriber.event()
      event.records shouldBe empty
      event.continuationSequenceNumber should not be null
      event.hasChildShards shouldBe false
    }
  }

  /** It completes, and nothing that it sends says why. */
  private def endsUnsaid(subscriber: Subscriber): Unit = {
    val (events, end) = toTheEnd(subscriber)
    end shouldBe Signal.Completed
    events.foreach { event =>
      event.continuationSequenceNumber should not be null
      event.childShards shouldBe empty
    }
  }

  protected def firstRecords(subscriber: Subscriber): SubscribeToShardEvent =
    Iterator.continually(subscriber.event()).find(!_.records.isEmpty).get

  /** A subscription at the tip of a shard that is then split. */
  private def withSplitUnder(body: Subscriber => Any): Unit = withFive { (subscribed, shard, _) =>
    val subscriber = subscribed.subscribe(shard, latest).opened()
    splitInTwo(subscribed.stream)
    body(subscriber)
  }

  /** Two subscriptions of one consumer, more than five seconds apart, both past the records. */
  private def withTwo(body: (TestStream, Subscriber, Subscriber) => Any): Unit = withFive { (subscribed, shard, _) =>
    val consumer = subscribed.newConsumer()
    val first    = subscribed.subscribe(shard, trimHorizon, consumer)
    first.texts(5)
    val since = Instant.now
    eventually(Instant.now.isAfter(since.plusMillis(5500)) shouldBe true)
    body(subscribed.stream, first, subscribed.subscribe(shard, latest, consumer))
  }

  /** A subscription that has received everything, and then lost its consumer. */
  private def withDeregistered(body: (TestStream, Subscriber) => Any): Unit = withFive { (subscribed, shard, _) =>
    val consumer   = subscribed.newConsumer()
    val subscriber = subscribed.subscribe(shard, trimHorizon, consumer)
    subscriber.texts(5)
    subscribed.deregister(consumer)
    body(subscribed.stream, subscriber)
  }

  /** A subscription to a shard after a number of the other one. */
  private def withForeignNumberSubscribed(body: Subscriber => Any): Unit = withSubscribed(2) { subscribed =>
    val Seq(left, right) = subscribed.stream.openShards(): @unchecked
    val number           = subscribed.stream.putAt(TestStream.startingHash(left), "x").sequenceNumber
    body(subscribed.subscribe(right.shardId, following(number)))
  }

  /** The ARN of a consumer that was never registered. */
  private def nobody(subscribed: Subscribed): String = subscribed.newConsumer().replace("reader-", "nobody-")

  private val All = Seq("1", "2", "3", "4", "5")

  private val NoShard = "shardId-000000000007"

  // What arrives from an idle shard in less than a minute, on any server.
  private val MaxEvents = 15

  protected def subscribeScenarios(): Unit = describe("SubscribeToShard") {
    promise("from TRIM_HORIZON sends every record") {
      withFive((subscribed, shard, _) => subscribed.texts(shard, trimHorizon, 5) shouldBe All)
    }

    promise("at AT_SEQUENCE_NUMBER starts with that record") {
      withFive((subscribed, shard, numbers) => subscribed.texts(shard, at(numbers(2)), 3) shouldBe Seq("3", "4", "5"))
    }

    promise("at AFTER_SEQUENCE_NUMBER starts with the next record") {
      withFive((subscribed, shard, numbers) => subscribed.texts(shard, following(numbers(2)), 2) shouldBe Seq("4", "5"))
    }

    promise("at AT_TIMESTAMP starts with the first record at or after that time") {
      withSubscribed(1) { subscribed =>
        val shard = subscribed.stream.onlyShard().shardId
        Seq("oldest", "older").foreach(subscribed.stream.put(_))
        val middle = Instant.now
        eventually(Instant.now.isAfter(middle.plusMillis(4100)) shouldBe true)
        subscribed.stream.put("new")
        subscribed.texts(shard, from(middle.plusMillis(1050)), 1) shouldBe Seq("new")
        subscribed.texts(shard, from(middle.minusSeconds(3600)), 3) shouldBe Seq("oldest", "older", "new")
      }
    }

    promise("at LATEST sends new records only") {
      withFive { (subscribed, shard, _) =>
        val subscriber = subscribed.subscribe(shard, latest).opened()
        subscribed.stream.put("6")
        subscribed.stream.put("7")
        subscriber.texts(2) shouldBe Seq("6", "7")
        subscriber.cancel()
      }
    }

    promise("sends the same record fields as GetRecords") {
      withFive { (subscribed, shard, numbers) =>
        val first = firstRecords(subscribed.subscribe(shard, following(numbers(3))))
        first.records shouldBe subscribed.stream.get(subscribed.stream.after(shard, numbers(3))).records
        first.millisBehindLatest shouldBe 0
      }
    }

    promise(
      "sends an initial response before any event",
      Differences.NoInitialResponse.instead(withFive { (subscribed, shard, _) =>
        val subscriber = subscribed.subscribe(shard, trimHorizon)
        subscriber.texts(5)
        subscriber.answered shouldBe false
      })
    ) {
      withFive { (subscribed, shard, _) =>
        val subscriber = subscribed.subscribe(shard, trimHorizon)
        subscriber.event()
        subscriber.answered shouldBe true
      }
    }

    promise(
      "sends a continuation at or after an event's last record",
      Differences.ContinuationLags.instead(withFive { (subscribed, shard, numbers) =>
        val first = firstRecords(subscribed.subscribe(shard, following(numbers(3))))
        BigInt(first.continuationSequenceNumber) should be < BigInt(numbers.last)
      })
    ) {
      withFive { (subscribed, shard, numbers) =>
        val first = firstRecords(subscribed.subscribe(shard, following(numbers(3))))
        BigInt(first.continuationSequenceNumber) should be >= BigInt(numbers.last)
        subscribed.stream.put("6")
        subscribed.texts(shard, following(first.continuationSequenceNumber), 1) shouldBe Seq("6")
      }
    }

    promise(
      "sends no child shards for an open shard",
      Differences.ChildrenInEveryEvent.instead(withFive { (subscribed, shard, _) =>
        val event = subscribed.subscribe(shard, trimHorizon).event()
        event.hasChildShards shouldBe true
        event.childShards shouldBe empty
      })
    ) {
      withFive((subscribed, shard, _) => subscribed.subscribe(shard, trimHorizon).event().hasChildShards shouldBe false)
    }

    promise("sends all records of all shards to all consumers in order") {
      withSubscribed(2) { subscribed =>
        val shards      = subscribed.stream.openShards()
        val subscribers = for {
          _ <- 1 to 2
          consumer = subscribed.newConsumer()
          shard <- shards
        } yield subscribed.subscribe(shard.shardId, trimHorizon, consumer).opened()
        (1 to 20).foreach(n => shards.foreach(s => subscribed.stream.putAt(TestStream.startingHash(s), s"$n")))
        subscribers.foreach(_.texts(20) shouldBe (1 to 20).map(_.toString))
        subscribers.foreach(_.cancel())
      }
    }

    promise(
      "sends an idle shard's position, from which reading can continue",
      Differences.IdlePositionIsNone.instead(withFive { (subscribed, shard, _) =>
        val beat = subscribed.subscribe(shard, latest).event()
        beat.continuationSequenceNumber shouldBe "0"
        crash(throw subscribed.subscribe(shard, following(beat.continuationSequenceNumber)).failure())
      })
    ) {
      withFive { (subscribed, shard, _) =>
        val subscriber = subscribed.subscribe(shard, latest)
        val beat       = subscriber.event()
        beat.records shouldBe empty
        beat.millisBehindLatest shouldBe 0
        subscribed.stream.put("6")
        subscriber.texts(1) shouldBe Seq("6")
        subscriber.cancel()
        subscribed.texts(shard, following(beat.continuationSequenceNumber), 1) shouldBe Seq("6")
      }
    }

    promise(
      "sends the end of a closed shard with its children after the last record, and completes",
      Differences.ShardEndNotReported.instead(withClosed { (subscribed, shard, _) =>
        staysOpen(subscribed.subscribe(shard, trimHorizon), "last")
      }),
      Differences.ShardEndsUnsaid.instead(withClosed { (subscribed, shard, _) =>
        endsUnsaid(subscribed.subscribe(shard, trimHorizon))
      })
    ) {
      withClosed { (subscribed, shard, _) =>
        val (events, end) = toTheEnd(subscribed.subscribe(shard, trimHorizon))
        end shouldBe Signal.Completed
        events.flatMap(Subscriber.texts) shouldBe Seq("last")
        events.init.foreach(_.continuationSequenceNumber should not be null)
        events.last.continuationSequenceNumber shouldBe null
        events.last.childShards.asScala
          .map(_.shardId)
          .toSet shouldBe subscribed.stream.openShards().map(_.shardId).toSet
        events.last.childShards.asScala.foreach(_.parentShards.asScala shouldBe Seq(shard))
      }
    }

    promise(
      "sends the end to a subscription that was open when the shard was closed",
      Differences.ShardEndNotReported.instead(withSplitUnder(staysOpen(_))),
      Differences.ShardEndsUnsaid.instead(withSplitUnder(endsUnsaid))
    ) {
      withSplitUnder { subscriber =>
        val (events, end) = toTheEnd(subscriber)
        end shouldBe Signal.Completed
        events.last.childShards should have size 2
        events.last.continuationSequenceNumber shouldBe null
      }
    }

    promise(
      "sends the end again to a reader that subscribes after the last record",
      Differences.ShardEndNotReported.instead(withClosed { (subscribed, shard, number) =>
        staysOpen(subscribed.subscribe(shard, following(number)))
      }),
      Differences.ShardEndsUnsaid.instead(withClosed { (subscribed, shard, number) =>
        endsUnsaid(subscribed.subscribe(shard, following(number)))
      })
    ) {
      withClosed { (subscribed, shard, number) =>
        val (events, end) = toTheEnd(subscribed.subscribe(shard, following(number)))
        end shouldBe Signal.Completed
        events.flatMap(_.records.asScala) shouldBe empty
        events.last.childShards should have size 2
      }
    }

    promise(
      "is refused within five seconds of the last success for one consumer and shard",
      Differences.NeverInUse.instead(withFive { (subscribed, shard, _) =>
        val consumer = subscribed.newConsumer()
        (1 to 2).foreach(_ => subscribed.subscribe(shard, trimHorizon, consumer).texts(5) shouldBe All)
      })
    ) {
      withFive { (subscribed, shard, _) =>
        whileItLasts {
          val consumer = subscribed.newConsumer()
          subscribed.subscribe(shard, trimHorizon, consumer).texts(5)
          subscribed.subscribe(shard, trimHorizon, consumer).failure() shouldBe a[ResourceInUseException]
        }
      }
    }

    promise(
      "takes over after five seconds, and the older subscription ends",
      Differences.StaysInUse.instead(withTwo { (stream, first, second) =>
        second.failure() shouldBe a[ResourceInUseException]
        stream.put("6")
        first.texts(1) shouldBe Seq("6")
      }),
      Differences.NoTakeover.instead(withTwo { (stream, first, second) =>
        second.opened()
        stream.put("6")
        Seq(first, second).foreach(_.texts(1) shouldBe Seq("6"))
      })
    ) {
      withTwo { (stream, first, second) =>
        second.opened()
        toTheEnd(first)._2 match {
          case Signal.Failed(cause) => cause shouldBe a[ResourceInUseException]
          case other                => other shouldBe Signal.Completed
        }
        stream.put("6")
        second.texts(1) shouldBe Seq("6")
      }
    }

    promise(
      "throws ResourceNotFoundException for an unknown or deregistered consumer",
      Differences.CrashesOnSubscribing.instead(withFive { (subscribed, shard, _) =>
        crash(throw subscribed.subscribe(shard, trimHorizon, nobody(subscribed)).failure())
      })
    ) {
      withFive { (subscribed, shard, _) =>
        subscribed.subscribe(shard, trimHorizon, nobody(subscribed)).failure() shouldBe a[ResourceNotFoundException]
        val consumer = subscribed.newConsumer()
        subscribed.deregister(consumer)
        eventually(
          a[ResourceNotFoundException] should be thrownBy
            subscribed.stream.service.callOnce(_.describeStreamConsumer(r => r.consumerARN(consumer)))
        )
        subscribed.subscribe(shard, trimHorizon, consumer).failure() shouldBe a[ResourceNotFoundException]
      }
    }

    promise(
      "throws ResourceNotFoundException for an unknown shard",
      Differences.SubscribesToNothing.instead(
        withFive((subscribed, _, _) => subscribed.subscribe(NoShard, trimHorizon).event().records shouldBe empty)
      ),
      Differences.CrashesOnSubscribing.instead(
        withFive((subscribed, _, _) => crash(throw subscribed.subscribe(NoShard, trimHorizon).failure()))
      )
    ) {
      withFive((subscribed, _, _) =>
        subscribed.subscribe(NoShard, trimHorizon).failure() shouldBe a[ResourceNotFoundException]
      )
    }

    promise(
      "refuses a malformed sequence number",
      Differences.SubscribesFromAnyText.instead(
        withFive((subscribed, shard, _) => subscribed.texts(shard, at("not-a-number"), 5) shouldBe All)
      ),
      Differences.CrashesOnSubscribing.instead(
        withFive((subscribed, shard, _) => crash(throw subscribed.subscribe(shard, at("not-a-number")).failure()))
      )
    ) {
      withFive((subscribed, shard, _) =>
        refusedArgument(throw subscribed.subscribe(shard, at("not-a-number")).failure())
      )
    }

    promise(
      "refuses a sequence number of another shard",
      Differences.TakesForeignNumbers.instead(withForeignNumberSubscribed(_.event().records shouldBe empty))
    ) {
      withForeignNumberSubscribed(subscriber => refusedArgument(throw subscriber.failure()))
    }

    promise(
      "ends if its consumer is deregistered",
      Differences.OutlivesItsConsumer.instead(withDeregistered { (stream, subscriber) =>
        stream.put("6")
        subscriber.texts(1) shouldBe Seq("6")
      })
    ) {
      withDeregistered((_, subscriber) => toTheEnd(subscriber)._1.flatMap(_.records.asScala) shouldBe empty)
    }

    promiseOnClock("sends an event every five seconds on an idle shard, and completes after five minutes") { clocked =>
      onSubscribed(clocked.service, 1) { subscribed =>
        val subscriber = subscribed.subscribe(subscribed.stream.onlyShard().shardId, latest).opened()
        (1 to 3).foreach { _ =>
          clocked.advance(Duration.ofSeconds(5))
          subscriber.event().records shouldBe empty
        }
        clocked.advance(Duration.ofMinutes(5))
        toTheEnd(subscriber)._2 shouldBe Signal.Completed
      }
    }
  }
}
