package io.github.kinesisspark.position

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardPosition._

class OffsetJsonSpec extends AnyFunSpec with Matchers with AfterNumbers with ScalaCheckPropertyChecks {

  describe("the offset's JSON") {
    it("is equal after it was written and read") {
      forAll(offsets)(offset => OffsetJson.read(OffsetJson.write(offset)) shouldBe offset)
    }

    it("is exactly the documented text, which existing checkpoints hold") {
      val offset = KinesisOffset(
        Map(
          stream -> StreamOffset(
            1700000000123L,
            Seq(
              shardId(0) -> ShardProgress(AfterSequenceNumber(SequenceNumber("4959"))),
              shardId(1) -> ShardProgress(
                AfterSequenceNumber(SequenceNumber("4960")),
                firstPosition = Some(TrimHorizon)
              ),
              shardId(2) -> ShardProgress(ShardEnd),
              shardId(3) -> ShardProgress(AtTimestamp(1700000000000L))
            )
          ).copy(completeTo = Some(CompleteTo(1700000500000L, Some(24))))
        )
      )
      OffsetJson.write(offset) shouldBe
        """{"version":1,"streams":{"arn:aws:kinesis:us-east-1:000000000000:stream/events":{"created":1700000000123,"completeTo":1700000500000,"retentionHours":24,"shards":{""" +
        """"shardId-000000000000":"4959","shardId-000000000001":{"from":"TRIM_HORIZON","to":"4960"},""" +
        """"shardId-000000000002":"SHARD_END","shardId-000000000003":"AT_TIMESTAMP:1700000000000"}}}}"""
    }

    it("holds the most frequent entry position once, and others beside their shards") {
      def begun(n: Int, at: ShardPosition) =
        shardId(n) -> ShardProgress(AfterSequenceNumber(SequenceNumber(s"496$n")), firstPosition = Some(at))
      val shards = Seq(begun(0, TrimHorizon), begun(1, AtTimestamp(7)), begun(2, TrimHorizon))
      val offset = KinesisOffset(Map(stream -> StreamOffset(1700000000123L, shards)))
      val text   =
        """{"version":1,"streams":{"arn:aws:kinesis:us-east-1:000000000000:stream/events":{"created":1700000000123,"from":"TRIM_HORIZON","shards":{""" +
          """"shardId-000000000000":["4960"],"shardId-000000000001":{"from":"AT_TIMESTAMP:7","to":"4961"},"shardId-000000000002":["4962"]}}}}"""
      OffsetJson.write(offset) shouldBe text
      OffsetJson.read(text) shouldBe offset
      an[OffsetException] should be thrownBy OffsetJson.read(text.replace(""""from":"TRIM_HORIZON",""", ""))
    }

    it("stays under 1 MB for 10,000 shards, with and without entry positions") {
      for (firstPosition <- Seq(None, Some(TrimHorizon), Some(AtTimestamp(1700000000123L)))) {
        val shards = (0 until 10000).map { n =>
          shardId(n) -> ShardProgress(AfterSequenceNumber(number(n.toLong)), firstPosition)
        }
        OffsetJson.write(KinesisOffset(Map(stream -> StreamOffset(1700000000123L, shards)))).length should be < 1000000
      }
    }

    it("is refused if a later release wrote it, with what to do in a sentence") {
      the[OffsetException] thrownBy OffsetJson.read("""{"version":2,"streams":{}}""") should have message
        "[KINESIS_OFFSET_REFUSED] The Kinesis offset has version 2, which a later release has written, and this release reads versions up to 1: " +
        "use that release, or copies of the checkpoint and of the sink's output from before the upgrade. " +
        "(See docs/reference/errors.md#kinesis_offset_refused)"
    }

    it("is refused if another source wrote it") {
      for (
        json <- Seq("""{"topic":{"0":17}}""", "42", "no json", "", "[]", """{"shardId-0":{"iteratorType":"LATEST"}}""")
      ) {
        val refusal = the[OffsetException] thrownBy OffsetJson.read(json)
        refusal.getMessage should include("not of this connector")
      }
    }

    it("is refused if it is damaged, with the shard and the text at fault") {
      val refusal = the[OffsetException] thrownBy OffsetJson.read(
        """{"version":1,"streams":{"arn:aws:kinesis:us-east-1:000000000000:stream/events":{"created":1,"shards":{"shardId-1":"x"}}}}"""
      )
      refusal.getMessage should include("shardId-1: 'x' is neither a sequence number nor a position")
    }

    it("is refused if it is cut off at any place") {
      forAll(offsets.suchThat(_.streams.nonEmpty), org.scalacheck.Gen.choose(0, 10000)) { (offset, at) =>
        val whole = OffsetJson.write(offset)
        val cut   = whole.take(at % whole.length)
        an[OffsetException] should be thrownBy OffsetJson.read(cut)
      }
    }
  }

