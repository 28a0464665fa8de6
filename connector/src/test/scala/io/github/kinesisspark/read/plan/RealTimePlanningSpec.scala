package io.github.kinesisspark.read.plan

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.plan.RealTimeTasks.Placed

class RealTimePlanningSpec extends AnyFunSpec with Matchers with AfterNumbers with ScalaCheckPropertyChecks {
  private def executor(n: Int) = ExecutorId(s"host-$n", s"$n")

  private def shardOf(n: Int, parents: Int*) =
    Shard(shardId(n), parents.map(shardId), HashKeyRange(n, n), closed = false)

  describe("tasks of a real-time batch") {
    val placed = for {
      homes <- Gen.listOf(Gen.choose(0, 3))
      keys  <- Gen.listOfN(homes.size, Gen.choose(0, 1000))
    } yield homes.zip(keys).zipWithIndex.map { case ((home, key), n) => Placed(shard(n), key, Some(executor(home))) }

    it("hold each shard once on its reader's executor, with at most one task per slot") {
      forAll(placed, Gen.choose(1, 8)) { (shards, slots) =>
        val tasks = RealTimeTasks.plan(shards, slots, most = Int.MaxValue)
        tasks.flatMap(t => t.shards.map(_ -> t.executor)).sortBy(_._1.shardId) shouldBe
          shards.map(s => s.shard -> s.home).sortBy(_._1.shardId)
        tasks.groupBy(_.executor).values.foreach(_.size should be <= slots)
        tasks.foreach(_.shards should not be empty)
      }
    }

    it("use all slots evenly, with shards in hash key order") {
      forAll(placed, Gen.choose(1, 8)) { (shards, slots) =>
        RealTimeTasks.plan(shards, slots, most = Int.MaxValue).groupBy(_.executor).foreach { case (home, tasks) =>
          val own = shards.filter(_.home == home).sortBy(s => (s.hashStart, s.shard.shardId)).map(_.shard)
          tasks should have size slots.min(own.size).toLong
          tasks.map(_.shards.size).max - tasks.map(_.shards.size).min should be <= 1
          tasks.flatMap(_.shards) shouldBe own
        }
      }
    }
  }

  describe("tasks of a real-time batch without readers") {
    it("are one, where no core is left to them") {
      val shards = Vector.tabulate(8)(n => Placed(shard(n), n, None))
      RealTimeTasks.plan(shards, slots = 2, most = 0).map(_.shards) shouldBe Vector(shards.map(_.shard))
    }

    it("may use the cores of all executors") {
      val shards = Vector.tabulate(8)(n => Placed(shard(n), n, None))
      RealTimeTasks.plan(shards, slots = 2, most = 6) should have size 6
    }
  }

  describe("tasks of a real-time batch beside stages behind a shuffle") {
    it(
      "are at most as many as there are cores for them, but one on each executor with shards, and hold each shard once"
    ) {
      val placed = for {
        homes <- Gen.nonEmptyListOf(Gen.choose(0, 3))
      } yield homes.zipWithIndex.map { case (home, n) => Placed(shard(n), n, Some(executor(home))) }
      forAll(placed, Gen.choose(1, 8), Gen.choose(-2, 20)) { (shards, slots, most) =>
        val tasks = RealTimeTasks.plan(shards, slots, most)
        val homes = shards.map(_.home).distinct.size
        tasks.size should be <= most.max(homes)
        tasks.size should be >= most.min(shards.groupBy(_.home).values.map(_.size.min(slots)).sum)
        tasks.flatMap(_.shards).sortBy(_.shardId) shouldBe shards.map(_.shard).sortBy(_.shardId)
      }
    }
  }

