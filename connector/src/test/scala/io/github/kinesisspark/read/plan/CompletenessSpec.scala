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
    KinesisOffset(Map(stream -> StreamOffset(1L, progress).copy(completeTo = completeTo.map(CompleteTo(_, None)))))
  }

  private def recorded(known: Completeness, end: KinesisOffset) =
    known.recordIn(end, _ => 24).streams(stream).completeTo.map(_.millis)

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
      Completeness.gap(CompleteTo(1000L, None), now = 61000L, retention = 1.minute) shouldBe None
      Completeness.gap(CompleteTo(1000L, None), now = 61001L, retention = 1.minute) shouldBe
        Some(Completeness.Gap(Instant.ofEpochMilli(1000L), Instant.ofEpochMilli(1001L)))
    }

    it("leaves the gap of the shorter one where it was raised or lowered since") {
      def gap(before: Long, now: FiniteDuration) =
        Completeness.gap(CompleteTo(0L, Some(before)), now = 30.hours.toMillis, retention = now).map(_.until)
      gap(before = 24, now = 168.hours) shouldBe Some(Instant.ofEpochMilli(6.hours.toMillis))
      gap(before = 168, now = 24.hours) shouldBe Some(Instant.ofEpochMilli(6.hours.toMillis))
      gap(before = 168, now = 168.hours) shouldBe None
    }

    it("is stored with the time") {
      Completeness().recordIn(offset(Some(7L)), _ => 24).streams(stream).completeTo shouldBe Some(
        CompleteTo(7L, Some(24))
      )
    }

    it("has taken nothing from a shard with a record of before the gap") {
      val gap = Completeness.Gap(Instant.ofEpochMilli(1000), Instant.ofEpochMilli(4000))
      for ((oldest, isCovered) <- Seq(999 -> true, 1000 -> true, 1001 -> false)) {
        gap.isCovered(Instant.ofEpochMilli(oldest.toLong)) shouldBe isCovered
        gap.isLikelyLoss(Instant.ofEpochMilli(oldest.toLong)) shouldBe !isCovered
      }
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
