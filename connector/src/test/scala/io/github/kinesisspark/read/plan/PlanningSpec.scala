package io.github.kinesisspark.read.plan

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position._
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.read.plan.Admission._

class PlanningSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private def executor(n: Int) = ExecutorId(s"host-${n % 3}", n.toString)

  describe("admission") {
    val available = Gen
      .listOf(Gen.zip(Gen.choose(0L, 1000L), Gen.choose(1L, 2000L)))
      .map(_.map { case (records, size) => Available(records, records * size) }.toVector)

    it("admits all records if there is no limit") {
      forAll(available)(a => divide(a, Limits.none, 0) shouldBe None)
    }

    it("uses exactly the record limit if only records are limited") {
      forAll(available, Gen.choose(1L, 2000L), Gen.choose(0L, 100L)) { (a, limit, fairnessOffset) =>
        divide(a, Limits(Some(limit), None), fairnessOffset).foreach(_.map(_.maxRecords).sum shouldBe limit)
      }
    }

    it("gives each shard at most its records, and at least an equal share or all it has") {
      forAll(available, Gen.choose(1L, 2000L)) { (a, limit) =>
        val holding = a.count(_.records > 0)
        divide(a, Limits(Some(limit), None), 0).foreach { allotments =>
          allotments should have size a.size.toLong
          a.zip(allotments).foreach { case (has, gets) =>
            gets.maxRecords should be <= has.records
            gets.maxRecords should be >= math.min(has.records, limit / holding)
          }
        }
      }
    }

    it("keeps within the record limit and the byte limit at once") {
      forAll(available, Gen.choose(1L, 2000L), Gen.choose(1L, 500000L)) { (a, records, bytes) =>
        divide(a, Limits(Some(records), Some(bytes)), 3).foreach { allotments =>
          allotments.map(_.maxRecords).sum should be <= records
          allotments.map(_.maxBytes).sum should be <= bytes
        }
      }
    }

    it("alternates between shards if the limit is below one record per shard") {
      // The one without records has no turn.
      val four  = Vector(10, 0, 10, 10).map(records => Available(records.toLong, records.toLong))
      val first = (0L until 3L).map(fairnessOffset =>
        divide(four, Limits(Some(1), None), fairnessOffset).get.indexWhere(_.maxRecords > 0)
      )
      first shouldBe Seq(0, 2, 3)
    }
  }

  private def range(n: Int) = ShardRange(shard(n), TrimHorizon, AfterSequenceNumber(number(1)))

  describe("the number of parts of a range") {
    it("is proportional to its size, and adds up to at least minPartitions") {
      forAll(Gen.listOf(Gen.choose(0L, 1000L)), Gen.choose(1, 100)) { (weights, least) =>
        val ranges = weights.indices.map(range)
        val parts  = RangeSplitting.parts(ranges, r => Some(weights(ranges.indexOf(r))), least)
        parts.map(_._1) shouldBe ranges
        all(parts.map(_._2)) should (be >= 1 and be <= least)
        if (weights.sum > 0) parts.map(_._2).sum should be >= least
        parts.map(_._2).sum should be <= least + weights.size
      }
    }

    it("is one for each of four equal ranges, four for a single one, and one if the size is unknown") {
      RangeSplitting.parts((0 until 4).map(range), _ => Some(100), 4).map(_._2) shouldBe Vector(1, 1, 1, 1)
      RangeSplitting.parts(Seq(range(0)), _ => Some(100), 4).map(_._2) shouldBe Vector(4)
      RangeSplitting.parts(Seq(range(0)), _ => None, 4).map(_._2) shouldBe Vector(1)
    }
  }

  describe("the grouping of ranges into tasks") {

    it("puts every range into one task on its buffer's executor, with at most one task per core") {
      forAll(Gen.choose(0, 100), Gen.choose(1, 5), Gen.choose(1, 8), Gen.choose(0L, 50L << 20)) {
        (ranges, executors, cores, size) =>
          val home   = (r: ShardRange) => Option(executor(r.shard.shardId.takeRight(3).toInt % executors))
          val groups = RangeGrouping.group((0 until ranges).map(range), home, _ => size, _ => cores)
          groups.flatMap(_.ranges).map(_.shard.shardId).sorted shouldBe (0 until ranges).map(shardId)
          for (g <- groups; r <- g.ranges) g.executor shouldBe home(r)
          all(groups.groupBy(_.executor).values.map(_.size)) should be <= cores
      }
    }

    it("makes one task of many small ranges and one task per core of large ones") {
      val ranges = (0 until 100).map(range)
      RangeGrouping.group(ranges, _ => Some(executor(0)), _ => 100, _ => 8).size shouldBe 1
      RangeGrouping.group(ranges, _ => Some(executor(0)), _ => 1 << 20, _ => 8).size shouldBe 8
    }

    it("makes at least minPartitions tasks, if there are so many ranges, and keeps shard order") {
      forAll(Gen.choose(0, 60), Gen.choose(1, 5), Gen.choose(1, 40)) { (ranges, executors, least) =>
        val home   = (r: ShardRange) => Option(executor(r.shard.shardId.takeRight(3).toInt % executors))
        val groups = RangeGrouping.group((0 until ranges).map(range), home, _ => 100, _ => 2, least)
        groups.size should be >= math.min(least, ranges)
        groups.flatMap(_.ranges).map(_.shard.shardId).sorted shouldBe (0 until ranges).map(shardId)
        for (group <- groups) group.ranges.map(_.shard.shardId) shouldBe sorted
        for (own <- groups.groupBy(_.executor).values) own.map(_.ranges.head.shard.shardId) shouldBe sorted
      }
    }

    it("balances by size and gives one large range a task of its own") {
      val groups =
        RangeGrouping.group((0 until 5).map(range), _ => None, r => if (r == range(0)) 40 << 20 else 10 << 20, _ => 2)
      groups.map(_.ranges.size).sorted shouldBe Vector(1, 4)
    }
  }
}
