package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.read.plan.ExecutorId

class FailingExecutorsSpec extends AnyFunSpec with Matchers {
  private val Seq(one, two) = Seq("1", "2").map(ExecutorId("host", _)): @unchecked
  private val both          = ExecutorsNow.all(Set(one, two))
  private val error         = new OutOfMemoryError("as planned")

  private def failed(at: FiniteDuration*) =
    at.foldLeft(FailingExecutors.none)((before, time) => before.failed(one, OrderFailure.Thrown(error), time.toNanos))
  private def usable(of: FailingExecutors, at: FiniteDuration) = of.spared(both, at.toNanos).map(_.usable)

  describe("an executor that fails") {
    it("reads nothing for a minute while another is there, and longer each time it fails after that") {
      usable(failed(0.seconds), at = 59.seconds) shouldBe Right(Set(two))
      usable(failed(0.seconds), at = 60.seconds) shouldBe Right(Set(one, two))
      val failedTwice = failed(0.seconds, 61.seconds)
      usable(failedTwice, at = 180.seconds) shouldBe Right(Set(two))
      usable(failedTwice, at = 181.seconds) shouldBe Right(Set(one, two))
    }

    it("rests no longer for failing again while it rests") {
      usable(failed(0.seconds, 30.seconds), at = 60.seconds) shouldBe Right(Set(one, two))
    }

    it("is asked again a second after its last failure") {
      failed(0.seconds, 5.seconds).mayBeOrdered(one, 6.seconds.toNanos) shouldBe false
      failed(0.seconds, 5.seconds).mayBeOrdered(one, 6.seconds.toNanos + 1) shouldBe true
    }

    it("without an answer is asked again after its rest, or once it has carried out what it was asked before") {
      val slow = FailingExecutors.none.failed(one, OrderFailure.Unanswered, 0)
      usable(slow, at = 59.seconds) shouldBe Right(Set(two))
      slow.mayBeOrdered(one, 59.seconds.toNanos) shouldBe false
      slow.mayBeOrdered(one, 60.seconds.toNanos) shouldBe true
      slow.answered(Set(two)) shouldBe slow
      slow.answered(Set(one)) shouldBe FailingExecutors.none
      failed(0.seconds).answered(Set(one)) shouldBe failed(0.seconds)
    }

    it("is forgotten when it is gone") {
      failed(0.seconds).keepOnly(Set(two)) shouldBe FailingExecutors.none
    }
  }

  describe("while executors fail") {
    it("one reads that answers and is not usable otherwise, rather than none") {
      val busy = both.copy(usable = Set(one))
      failed(0.seconds).spared(busy, 1) shouldBe Right(busy.copy(usable = Set(two)))
    }

    it(
      "one reads that is only slow, if the others are broken, and none of them is the query's failure if all are slow"
    ) {
      val slow = FailingExecutors.none.failed(one, OrderFailure.Unanswered, 0)
      slow.failed(two, OrderFailure.Thrown(error), 0).spared(both, 1).map(_.usable) shouldBe Right(Set(one))
      slow.failed(two, OrderFailure.Unanswered, 0).spared(both, 1) shouldBe Right(both)
    }

    it("one reads that doesn't answer, as long as Spark has it") {
      val silent = both.copy(usable = Set(one), answering = Set(one))
      failed(0.seconds).spared(silent, 1).map(_.usable) shouldBe Right(Set(two))
      failed(0.seconds).spared(ExecutorsNow.all(Set(one)), 1) shouldBe Left(error)
    }

    it("and none is left, the latest failure is the query's") {
      val last = new NoClassDefFoundError("as planned")
      failed(0.seconds)
        .failed(two, OrderFailure.Thrown(last), 5.seconds.toNanos)
        .spared(both, 6.seconds.toNanos) shouldBe Left(last)
    }
  }
}
