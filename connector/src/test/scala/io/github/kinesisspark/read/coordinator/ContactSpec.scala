package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.read.plan.ExecutorId

class ContactSpec extends AnyFunSpec with Matchers {
  private def beats(n: Int)(pulse: Pulse)    = (1 to n).foldLeft(pulse)((before, _) => before.beat)
  private def executors(ids: Int*)           = ids.map(n => ExecutorId("host", n.toString)).toSet
  private def at(time: FiniteDuration): Long = time.toNanos
  private def isDue(placement: Placement, ids: Int*)(time: FiniteDuration) =
    placement.isDue(executors(ids: _*), at(time))

  describe("an executor") {
    it("answers until it has missed four heartbeats in a row") {
      beats(4)(Pulse.first).answers shouldBe true
      beats(5)(Pulse.first).answers shouldBe false
      beats(3)(beats(4)(Pulse.first).ended(isAnswered = true)).answers shouldBe true
    }

    it("has no more than one heartbeat on its way") {
      Pulse.first.beat.isAsked shouldBe true
      Pulse.first.beat.ended(isAnswered = true).isAsked shouldBe false
    }

    it("is due one at a time, and again where the end of one was not heard") {
      Pulse.first.isDue shouldBe true
      (1 to 30).map(n => beats(n)(Pulse.first).isDue) shouldBe Seq.fill(30)(false)
      beats(31)(Pulse.first).isDue shouldBe true
      beats(32)(Pulse.first).isDue shouldBe false
    }

    it("answers again after one heartbeat") {
      beats(9)(Pulse.first).ended(isAnswered = true).answers shouldBe true
    }

    it("has been there all the time if it has answered four heartbeats since, and the last ones") {
      def answered(n: Int) = (1 to n).foldLeft(Pulse.first)((before, _) => before.beat.ended(isAnswered = true))
      answered(3).hasAnsweredSince(Pulse.first) shouldBe false
      answered(4).hasAnsweredSince(Pulse.first) shouldBe true
      answered(6).hasAnsweredSince(answered(3)) shouldBe false
      beats(5)(answered(4)).hasAnsweredSince(Pulse.first) shouldBe false
    }

    it("doesn't answer after four heartbeats that failed at once") {
      val failed = (1 to 4).foldLeft(Pulse.first)((before, _) => before.beat.ended(isAnswered = false))
      failed.answers shouldBe false
    }
  }

  describe("the job that connects executors") {
    val first = Placement.none.start(executors(1, 2), at(0.seconds))
    val ended = first.end(isFailed = false, at(1.second))

    it("is due at once for executors that are new, and not while another runs") {
      isDue(Placement.none, 1, 2)(0.seconds) shouldBe true
      isDue(first, 3)(1.second) shouldBe false
      isDue(ended, 3)(1.second) shouldBe true
      isDue(ended)(1.hour) shouldBe false
    }

    it("is due again for the same executors after pauses that grow to a minute") {
      isDue(ended, 2)(2.seconds) shouldBe false
      isDue(ended, 2)(4.seconds) shouldBe true
      val later = (1 to 10).foldLeft(ended)((before, _) => before.start(executors(2), 0).end(isFailed = false, 0))
      isDue(later, 2)(59.seconds) shouldBe false
      isDue(later, 2)(61.seconds) shouldBe true
    }

    it("is awaited while no executor is connected, and two seconds for all of them when it is the first") {
      first.isAwaited(connected = 0, all = 2, isExclusive = false, at(1.hour)) shouldBe true
      first.isAwaited(connected = 1, all = 2, isExclusive = false, at(1.second)) shouldBe true
      first.isAwaited(connected = 1, all = 2, isExclusive = false, at(3.seconds)) shouldBe false
      first.isAwaited(connected = 2, all = 2, isExclusive = false, at(1.second)) shouldBe false
      ended.isAwaited(connected = 0, all = 2, isExclusive = false, at(1.second)) shouldBe false
      ended
        .start(executors(3), at(2.seconds))
        .isAwaited(connected = 1, all = 2, isExclusive = false, at(2.seconds)) shouldBe false
    }

    it("is awaited for ten seconds where no other job may run, though others are connected") {
      val second                           = ended.start(executors(3), at(1.minute))
      def isAwaited(after: FiniteDuration) =
        second.isAwaited(connected = 2, all = 3, isExclusive = true, at(1.minute + after))
      isAwaited(9.seconds) shouldBe true
      isAwaited(11.seconds) shouldBe false
    }

    it("is hopeless after three failures in a row") {
      val twice = (1 to 2).foldLeft(first)((before, _) => before.end(isFailed = true, 0))
      twice.isHopeless shouldBe false
      twice.end(isFailed = true, 0).isHopeless shouldBe true
      twice.end(isFailed = false, 0).end(isFailed = true, 0).isHopeless shouldBe false
    }
  }
}
