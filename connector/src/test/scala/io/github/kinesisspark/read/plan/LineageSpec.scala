package io.github.kinesisspark.read.plan

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position._
import io.github.kinesisspark.position.ShardPosition._

class LineageSpec extends AnyFunSpec with Matchers {
  private def shardOf(n: Int, closed: Boolean, parents: Int*) =
    Shard(shardId(n), parents.map(shardId), HashKeyRange(0, 1), closed)
  private def known(shards: (Int, ShardPosition)*) =
    shards.map { case (n, p) => shardId(n) -> ShardProgress(p) }.toMap
  private val reading = AfterSequenceNumber(number(1))

  describe("the shards that enter a batch") {
    val split = Lineage(Seq(shardOf(0, closed = true), shardOf(1, closed = false, 0), shardOf(2, closed = false, 0)))

    it("are none while the parent is being read") {
      split.entering(known(0 -> reading)) shouldBe empty
    }

    it("are both children of a split after the parent is finished") {
      split.entering(known(0 -> ShardEnd)) shouldBe Vector(shardId(1), shardId(2))
    }

    it("are the second child of a split if only the first has entered") {
      split.entering(known(0 -> ShardEnd, 1 -> reading)) shouldBe Vector(shardId(2))
      split.entering(known(1 -> reading)) shouldBe Vector(shardId(2))
    }

    it("contain a merge's child only after both parents are finished") {
      val merge = Lineage(Seq(shardOf(0, closed = true), shardOf(1, closed = true), shardOf(2, closed = false, 0, 1)))
      merge.entering(known(0 -> ShardEnd, 1 -> reading)) shouldBe empty
      merge.entering(known(0 -> ShardEnd, 1 -> ShardEnd)) shouldBe Vector(shardId(2))
    }

    it("contain a child whose parent the service has denied, and not one whose parent is only unknown") {
      val listing = Seq(shardOf(5, closed = false, 3), shardOf(6, closed = false))
      Lineage(listing, gone = Set(shardId(3))).entering(known(6 -> reading)) shouldBe Vector(shardId(5))
      Lineage(listing).entering(known(6 -> reading)) shouldBe empty
    }

    it("are only shards that a parent has just named, while listings may be older than the offset") {
      val old = Seq(shardOf(0, closed = false))
      Lineage(old).entering(known(2 -> reading)) shouldBe empty
      Lineage(old).entering(known(2 -> ShardEnd)) shouldBe empty
      val listed = old :+ shardOf(3, closed = false, 2)
      val named  = Lineage(listed, unlisted = Set(shardId(3)))
      named.entering(known(2 -> ShardEnd)) shouldBe Vector(shardId(3))
      named.entering(known(3 -> reading)) shouldBe empty
      // Its children have been read, and left the offset before it.
      val split = Seq(shardOf(0, closed = true), shardOf(1, closed = false, 0), shardOf(2, closed = false, 0))
      Lineage(split).entering(known(0 -> ShardEnd, 3 -> reading, 5 -> reading)) shouldBe empty
      Lineage(listed.tail).entering(known(2 -> ShardEnd)) shouldBe Vector(shardId(3))
    }

    it("never contain a shard whose descendants are being read") {
      val chain = Lineage(Seq(shardOf(0, closed = true), shardOf(1, closed = true, 0), shardOf(2, closed = false, 1)))
      chain.entering(known(2 -> reading)) shouldBe empty
    }

    it("contain no grandchild before its parent") {
      val chain = Lineage(Seq(shardOf(0, closed = true), shardOf(1, closed = true, 0), shardOf(2, closed = false, 1)))
      chain.entering(known(0 -> ShardEnd)) shouldBe Vector(shardId(1))
    }
  }

