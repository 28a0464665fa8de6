package io.github.kinesisspark.testkit

import software.amazon.awssdk.services.kinesis.model._

import java.time.{Duration, Instant}
import scala.jdk.CollectionConverters._

/** Tests GetShardIterator and GetRecords. */
class ReadSpec extends ServerSpec {
  import Clients._

  private def data(answer: GetRecordsResponse): Vector[String] =
    answer.records.asScala.map(_.data.asUtf8String).toVector

  private def from(stream: String, kind: ShardIteratorType, number: String): Vector[String] =
    data(kinesis.get(kinesis.iterator(stream, shardId(0), kind, b => { b.startingSequenceNumber(number); () })))

  private def iteratorAt(stream: String, time: Instant): String =
    kinesis.iterator(stream, shardId(0), ShardIteratorType.AT_TIMESTAMP, b => { b.timestamp(time); () })

  describe("A shard iterator") {
    it("starts at or after a sequence number, or at the oldest record") {
      val stream  = newStream(1)
      val numbers = Vector("a", "b", "c").map(server.streams.put(stream, "k", _).sequenceNumber)
      from(stream, ShardIteratorType.AT_SEQUENCE_NUMBER, numbers(1)) shouldBe Vector("b", "c")
      from(stream, ShardIteratorType.AFTER_SEQUENCE_NUMBER, numbers(1)) shouldBe Vector("c")
      from(stream, ShardIteratorType.AFTER_SEQUENCE_NUMBER, numbers(2)) shouldBe empty
      from(stream, ShardIteratorType.AT_SEQUENCE_NUMBER, "0") shouldBe Vector("a", "b", "c")
      kinesis.readAll(stream, shardId(0)) shouldBe Vector("a", "b", "c")
    }

    it("starts with the next record at LATEST") {
      val stream = newStream(1)
      server.streams.put(stream, "k", "before")
      val latest = kinesis.iterator(stream, shardId(0), ShardIteratorType.LATEST)
      data(kinesis.get(latest)) shouldBe empty
      server.streams.put(stream, "k", "after")
      data(kinesis.get(latest)) shouldBe Vector("after")
    }

    it("starts with the first record that arrived at or after AT_TIMESTAMP, to the millisecond") {
      val stream = newStream(1)
      server.streams.put(stream, "k", "early")
      clock.advance(Duration.ofMillis(1))
      val time = clock.instant
      server.streams.put(stream, "k", "late")
      data(kinesis.get(iteratorAt(stream, time))) shouldBe Vector("late")
      data(kinesis.get(iteratorAt(stream, time.minusMillis(1)))) shouldBe Vector("early", "late")
      data(kinesis.get(iteratorAt(stream, Instant.EPOCH))) shouldBe Vector("early", "late")
    }

    it("yields no records before a future AT_TIMESTAMP") {
      val stream = newStream(1)
      var answer = kinesis.get(iteratorAt(stream, clock.instant.plusMillis(10)))
      server.streams.put(stream, "k", "too early")
      answer = kinesis.get(answer.nextShardIterator)
      data(answer) shouldBe empty
      clock.advance(Duration.ofMillis(10))
      server.streams.put(stream, "k", "in time")
      data(kinesis.get(answer.nextShardIterator)) shouldBe Vector("in time")
    }

    it("expires after five minutes, and its successor has its own five minutes") {
      val stream = newStream(1)
      val first  = kinesis.iterator(stream, shardId(0))
      clock.advance(Duration.ofMinutes(5))
      val second = kinesis.get(first).nextShardIterator
      clock.advance(Duration.ofMillis(1))
      val error = the[ExpiredIteratorException] thrownBy kinesis.get(first)
      error.awsErrorDetails.errorMessage should include("tolerated delay of 300000 milliseconds")
      kinesis.get(second)
    }

    it("is refused for an unknown shard, stream or sequence number, and without a timestamp") {
      val stream = newStream(2)
      val other  = server.streams.putInto(stream, shardId(1), "k", Array.empty[Byte]).sequenceNumber
      a[ResourceNotFoundException] should be thrownBy kinesis.iterator(stream, shardId(7))
      a[ResourceNotFoundException] should be thrownBy kinesis.iterator("nobody", shardId(0))
      an[InvalidArgumentException] should be thrownBy from(stream, ShardIteratorType.AT_SEQUENCE_NUMBER, other)
      an[InvalidArgumentException] should be thrownBy from(stream, ShardIteratorType.AT_SEQUENCE_NUMBER, "12345")
      an[InvalidArgumentException] should be thrownBy kinesis.iterator(
        stream,
        shardId(0),
        ShardIteratorType.AT_TIMESTAMP
      )
      an[InvalidArgumentException] should be thrownBy kinesis.get("made-up")
    }
  }

