package io.github.kinesisspark.read.plan

import org.scalacheck.{Gen, Shrink}
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardKey

class ShardAssignmentSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 200)

  // Smaller cases have loads of nothing, which there are not.
  implicit private def asFound[A]: Shrink[A] = Shrink.shrinkAny

  private val Tolerance = 0.2
  private val Keys      = BigInt(1) << 128

  private type Homes = Map[ShardKey, ExecutorId]

  private def executors(ids: Iterable[Int]): Set[ExecutorId] = ids.map(n => ExecutorId(s"host-${n % 3}", s"$n")).toSet

  private def placed(loads: Seq[Double], homes: Homes = Map.empty): Seq[PlacedShard] = loads.zipWithIndex.map {
    case (load, n) => PlacedShard(shard(n), Keys / loads.size * n, load, homes.get(shard(n)))
  }

  private def assign(shards: Seq[PlacedShard], to: Set[ExecutorId]): Homes =
    ShardAssignment.assign(shards, to, Tolerance)

  private def sums(shards: Seq[PlacedShard], homes: Homes): Map[ExecutorId, Double] =
    shards.groupMapReduce(s => homes(s.shard))(_.load)(_ + _)

  private def moved(shards: Seq[PlacedShard], before: Homes, after: Homes): Double =
    shards.filter(s => before(s.shard) != after(s.shard)).map(_.load).sum

  /** What can't be evened out: a shard is read by one executor. */
  private def largestLoad(shards: Seq[PlacedShard]): Double = shards.map(_.load).max

  private val loads = Gen.choose(1, 300).flatMap(n => Gen.listOfN(n, Gen.choose(0.1, 10.0)))
  private val crews = Gen.choose(1, 12)

  it("the shard assignment gives every shard one executor, regardless of the order of shards") {
    forAll(loads, crews) { (loads, crew) =>
      val shards = placed(loads)
      val homes  = assign(shards, executors(0 until crew))
      homes.keySet shouldBe shards.map(_.shard).toSet
      homes.values.toSet.subsetOf(executors(0 until crew)) shouldBe true
      assign(shards.reverse, executors((0 until crew).reverse)) shouldBe homes
    }
    assign(placed(Seq(1)), Set.empty) shouldBe empty
  }

  it("the shard assignment loads no executor by more than the tolerance or one shard above the mean") {
    forAll(loads, crews) { (loads, crew) =>
      val shards = placed(loads)
      val mean   = loads.sum / crew
      val most   = sums(shards, assign(shards, executors(0 until crew))).values.max
      most should be <= math.max(mean * (1 + Tolerance), mean + largestLoad(shards)) + 1e-9
    }
  }

  it("the shard assignment is stable while shards, loads and executors stay the same") {
    forAll(loads, crews) { (loads, crew) =>
      val homes = assign(placed(loads), executors(0 until crew))
      assign(placed(loads, homes), executors(0 until crew)) shouldBe homes
    }
  }

  it("the shard assignment moves to a new executor at most its share, and nothing between the others") {
    forAll(loads, crews) { (loads, crew) =>
      val before = assign(placed(loads), executors(0 until crew))
      val shards = placed(loads, before)
      val after  = assign(shards, executors(0 to crew))
      val comer  = executors(Seq(crew)).head
      moved(shards, before, after) should be <= loads.sum / (crew + 1) + largestLoad(shards) + 1e-9
      if (largestLoad(shards) < loads.sum / (crew + 1) * Tolerance)
        all(shards.filter(s => before(s.shard) != after(s.shard)).map(s => after(s.shard))) shouldBe comer
    }
  }

  it("the shard assignment moves only the shards of a lost executor") {
    forAll(loads, crews) { (loads, crew) =>
      val everybody = executors(0 to crew)
      val before    = assign(placed(loads), everybody)
      val gone      = executors(Seq(0)).head
      val shards    = placed(loads, before)
      val after     = assign(shards, everybody - gone)
      after.values.toSet should not contain gone
      if (largestLoad(shards) < loads.sum / crew * Tolerance)
        all(shards.filter(s => before(s.shard) != after(s.shard)).map(s => before(s.shard))) shouldBe gone
    }
  }

  it("the shard assignment gives a hot shard an executor with few other shards") {
    val loads  = 40.0 +: Seq.fill(40)(1.0)
    val shards = placed(loads)
    val homes  = assign(shards, executors(0 until 4))
    shards.count(s => homes(s.shard) == homes(shard(0))) should be <= 4
  }

  it("the shard assignment keeps hash key neighbours together, and children on their parent's executor") {
    val shards = placed(Seq.fill(256)(1.0))
    val homes  = assign(shards, executors(0 until 4))
    shards.grouped(64).foreach(run => run.map(s => homes(s.shard)).distinct should have size 1)
    val parent   = shards(37)
    val children = Seq(parent.hashStart, parent.hashStart + Keys / 512).zipWithIndex.map { case (start, i) =>
      PlacedShard(shard(1000 + i), start, 0.5, Some(homes(parent.shard)))
    }
    val rest  = placed(Seq.fill(256)(1.0), homes).filterNot(_.shard == parent.shard)
    val after = assign(rest ++ children, executors(0 until 4))
    children.foreach(c => after(c.shard) shouldBe homes(parent.shard))
    rest.foreach(s => after(s.shard) shouldBe homes(s.shard))
  }
}