  describe("a merged shard of which one parent is past retention when the query begins") {
    val merged = Lineage(Seq(shardOf(1, closed = true), shardOf(2, closed = false, 0, 1)), gone = Set(shardId(0)))

    def planning(start: KinesisOffset) =
      PlanningState(
        start,
        Map(stream -> PlanningState.Stream(1L, merged, merged.begun(merged.roots.map(_ -> TrimHorizon))))
      )

    it("enters after the other parent, and nothing is lost") {
      val first = planning(KinesisOffset.initial)
      first.reading shouldBe Map(shard(1) -> TrimHorizon)
      val begun = planning(first.end(Map.empty))
      begun.pastRetention shouldBe empty
      val ended = planning(begun.end(Map(shard(1) -> ShardEnd)))
      ended.pastRetention shouldBe empty
      ended.reading shouldBe Map(shard(2) -> TrimHorizon)
      val after = planning(ended.end(Map.empty)).end(Map.empty)
      after.streams(stream).shards.keySet shouldBe Set(shardId(2))
    }
  }

  it("begins with a child beside one of its parents where the other is not named") {
    val merged = Lineage(Seq(shardOf(0, closed = true), shardOf(1, closed = true), shardOf(2, closed = false, 0, 1)))
    merged.eldest(Vector(0, 1, 2).map(shardId)) shouldBe Seq(0, 1).map(shardId)
    merged.eldest(Vector(0, 2).map(shardId)) shouldBe Seq(0, 2).map(shardId)
  }

  describe("the shards that leave a batch") {
    it("are finished shards after all their children have entered") {
      val split = Lineage(Seq(shardOf(0, closed = true), shardOf(1, closed = false, 0), shardOf(2, closed = false, 0)))
      split.retiring(known(0 -> ShardEnd, 1 -> reading)) shouldBe empty
      split.retiring(known(0 -> ShardEnd, 1 -> reading, 2 -> reading)) shouldBe Set(shardId(0))
      split.retiring(known(0 -> reading, 1 -> reading, 2 -> reading)) shouldBe empty
    }
  }

  describe("the shards that the service is asked about") {
    it("are unknown ones of the offset, and unknown parents of what would enter") {
      val listing = Seq(shardOf(1, closed = false), shardOf(4, closed = false, 3), shardOf(6, closed = false, 5))
      val offset  = known(0 -> reading, 1 -> reading, 2 -> ShardEnd, 5 -> ShardEnd)
      Lineage(listing).doubtful(offset) shouldBe Seq(0, 2, 3).map(shardId)
      Lineage(listing, gone = Set(0, 2, 3).map(shardId)).doubtful(offset) shouldBe empty
    }
  }

  describe("the shards that are lost") {
    it("are unfinished shards that the service has denied") {
      val listing = Seq(shardOf(1, closed = false))
      val offset  = known(0 -> reading, 1 -> reading, 2 -> ShardEnd)
      Lineage(listing, gone = Set(0, 2).map(shardId)).pastRetention(offset) shouldBe Vector(shardId(0))
      Lineage(listing).pastRetention(offset) shouldBe empty
    }

    it("contain a parent that was never listed if its child enters without it") {
      val grown = Lineage(
        Seq(shardOf(2, closed = false, 0), shardOf(3, closed = false, 1), shardOf(4, closed = false, 1)),
        gone = Set(shardId(1))
      )
      grown.pastRetention(known(0 -> ShardEnd, 2 -> reading)) shouldBe Vector(shardId(1))
      grown.pastRetention(known(0 -> ShardEnd, 1 -> ShardEnd, 2 -> reading)) shouldBe empty
      grown.pastRetention(known(2 -> reading, 3 -> reading, 4 -> reading)) shouldBe empty
    }
  }

  describe("a shard that the service has denied") {
    it("is not in doubt again after a listing, though that has none of its children") {
      val listing   = Seq(shardOf(3, closed = false, 2))
      val knowledge = ShardKnowledge.none.listed(listing, asOf = 5).denied(Seq(1, 2).map(shardId), at = 5)
      for (later <- Seq(knowledge, knowledge.listed(listing, asOf = 6))) {
        later.lineage.doubtful(known(1 -> reading)) shouldBe empty
        later.lineage.pastRetention(known(1 -> reading)) shouldBe Vector(1, 2).map(shardId)
        later.lineage.doubtful(known(1 -> ShardEnd, 3 -> reading)) shouldBe empty
      }
    }
  }

