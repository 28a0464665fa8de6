package io.github.kinesisspark.read.plan

import java.time.Instant

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators.shardId
import io.github.kinesisspark.position._

class CompletenessSpec extends AnyFunSpec with Matchers {
  private val stream = StreamArn("arn:aws:kinesis:us-east-1:000000000000:stream/events")

  private def key(n: Int) = ShardKey(stream, shardId(n))

  private def offset(completeTo: Option[Long], shards: Int*) = {
    val progress = shards.map(n => shardId(n) -> ShardProgress(ShardPosition.TrimHorizon))
    KinesisOffset(Map(stream -> StreamOffset(1L, progress).copy(completeTo = completeTo)))
  }

  private def recorded(known: Completeness, end: KinesisOffset) = known.recordIn(end).streams(stream).completeTo

  describe("the time up to which a stream is complete") {
    it("is the earliest time of its shards, whenever each was reported") {
      val end   = offset(None, 0, 1)
      val first = Completeness().after(Map(key(0) -> 500L), end)
      recorded(first, end) shouldBe None
      val both = first.after(Map(key(1) -> 300L), end)
      recorded(both, end) shouldBe Some(300L)
      recorded(both.after(Map(key(1) -> 900L), end), end) shouldBe Some(500L)
    }

    it("never decreases") {
      val end = offset(Some(400L), 0, 1)
      recorded(Completeness(), end) shouldBe Some(400L)
      recorded(Completeness().after(Map(key(0) -> 500L), end), end) shouldBe Some(400L)
      recorded(Completeness().after(Map(key(0) -> 500L, key(1) -> 300L), end), end) shouldBe Some(400L)
      val later = Completeness().after(Map(key(0) -> 500L), end).after(Map(key(0) -> 100L, key(1) -> 600L), end)
      recorded(later, end) shouldBe Some(500L)
    }

    it("stays until the children of an ended shard have reported, and then ignores the parent") {
      val before = Completeness().after(Map(key(0) -> 500L, key(1) -> 900L), offset(None, 0, 1))
      val during = offset(Some(500L), 0, 1, 2)
      recorded(before, during) shouldBe Some(500L)
      val after = offset(Some(500L), 1, 2)
      recorded(before.after(Map(key(2) -> 800L), after), after) shouldBe Some(800L)
    }

    it("is the checkpointed one for a stream without shards")(
      recorded(Completeness(), offset(Some(7L))) shouldBe Some(7L)
    )
  }

  describe("retention") {
    it("leaves a gap if it does not reach back to the time of completeness") {
      Completeness.gap(completeTo = 1000L, now = 61000L, retention = 1.minute) shouldBe None
      Completeness.gap(completeTo = 1000L, now = 61001L, retention = 1.minute) shouldBe
        Some(Completeness.Gap(Instant.ofEpochMilli(1000L), Instant.ofEpochMilli(1001L)))
    }

    it(
      "makes a loss likely if the oldest record follows within the gap's length, at most an hour"
    ) {
      def isLikely(gap: FiniteDuration, oldest: FiniteDuration) = Completeness
        .Gap(Instant.EPOCH, Instant.ofEpochMilli(gap.toMillis))
        .isLikelyLoss(Instant.ofEpochMilli((gap + oldest).toMillis))
      isLikely(gap = 3.seconds, oldest = 2999.millis) shouldBe true
      isLikely(gap = 3.seconds, oldest = 3.seconds) shouldBe false
      isLikely(gap = 39.hours, oldest = 59.minutes) shouldBe true
      isLikely(gap = 39.hours, oldest = 1.hour) shouldBe false
    }

    it("makes a time of completeness old after half of the retention period") {
      Completeness.isAging(completeTo = 0L, now = 30000L, retention = 1.minute) shouldBe false
      Completeness.isAging(completeTo = 0L, now = 30001L, retention = 1.minute) shouldBe true
    }
  }
}
