package io.github.kinesisspark.read.plan

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.position._

class WatermarkAlignmentSpec extends AnyFunSpec with Matchers {
  describe("the alignment limit") {
    it("is absent if alignment is off or no shard has pending records") {
      WatermarkAlignment.off.horizon(Seq(5)) shouldBe None
      WatermarkAlignment(Some(10)).horizon(Nil) shouldBe None
    }

    it("is the earliest pending arrival plus maxShardSkew, without overflow") {
      WatermarkAlignment(Some(10)).horizon(Seq(100, 50)) shouldBe Some(60)
      WatermarkAlignment(Some(10)).horizon(Seq(Long.MaxValue)) shouldBe Some(Long.MaxValue)
    }
  }

  describe("shard clocks") {
    val Patience                       = 30000L
    val start                          = ShardClocks()
    def begun(position: ShardPosition) = start.begin(Map(shard(0) -> position), _ => Nil, _ => false, 0)

    it("start as unknown at TRIM_HORIZON and as the given time at AT_TIMESTAMP") {
      begun(TrimHorizon).earliestPending(shard(0), Some(Patience), 0) shouldBe Some(WatermarkAlignment.Unknown)
      begun(AtTimestamp(7)).earliestPending(shard(0), Some(Patience), 0) shouldBe Some(7)
    }

    it("start a child at the later end of its parents, also if these have left the batch") {
      val parents = start
        .begin(Map(shard(0) -> TrimHorizon, shard(1) -> TrimHorizon), _ => Nil, _ => true, 0)
        .admit(Seq(shard(0) -> 70L, shard(1) -> 50L))
      val child = parents.begin(Map(shard(2) -> TrimHorizon), _ => Seq(shard(0), shard(1)), _ => true, 0)
      child.earliestPending(shard(2), Some(Patience), 0) shouldBe Some(70)
      parents.childrenBegin(shard(0), newest = None) shouldBe 70
      parents.childrenBegin(shard(0), newest = Some(90)) shouldBe 90
      begun(TrimHorizon).childrenBegin(shard(0), newest = None) shouldBe WatermarkAlignment.Unknown
    }

    it("return to the last admitted arrival if a reader is reopened") {
      val read = begun(AtTimestamp(7)).admit(Seq(shard(0) -> 50L)).afterReports(Seq(shard(0) -> Some(90L)), 0)
      read.earliestPending(shard(0), None, 0) shouldBe Some(90)
      read.afterReports(Seq(shard(0) -> None), 0).earliestPending(shard(0), Some(Patience), 0) shouldBe Some(50)
    }

    it("drop a shard that makes no progress for the patience, and restore it when it does") {
      val still = begun(AtTimestamp(7))
      still.earliestPending(shard(0), Some(Patience), Patience) shouldBe None
      still.earliestPending(shard(0), None, Patience) shouldBe Some(7)
      still
        .afterReports(Seq(shard(0) -> Some(8L)), Patience)
        .earliestPending(shard(0), Some(Patience), Patience) shouldBe Some(
        8
      )
    }

    it("keep a shard's patience while a batch runs, and count all planning before and after") {
      val planned = begun(AtTimestamp(7)).afterReports(Nil, Patience / 2)
      val next    = planned.begin(Map(shard(0) -> AtTimestamp(7)), _ => Nil, _ => false, 100 * Patience)
      next.earliestPending(shard(0), Some(Patience), 100 * Patience + Patience / 2 - 1) shouldBe Some(7)
      next.earliestPending(shard(0), Some(Patience), 100 * Patience + Patience / 2) shouldBe None
    }

    it("drop shards that have left the offset") {
      begun(AtTimestamp(7)).begin(Map.empty, _ => Nil, _ => false, 0).seen shouldBe empty
    }
  }
}