  describe("shards that are not listed yet") {
    it("are expected as children of a listed, finished shard without children, and not of an expired one") {
      Lineage(Seq(shardOf(0, closed = false))).awaitsChildrenOf(shardId(0)) shouldBe true
      Lineage(Seq(shardOf(0, closed = true), shardOf(1, closed = false, 0))).awaitsChildrenOf(shardId(0)) shouldBe false
      Lineage(Seq(shardOf(2, closed = false, 1))).awaitsChildrenOf(shardId(0)) shouldBe false
    }

    it("are known from the parent's last answer, also after an older listing") {
      val before       = Vector(shardOf(0, closed = false))
      val withChildren =
        ShardKnowledge.none
          .listed(before, asOf = 5)
          .withChildren(Seq(shardOf(1, closed = false, 0), shardOf(2, closed = false, 0)), at = 5)
      for (knowledge <- Seq(withChildren, withChildren.listed(before, asOf = 6))) {
        knowledge.lineage.entering(known(0 -> ShardEnd)) shouldBe Vector(shardId(1), shardId(2))
        knowledge.lineage.isClosed(shardId(0)) shouldBe true
      }
      withChildren.denied(Seq(shardId(1)), at = 5).lineage.entering(known(0 -> ShardEnd)) shouldBe Vector(shardId(2))
      val after  = Vector(shardOf(0, closed = true), shardOf(1, closed = true, 0), shardOf(2, closed = false, 0))
      val listed = withChildren.listed(after, asOf = 7)
      listed.withChildren(Seq(shardOf(1, closed = false, 0)), at = 8).lineage.isClosed(shardId(1)) shouldBe true
      withChildren
        .listed(before, asOf = 5 + ShardKnowledge.Patience.toNanos)
        .lineage
        .entering(known(0 -> ShardEnd)) shouldBe empty
      // It was asked for before, and came back after.
      listed.listed(before, asOf = 6).lineage.entering(known(0 -> ShardEnd)) shouldBe Vector(shardId(1), shardId(2))
    }

    it("wait for a parent that is unknown, about which the service is asked") {
      val knowledge = ShardKnowledge.none
        .listed(Vector(shardOf(0, closed = false)), asOf = 5)
        .withChildren(Seq(shardOf(2, closed = false, 0, 1)), at = 6)
      knowledge.lineage.entering(known(0 -> ShardEnd)) shouldBe empty
      knowledge.lineage.doubtful(known(0 -> ShardEnd)) shouldBe Vector(shardId(1))
    }

    it("are no reason to lose one that an older listing, which was asked for later, doesn't have") {
      val before    = Vector(shardOf(0, closed = false))
      val after     = Vector(shardOf(0, closed = true), shardOf(1, closed = false, 0), shardOf(2, closed = false, 0))
      val knowledge = ShardKnowledge.none.listed(after, asOf = 5).listed(before, asOf = 6)
      knowledge.lineage.pastRetention(known(1 -> reading, 2 -> reading)) shouldBe empty
      knowledge.lineage.entering(known(1 -> reading, 2 -> reading)) shouldBe empty
      knowledge.lineage.isClosed(shardId(0)) shouldBe true
    }

    it("stay with their hash keys for an hour after they were listed last") {
      val before    = Vector(shardOf(0, closed = true), shardOf(1, closed = false, 0))
      val ids       = Set(0, 1, 2).map(shardId)
      val knowledge = ShardKnowledge.none.listed(before, asOf = 5)
      val after     = Vector(shardOf(2, closed = false, 1))
      knowledge.listed(after, asOf = 7).hashKeys(ids).keySet shouldBe ids
      knowledge.listed(after, asOf = 5 + ShardKnowledge.Patience.toNanos).hashKeys(ids).keySet shouldBe Set(shardId(2))
    }
  }
}
