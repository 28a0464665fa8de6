package io.github.kinesisspark.read.plan

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position._
import io.github.kinesisspark.position.ShardPosition._

class AlignmentSpec extends AnyFunSpec with Matchers {
  describe("the horizon") {
    it("is nowhere when it is turned off, or nobody has anything old to come") {
      Alignment.off.horizon(Seq(5)) shouldBe None
      Alignment(Some(10)).horizon(Nil) shouldBe None
    }

    it("is the skew after the earliest, without overflow") {
      Alignment(Some(10)).horizon(Seq(100, 50)) shouldBe Some(60)
      Alignment(Some(10)).horizon(Seq(Long.MaxValue)) shouldBe Some(Long.MaxValue)
    }
  }

  describe("the clocks") {
    val Patience                       = 30000L
    val start                          = ShardClocks()
    def begun(position: ShardPosition) = start.begin(Map(shard(0) -> position), _ => Nil, _ => false, 0)

    it("know nothing of a shard that begins at its horizon, and the time of one that begins at a time") {
      begun(TrimHorizon).toCome(shard(0), Some(Patience), 0) shouldBe Some(Alignment.Unknown)
      begun(AtTimestamp(7)).toCome(shard(0), Some(Patience), 0) shouldBe Some(7)
    }

    it("begin a child where the later of its parents ended, though these have left the batch") {
      val parents = start
        .begin(Map(shard(0) -> TrimHorizon, shard(1) -> TrimHorizon), _ => Nil, _ => true, 0)
        .admit(Seq(shard(0) -> 70L, shard(1) -> 50L))
      val child = parents.begin(Map(shard(2) -> TrimHorizon), _ => Seq(shard(0), shard(1)), _ => true, 0)
      child.toCome(shard(2), Some(Patience), 0) shouldBe Some(70)
    }

    it("go back to what is in batches when a reader is opened anew") {
      val read = begun(AtTimestamp(7)).admit(Seq(shard(0) -> 50L)).hear(Seq(shard(0) -> Some(90L)), 0)
      read.toCome(shard(0), None, 0) shouldBe Some(90)
      read.hear(Seq(shard(0) -> None), 0).toCome(shard(0), Some(Patience), 0) shouldBe Some(50)
    }

    it("give up a shard that has nothing and does not move, and take it back when it does") {
      val still = begun(AtTimestamp(7))
      still.toCome(shard(0), Some(Patience), Patience) shouldBe None
      still.toCome(shard(0), None, Patience) shouldBe Some(7)
      still.hear(Seq(shard(0) -> Some(8L)), Patience).toCome(shard(0), Some(Patience), Patience) shouldBe Some(
        8
      )
    }

    it("forget shards that have left the offset") {
      begun(AtTimestamp(7)).begin(Map.empty, _ => Nil, _ => false, 0).seen shouldBe empty
    }
  }
}