  describe("GetRecords") {
    it("returns records as they were put, with their arrival time") {
      val stream = newStream(1)
      val put    = kinesis.put(stream, "schlüssel", "data")
      val record = kinesis.get(kinesis.iterator(stream, shardId(0))).records.get(0)
      record.sequenceNumber shouldBe put.sequenceNumber
      record.partitionKey shouldBe "schlüssel"
      record.data.asUtf8String shouldBe "data"
      record.approximateArrivalTimestamp.toEpochMilli shouldBe clock.millis
    }

    it("returns a record without a partition key from a stream of keyless records") {
      val stream = newStream(1)
      server.streams.putUnkeyed(stream, "data".getBytes)
      kinesis.get(kinesis.iterator(stream, shardId(0))).records.get(0).partitionKey shouldBe null
    }

    it("returns MillisBehindLatest, which is 0 only at the latest record") {
      val stream = newStream(1)
      server.streams.put(stream, "k", "a")
      clock.advance(Duration.ofSeconds(1))
      server.streams.put(stream, "k", "b")
      server.streams.put(stream, "k", "c")
      clock.advance(Duration.ofSeconds(4))
      val first  = kinesis.get(kinesis.iterator(stream, shardId(0)), limit = Some(1))
      val second = kinesis.get(first.nextShardIterator, limit = Some(1))
      val third  = kinesis.get(second.nextShardIterator, limit = Some(1))
      Vector(first, second, third).map(_.millisBehindLatest.longValue) shouldBe Vector(5000, 4000, 0)
      kinesis.get(third.nextShardIterator).millisBehindLatest shouldBe 0
    }

    it("returns at most 10,000 records and 10 MiB") {
      val stream = newStream(1)
      (1 to 10001).foreach(_ => server.streams.put(stream, "k", ""))
      kinesis.get(kinesis.iterator(stream, shardId(0))).records should have size 10000
      val large = newStream(1)
      (1 to 12).foreach(_ => server.streams.put(large, "k", new Array[Byte](1024 * 1024 - 1)))
      kinesis.get(kinesis.iterator(large, shardId(0))).records should have size 10
      an[InvalidArgumentException] should be thrownBy kinesis.get(kinesis.iterator(stream, shardId(0)), Some(10001))
    }

    it("leaves out records past retention, and continues after them from an old position") {
      val stream = newStream(1)
      val old    = server.streams.put(stream, "k", "old").sequenceNumber
      clock.advance(Duration.ofHours(23))
      server.streams.put(stream, "k", "young")
      clock.advance(Duration.ofHours(2))
      kinesis.readAll(stream, shardId(0)) shouldBe Vector("young")
      from(stream, ShardIteratorType.AT_SEQUENCE_NUMBER, old) shouldBe Vector("young")
      from(stream, ShardIteratorType.AFTER_SEQUENCE_NUMBER, old) shouldBe Vector("young")
    }

    it("leaves out records that a test has trimmed") {
      val stream = newStream(1)
      server.streams.put(stream, "k", "gone")
      server.streams.trim(stream, shardId(0), server.streams.put(stream, "k", "kept").sequenceNumber)
      kinesis.readAll(stream, shardId(0)) shouldBe Vector("kept")
      server.streams.recordCount(stream) shouldBe 1
    }
  }
}
