package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.read.coordinator.ExecutorHealth.ExecutorState
import io.github.kinesisspark.read.plan.ExecutorId

class ExecutorHealthSpec extends AnyFunSpec with Matchers {
  private def id(n: Int)                        = ExecutorId("host", n.toString)
  private def ids(some: Int*): Set[ExecutorId]  = some.map(id).toSet
  private def state(n: Int, freeSlots: Int = 1) =
    ExecutorState(id(n), isExcluded = false, isLeaving = false, freeSlots)

  /** Executor 1 has a free slot; executor 2 is looked at every 500 ms, and its free slots are those of the second. */
  private def usableAfter(freeSlots: Int*): Set[ExecutorId] = {
    val looks = freeSlots.zipWithIndex.flatMap { case (free, second) =>
      Seq(free -> second * 1000, free -> (second * 1000 + 500))
    }
    val health = looks.foldLeft(ExecutorHealth.unknown) { case (before, (free, millis)) =>
      before.look(Vector(state(1), state(2, free)), millis.millis.toNanos)
    }
    health.usable(Vector(state(1), state(2, freeSlots.last)), ids(1, 2))
  }

  describe("an executor") {
    it("is usable while it answers and runs tasks") {
      ExecutorHealth.unknown.usable(Vector(state(1), state(2)), ids(1, 2)) shouldBe ids(1, 2)
    }

    it("is not usable while it doesn't answer, is excluded or is leaving") {
      ExecutorHealth.unknown.usable(Vector(state(1), state(2)), ids(1)) shouldBe ids(1)
      ExecutorHealth.unknown.usable(Vector(state(1), state(2).copy(isExcluded = true)), ids(1, 2)) shouldBe ids(1)
      ExecutorHealth.unknown.usable(Vector(state(1), state(2).copy(isLeaving = true)), ids(1, 2)) shouldBe ids(1)
    }

    it("stays usable while its slots are taken for less than 3 seconds") {
      usableAfter(1, 0, 0, 0) shouldBe ids(1, 2)
      usableAfter(0, 0, 1, 0, 0) shouldBe ids(1, 2)
    }

    it("stays usable while few looks far apart find its slots taken: they say nothing of the time between") {
      def usableAfterLooks(looks: Int) = {
        val health = (0 until looks).foldLeft(ExecutorHealth.unknown) { (before, look) =>
          before.look(Vector(state(1), state(2, freeSlots = 0)), (look * 10).seconds.toNanos)
        }
        health.usable(Vector(state(1), state(2, freeSlots = 0)), ids(1, 2))
      }
      usableAfterLooks(4) shouldBe ids(1, 2)
      usableAfterLooks(5) shouldBe ids(1)
    }

    it("is not usable after its slots were taken at every look for 3 seconds") {
      usableAfter(1, 0, 0, 0, 0) shouldBe ids(1)
    }

    it("is usable again after 30 seconds with a free slot, and not before") {
      val taken = Seq.fill(5)(0)
      usableAfter(taken ++ Seq.fill(30)(1): _*) shouldBe ids(1)
      usableAfter(taken ++ Seq.fill(31)(1): _*) shouldBe ids(1, 2)
      usableAfter(taken ++ Seq.fill(20)(1) ++ Seq(0) ++ Seq.fill(20)(1): _*) shouldBe ids(1)
    }
  }

  describe("executors none of which is fit") {
    it("are usable in this order: those with taken slots, those that answer, all") {
      val taken = (0 to 4).foldLeft(ExecutorHealth.unknown)((before, second) =>
        before.look(Vector(state(1, freeSlots = 0), state(2, freeSlots = 0)), second.seconds.toNanos)
      )
      val excluded = state(2, freeSlots = 0).copy(isExcluded = true)
      taken.usable(Vector(state(1, freeSlots = 0), excluded), ids(1, 2)) shouldBe ids(1)
      taken.usable(Vector(state(1, freeSlots = 0), excluded), ids(2)) shouldBe ids(2)
      taken.usable(Vector(state(1, freeSlots = 0), excluded), Set.empty) shouldBe ids(1, 2)
    }
  }
}
