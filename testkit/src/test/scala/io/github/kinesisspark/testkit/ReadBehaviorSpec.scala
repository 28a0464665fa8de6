package io.github.kinesisspark.testkit

import software.amazon.awssdk.services.kinesis.model._

import java.time.Duration
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

/** GetRecords and SubscribeToShard where a call scans a minute of a shard and three records. */
class ReadBehaviorSpec extends SubscriptionSuite {
  import Clients._

  override protected def config: KinesisServerConfig =
    KinesisServerConfig(reads = ReadBehavior(scanSpan = Some(1.minute), scanRecords = 3))

  private val minute = Duration.ofMinutes(1)

  /** Answers from an iterator until one is at the tip, as their records and lags in minutes. */
  private def answers(iterator: String): Vector[(Seq[String], Long)] = {
    val answer = kinesis.get(iterator)
    val seen   = (answer.records.asScala.map(_.data.asUtf8String).toSeq, answer.millisBehindLatest / 60000)
    if (answer.millisBehindLatest == 0 || answer.nextShardIterator == null) Vector(seen)
    else seen +: answers(answer.nextShardIterator)
  }

  describe("GetRecords") {
    it("answers without records and with a shrinking lag inside a gap, then with the records after it") {
      val stream = newStream(1)
      server.streams.put(stream, "k", "before")
      clock.advance(Duration.ofMinutes(4))
      server.streams.put(stream, "k", "after")
      answers(kinesis.iterator(stream, shardId(0))) shouldBe Vector(
        Seq("before") -> 3L,
        Seq.empty     -> 2L,
        Seq.empty     -> 1L,
        Seq("after")  -> 0L
      )
    }

    it("answers with a shrinking lag on an idle shard until 0 at its tip") {
      val stream = newStream(1)
      clock.advance(Duration.ofMinutes(3))
      answers(kinesis.iterator(stream, shardId(0))).map(_._2) shouldBe Vector(2, 1, 0)
    }

    it("scans from an iterator's time or sequence number, and not at all from LATEST") {
      val stream = newStream(1)
      clock.advance(minute)
      val number = server.streams.put(stream, "k", "data").sequenceNumber
      clock.advance(Duration.ofMinutes(2))
      val time = clock.instant.minus(Duration.ofSeconds(90))
      answers(kinesis.iterator(stream, shardId(0), ShardIteratorType.AT_TIMESTAMP, b => { b.timestamp(time); () }))
        .map(_._2) shouldBe Vector(0, 0)
      answers(
        kinesis.iterator(
          stream,
          shardId(0),
          ShardIteratorType.AFTER_SEQUENCE_NUMBER,
          b => { b.startingSequenceNumber(number); () }
        )
      ).size should be >= 2
      answers(kinesis.iterator(stream, shardId(0), ShardIteratorType.LATEST)) shouldBe Vector(Seq.empty -> 0L)
    }

    it("answers with as many records as one call scans at most, regardless of the limit") {
      val stream = newStream(1)
      (1 to 7).foreach(i => server.streams.put(stream, "k", s"$i"))
      clock.advance(Duration.ofMillis(1))
      val first = kinesis.get(kinesis.iterator(stream, shardId(0)), limit = Some(100))
      first.records should have size 3
      first.millisBehindLatest.longValue should be > 0L
      kinesis.readAll(stream, shardId(0)) shouldBe (1 to 7).map(_.toString)
    }

    it("ends a closed shard once it has scanned to the time of its closing") {
      val stream = newStream(1)
      server.streams.put(stream, "k", "data")
      clock.advance(Duration.ofMinutes(3))
      server.streams.split(stream, shardId(0))
      clock.advance(Duration.ofMinutes(5))
      val all = answers(kinesis.iterator(stream, shardId(0)))
      all.map(_._1) shouldBe Vector(Seq("data"), Seq.empty, Seq.empty)
      all.last._2 shouldBe 0
    }
  }

  describe("SubscribeToShard") {
    it(
      "sends empty events with growing continuation numbers and a lag above 0 inside a gap"
    ) {
      val stream = newStream(1)
      val before = server.streams.put(stream, "k", "before")
      clock.advance(Duration.ofMinutes(4))
      val after      = server.streams.put(stream, "k", "after")
      val subscriber = subscribe(consumer(stream))
      val events     = Vector.fill(4)(subscriber.event())
      events.map(Subscriber.texts) shouldBe Vector(Vector("before"), Vector.empty, Vector.empty, Vector("after"))
      events.map(_.millisBehindLatest / 60000) shouldBe Vector(3, 2, 1, 0)
      val numbers = events.map(_.continuationSequenceNumber)
      numbers shouldBe numbers.distinct.sorted
      numbers.head shouldBe before.sequenceNumber
      numbers.last shouldBe after.sequenceNumber
      val gap  = numbers(2)
      val next = subscribe(consumer(stream, "other"), Subscriber.following(gap))
      next.texts(1) shouldBe Vector("after")
    }

    it("pushes a record at once to a subscription at the tip, after any time of waiting") {
      val stream     = newStream(1)
      val subscriber = subscribe(consumer(stream), Subscriber.latest).opened()
      clock.advance(Duration.ofMinutes(4))
      subscriber.event().records shouldBe empty
      server.streams.put(stream, "k", "data")
      Subscriber.texts(subscriber.event()) shouldBe Vector("data")
    }
  }

  describe("an iterator with empty history before its position") {
    it("gets empty answers first, on a young stream too") {
      val own = KinesisServer.start(
        KinesisServerConfig(clock = clock, reads = ReadBehavior(Some(1.minute), emptyHistory = 150.seconds))
      )
      try {
        own.streams.createStream("young", 1)
        own.streams.put("young", "k", "data")
        val sdk    = closing(client(own.endpoint))
        val first  = sdk.get(sdk.iterator("young", shardId(0)))
        val second = sdk.get(first.nextShardIterator)
        val third  = sdk.get(second.nextShardIterator)
        Vector(first, second, third).map(_.records.size) shouldBe Vector(0, 0, 1)
        Vector(first, second, third).map(_.millisBehindLatest.longValue) shouldBe Vector(90000, 30000, 0)
      } finally own.close()
    }
  }
}