  describe("the end of a real-time batch that did not find that all is read") {
    val start = KinesisOffset(Map(stream -> StreamOffset(1L, Seq(shardId(0) -> ShardProgress(after(5))))))

    it("has another text than the batch's start and the end before it where it is at the same positions") {
      val ends = Iterator.iterate(start)(start.differingFrom).take(4).toVector
      ends.map(OffsetJson.write).distinct should have size 4
      start.rangesTo(ends.last) shouldBe empty
      OffsetJson.write(ends(1)) should startWith("""{"version":1,"idle":1,"streams":{""")
    }

    it("is as it is where the batch has read records") {
      val end = KinesisOffset(Map(stream -> StreamOffset(1L, Seq(shardId(0) -> ShardProgress(after(6))))))
      end.differingFrom(start.differingFrom(start)) shouldBe end
    }
  }

  describe("a position") {
    it("is read in lower case as well, and a number also by the service's name for it") {
      ShardPosition.decode("trim_horizon") shouldBe Right(TrimHorizon)
      val five = number(5)
      ShardPosition.decode(s"at_sequence_number:$five") shouldBe Right(AtSequenceNumber(five))
      for (text <- Seq(s"$five", s"AFTER_SEQUENCE_NUMBER:$five", s"after_sequence_number:$five"))
        ShardPosition.decode(text) shouldBe Right(AfterSequenceNumber(five))
    }
  }

  describe("the ranges of a batch") {
    def offset(shards: (Int, ShardProgress)*) =
      KinesisOffset(Map(stream -> StreamOffset(1L, shards.map { case (n, p) => shardId(n) -> p })))

    it("reach from start to end for shards that moved, and leave out the others") {
      val start = offset(0 -> ShardProgress(after(5)), 1 -> ShardProgress(after(5)))
      val end   = offset(0 -> ShardProgress(after(9)), 1 -> ShardProgress(after(5)))
      start.rangesTo(end) shouldBe Vector(ShardRange(shard(0), after(5), after(9)))
    }

    it("begin at a shard's entry position if the start offset doesn't hold the shard") {
      val end = offset(0 -> ShardProgress(after(9), firstPosition = Some(AtTimestamp(7))))
      KinesisOffset.initial.rangesTo(end) shouldBe Vector(ShardRange(shard(0), AtTimestamp(7), after(9)))
    }

    it("begin at the first record that was seen of a shard that the start offset has at a time") {
      val start = offset(0 -> ShardProgress(AtTimestamp(7)))
      val end   = offset(0 -> ShardProgress(after(9), firstPosition = Some(AtSequenceNumber(number(5)))))
      start.rangesTo(end) shouldBe Vector(ShardRange(shard(0), AtSequenceNumber(number(5)), after(9)))
    }

    it("leave out shards that entered without being read, and shards that left at their end") {
      val start = offset(0 -> ShardProgress(ShardEnd))
      val end   = offset(1 -> ShardProgress(TrimHorizon, firstPosition = Some(TrimHorizon)))
      start.rangesTo(end) shouldBe empty
    }

    it("leave out a stream that the end offset no longer holds, and keep the other streams") {
      val other = StreamArn("arn:aws:kinesis:eu-west-1:000000000000:stream/events")
      val start = KinesisOffset(Map(other -> StreamOffset(1L, Seq(shardId(0) -> ShardProgress(after(5))))))
      val end   = offset(0 -> ShardProgress(after(9)))
      KinesisOffset(start.streams ++ offset(0 -> ShardProgress(after(5))).streams).rangesTo(end) shouldBe
        Vector(ShardRange(shard(0), after(5), after(9)))
    }

    it("are refused if the end offset lacks a shard that was not finished") {
      val refusal = the[OffsetException] thrownBy offset(0 -> ShardProgress(after(5))).rangesTo(offset())
      refusal.getMessage should include("shardId-000000000000")
    }

    it(
      "are refused if the end offset has a shard that came in a batch between, as its records of that batch would be lost"
    ) {
      val refusal = the[OffsetException] thrownBy offset().rangesTo(offset(0 -> ShardProgress(after(5))))
      refusal.getMessage should include("shardId-000000000000")
    }

    it("are none from an offset to itself, also if a shard entered with it") {
      val same = offset(0 -> ShardProgress(after(9), firstPosition = Some(TrimHorizon)))
      same.rangesTo(same) shouldBe empty
    }
  }
}