  describe("the successors of a shard that ends in a real-time task") {
    it("are both children of a split") {
      val (next, begun) = ChildHandover(Set.empty).end(shard(0), Seq(shardOf(1, 0), shardOf(2, 0)))
      begun.map(_._1) shouldBe Vector(shard(1), shard(2))
      next.end(shard(1), Nil)._2 shouldBe empty
    }

    it("are the child of a merge once, after its second parent in either order") {
      for (order <- Seq(Seq(0, 1), Seq(1, 0))) {
        val child          = shardOf(2, 0, 1)
        val (first, early) = ChildHandover(Set.empty).end(shard(order.head), Seq(child))
        early shouldBe empty
        val (second, begun) = first.end(shard(order.last), Seq(child))
        begun.map(_._1) shouldBe Vector(shard(2))
        second.end(shard(2), Nil)._2 shouldBe empty
      }
    }

    it("are the child of a merge if the other parent ended before or named it first") {
      ChildHandover(Set(shard(0))).end(shard(1), Seq(shardOf(2, 0, 1)))._2.map(_._1) shouldBe Vector(shard(2))
      val (first, _) = ChildHandover(Set.empty).end(shard(0), Seq(shardOf(2, 0, 1)))
      first.end(shard(1), Nil)._2.map(_._1) shouldBe Vector(shard(2))
    }

    it("leave out children with a parent in another task and shards without parents") {
      ChildHandover(Set.empty).end(shard(1), Seq(shardOf(2, 0, 1), shardOf(3)))._2 shouldBe empty
    }

    it("include grandchildren") {
      val (next, _) = ChildHandover(Set.empty).end(shard(0), Seq(shardOf(1, 0), shardOf(2, 0)))
      next.end(shard(1), Seq(shardOf(3, 1)))._2.map(_._1) shouldBe Vector(shard(3))
    }
  }

  describe("a position that names a child beside its parent") {
    it("has the child read beside it until the parent ends") {
      def of(parent: ShardPosition) = PlanningState(
        KinesisOffset(
          Map(
            stream -> StreamOffset(
              1L,
              Seq(0 -> parent, 1 -> after(7), 2 -> TrimHorizon).map { case (n, p) =>
                shardId(n) -> ShardProgress(p)
              }
            )
          )
        ),
        Map(stream -> PlanningState.Stream(1L, Lineage(Seq(shardOf(0), shardOf(1, 0), shardOf(2))), Vector.empty))
      )
      of(after(5)).besideParents shouldBe Set(shard(1))
      of(ShardEnd).besideParents shouldBe empty
    }
  }

  describe("a position that names a grandchild beside an unfinished shard") {
    it("has nothing between them read") {
      val start = KinesisOffset(
        Map(
          stream -> StreamOffset(
            1L,
            Seq(0 -> after(5), 2 -> after(7)).map { case (n, p) => shardId(n) -> ShardProgress(p) }
          )
        )
      )
      val listed = Lineage(Seq(shardOf(0), shardOf(1, 0), shardOf(2, 1), shardOf(3, 2)))
      PlanningState(start, Map(stream -> PlanningState.Stream(1L, listed, Vector.empty))).besideParents shouldBe
        Set(shard(1), shard(2))
    }
  }

  describe("the offset after a real-time batch") {
    val created                           = 1000L
    def at(shards: (Int, ShardProgress)*) =
      KinesisOffset(Map(stream -> StreamOffset(created, shards.map { case (n, p) => shardId(n) -> p })))
    def planning(start: KinesisOffset, listed: Shard*) =
      PlanningState(start, Map(stream -> PlanningState.Stream(created, Lineage(listed), Vector.empty)))

    it("holds started children with their start, so that the batch can be replayed") {
      val start = at(0 -> ShardProgress(after(5)))
      val end   = planning(start, shardOf(0)).end(
        Map(shard(0) -> ShardEnd, shard(1) -> after(7), shard(2) -> TrimHorizon),
        begun = Set(shard(1), shard(2))
      )
      end shouldBe at(
        0 -> ShardProgress(ShardEnd),
        1 -> ShardProgress(after(7), Some(TrimHorizon)),
        2 -> ShardProgress(TrimHorizon, Some(TrimHorizon))
      )
      start.rangesTo(end) should contain theSameElementsAs Seq(
        ShardRange(shard(0), after(5), ShardEnd),
        ShardRange(shard(1), TrimHorizon, after(7))
      )
    }

    it("lets the next planning continue with the children and drop the parents") {
      val start = at(0 -> ShardProgress(after(5)))
      val end   =
        planning(start, shardOf(0)).end(Map(shard(0) -> ShardEnd, shard(1) -> after(7)), Set(shard(1), shard(2)))
      val next = planning(end, shardOf(0), shardOf(1, 0), shardOf(2, 0))
      next.reading shouldBe Map(shard(1) -> after(7), shard(2) -> TrimHorizon)
      next.pastRetention shouldBe empty
      next.end(Map.empty) shouldBe at(1 -> ShardProgress(after(7)), 2 -> ShardProgress(TrimHorizon))
    }

    it("keeps the position of shards that no task reports on") {
      val start = at(0 -> ShardProgress(after(5)), 1 -> ShardProgress(TrimHorizon))
      planning(start, shardOf(0), shardOf(1)).end(Map(shard(0) -> after(6))) shouldBe
        at(0 -> ShardProgress(after(6)), 1 -> ShardProgress(TrimHorizon))
    }
  }
}
