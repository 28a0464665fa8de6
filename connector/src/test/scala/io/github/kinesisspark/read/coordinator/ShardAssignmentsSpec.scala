package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardPosition.TrimHorizon
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.plan.{ExecutorId, Lineage, PlanningState}

class ShardAssignmentsSpec extends AnyFunSpec with Matchers {
  private val Buffer = 256L << 20
  private val Cores  = 2

  private def executors(ids: Int*): Set[ExecutorId] = ids.map(n => ExecutorId("host", n.toString)).toSet
  private def executor(id: Int): ExecutorId         = executors(id).head
  private val shards                                = (0 until 12).map(shard)

  private val keys     = BigInt(1) << 128
  private val planning = {
    val listing = shards.zipWithIndex.map { case (s, n) =>
      Shard(s.shardId, Nil, HashKeyRange(keys / 12 * n, keys / 12 * (n + 1) - 1), closed = false)
    }
    val initialPositions = listing.map(_.id -> TrimHorizon).toVector
    PlanningState(KinesisOffset.initial, Map(stream -> PlanningState.Stream(1L, Lineage(listing), initialPositions)))
  }

  /** A planning: the readers are asked, and those of `deaf` don't answer. Returns who was asked. */
  private def plan(
      homes: ShardAssignments,
      alive: Set[ExecutorId],
      at: FiniteDuration,
      deaf: Set[ExecutorId] = Set.empty
  ) = {
    homes.settle(planning, shards, ExecutorsNow.all(alive), Cores, at.toNanos)
    shards.foreach(s => homes.of(s).exists(alive) shouldBe true)
    val asked = homes.holding
    homes.acknowledged(asked -- deaf)
    asked
  }

  private def readers(homes: ShardAssignments): Set[ExecutorId] = shards.flatMap(homes.of).toSet

  describe("shard assignment with a fixed number of executors") {
    it("gives shards to every executor, and stops asking an executor that is lost") {
      val homes = new ShardAssignments(idleTimeout = None, Buffer)
      plan(homes, executors(1, 2, 3), at = 0.seconds) shouldBe executors(1, 2, 3)
      readers(homes) shouldBe executors(1, 2, 3)
      plan(homes, executors(1, 3), at = 1.second) shouldBe executors(1, 3)
    }

    it("moves shards under a large load after two minutes, and not within a second") {
      val homes = new ShardAssignments(idleTimeout = None, Buffer)
      plan(homes, executors(1, 2), at = 0.seconds)
      val before  = shards.map(homes.of)
      val hot     = shards.filter(homes.of(_).contains(executor(1)))
      def weigh() = homes.weigh(shards.map(s => s -> (if (hot.contains(s)) 100L << 20 else 0L)).toMap, nowNanos = 0)
      weigh()
      plan(homes, executors(1, 2), at = 1.second)
      shards.map(homes.of) shouldBe before
      plan(homes, executors(1, 2), at = 2.minutes)
      val moved = hot.filter(homes.of(_).contains(executor(2)))
      moved should not be empty
      moved.size should be < hot.size
    }
  }

  describe("shard assignment with an executor that is not usable") {
    val three = executors(1, 2, 3)

    def settle(homes: ShardAssignments, usable: Set[ExecutorId], answering: Set[ExecutorId]): Set[ExecutorId] = {
      homes.settle(planning, shards, ExecutorsNow(usable, answering, three), Cores, nowNanos = 0)
      val asked = homes.holding.intersect(answering)
      homes.acknowledged(asked)
      asked
    }

    it("moves its shards to the others and asks it once more when it answers") {
      val homes = new ShardAssignments(idleTimeout = None, Buffer)
      settle(homes, three, three) shouldBe three
      settle(homes, executors(1, 2), three) shouldBe three
      readers(homes) shouldBe executors(1, 2)
      settle(homes, executors(1, 2), three) shouldBe executors(1, 2)
    }

    it("asks a silent one when it answers again, so that its readers end") {
      val homes = new ShardAssignments(idleTimeout = None, Buffer)
      settle(homes, three, three) shouldBe three
      settle(homes, executors(1, 2), executors(1, 2)) shouldBe executors(1, 2)
      homes.holding shouldBe three
      settle(homes, executors(1, 2), three) shouldBe three
      settle(homes, executors(1, 2), three) shouldBe executors(1, 2)
    }
  }

  describe("shard assignment with dynamic allocation") {
    def homes = new ShardAssignments(idleTimeout = Some(1.minute), Buffer)

    it("uses one executor while there is no load") {
      val idle = homes
      plan(idle, executors(1, 2, 3), at = 0.seconds) should have size 1
      plan(idle, executors(1, 2, 3), at = 1.second) should have size 1
    }

    it(
      "adds readers at once under load, and asks a removed reader until it has answered"
    ) {
      val busy = homes
      plan(busy, executors(1, 2), at = 0.seconds)
      busy.weigh(shards.map(_ -> (1L << 20)).toMap, nowNanos = 1.second.toNanos)
      plan(busy, executors(1, 2), at = 1.second) shouldBe executors(1, 2)
      readers(busy) shouldBe executors(1, 2)
      // Quiet again: it shrinks after a minute of that.
      plan(busy, executors(1, 2), at = 20.seconds) should have size 2
      val deaf = executors(1, 2)
      plan(busy, executors(1, 2), at = 81.seconds, deaf) shouldBe executors(1, 2)
      readers(busy) should have size 1
      plan(busy, executors(1, 2), at = 82.seconds) shouldBe executors(1, 2)
      plan(busy, executors(1, 2), at = 83.seconds) shouldBe readers(busy)
    }
  }
}
