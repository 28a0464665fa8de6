package io.github.kinesisspark.fuzz

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.fuzz.Desk.runtime
import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.read.reader.ReaderTelemetry

/** Subscriptions and polled shards whose server sends what Kinesis does not send, or does not send yet. */
final class HostileEventsSpec extends AnyFunSpec with Matchers {
  private val begun = Frames.frame("{}".getBytes, ":message-type" -> "event", ":event-type" -> "initial-response")

  private def event(continuation: Int, numbers: Int*): Array[Byte] =
    Frames.frame(
      payload(continuation, numbers: _*),
      ":message-type" -> "event",
      ":event-type"   -> "SubscribeToShardEvent"
    )

  private def payload(continuation: Int, numbers: Int*): Array[Byte] = {
    val records = numbers.map(number =>
      s"""{"SequenceNumber":"$number","Data":"aGVsbG8=","PartitionKey":"k","ApproximateArrivalTimestamp":1700000000.5}"""
    )
    s"""{"Records":[${records.mkString(
        ","
      )}],"ContinuationSequenceNumber":"$continuation","MillisBehindLatest":0}""".getBytes
  }

  private def read(frames: Array[Byte]*): Desk = readWith(new ReaderTelemetry)(frames: _*)

  private def readWith(telemetry: ReaderTelemetry)(frames: Array[Byte]*): Desk = {
    val desk   = new Desk
    val answer = Answer.of(Array[Byte](0, 0) ++ begun ++ frames.flatten, "application/vnd.amazon.eventstream")
    PushedEvents.subscribed(answer, desk, telemetry).close()
    desk.run()
    desk
  }

  private def numbers(desk: Desk): Seq[String] =
    desk.delivered.flatMap(_.records.map(_.sequenceNumber.text))

  private def positions(desk: Desk): Seq[ShardPosition] = desk.delivered.map(_.position)

  it("an event of an unknown type is ignored, and those after it are delivered") {
    val unknown = Seq("FutureEvent", "RecordsDeletedEvent").map { kind =>
      Frames.frame("""{"Anything":[1]}""".getBytes, ":message-type" -> "event", ":event-type" -> kind)
    }
    val desk = read(event(1001, 1001), unknown.head, unknown.last, event(1002, 1002))
    numbers(desk) shouldBe Seq("1001", "1002")
    desk.failed shouldBe empty
  }

  it("an event whose records are out of order is not delivered, nor is anything after it") {
    for (damaged <- Seq(event(1004, 1003, 1002), event(1004, 1004, 1004)))
      numbers(read(event(1001, 1001), damaged, event(1005, 1005))) shouldBe Seq("1001")
  }

  it("an answer of GetRecords whose records are out of order is not delivered, and its shard is asked again") {
    for (damaged <- Seq(Seq("1002", "1001"), Seq("1001", "1001"))) {
      val records = damaged.map(PolledAnswers.record)
      val input = PolledAnswers.answer("Records" -> records, "NextShardIterator" -> "next", "MillisBehindLatest" -> 0L)
      val desk  = PolledAnswers.polled(Answer.of(input))
      desk.delivered shouldBe empty
      desk.pending should have size 1
    }
  }

  it("events and answers that only the SDK can read are delivered and counted, and others are not counted") {
    val telemetry      = new ReaderTelemetry
    def decodedBySdk() = telemetry.totals(bufferedBytes = 0, isFanOut = false).sdkReads
    val escaped        = Frames.frame(
      new String(payload(1002, 1002)).replace("PartitionKey", "\\u0050artitionKey").getBytes,
      ":message-type" -> "event",
      ":event-type"   -> "SubscribeToShardEvent"
    )
    numbers(readWith(telemetry)(event(1001, 1001), escaped, event(1003, 1003))) shouldBe Seq("1001", "1002", "1003")
    decodedBySdk() shouldBe 1
    def poll(contentType: String) = {
      val input = PolledAnswers.answer("Records" -> Seq(PolledAnswers.record("1001")), "NextShardIterator" -> "next")
      numbers(PolledAnswers.polled(Answer.of(input, contentType), telemetry)) shouldBe Seq("1001")
    }
    poll("application/x-amz-cbor-1.1")
    decodedBySdk() shouldBe 1
    poll("application/cbor")
    decodedBySdk() shouldBe 2
  }

  it("an event that goes back delivers no record again, and moves no position back") {
    val desk = read(event(1005, 1004, 1005), event(1003, 1002, 1003), event(1006, 1006))
    numbers(desk) shouldBe Seq("1004", "1005", "1006")
    val after = positions(desk).collect { case ShardPosition.AfterSequenceNumber(number) => BigInt(number.text) }
    after shouldBe after.sorted
  }
}
