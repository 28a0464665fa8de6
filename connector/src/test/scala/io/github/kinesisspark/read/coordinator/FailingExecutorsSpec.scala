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
    at.foldLeft(FailingExecutors.none)((before, time) => before.failed(one, error, time.toNanos))
  private def usable(of: FailingExecutors, at: FiniteDuration) = of.spared(both, at.toNanos).map(_.usable)

  describe("an executor that fails") {
    it("reads nothing for a minute while another is there, and longer each time it fails after that") {
      usable(failed(0.seconds), at = 59.seconds) shouldBe Right(Set(two))
      usable(failed(0.seconds), at = 60.seconds) shouldBe Right(Set(one, two))
      val again = failed(0.seconds, 61.seconds)
      usable(again, at = 180.seconds) shouldBe Right(Set(two))
      usable(again, at = 181.seconds) shouldBe Right(Set(one, two))
    }

    it("rests no longer for failing again while it rests") {
      usable(failed(0.seconds, 30.seconds), at = 60.seconds) shouldBe Right(Set(one, two))
    }

    it("is asked again a second after its last failure") {
      failed(0.seconds, 5.seconds).mayBeOrdered(one, 6.seconds.toNanos) shouldBe false
      failed(0.seconds, 5.seconds).mayBeOrdered(one, 6.seconds.toNanos + 1) shouldBe true
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

    it("and none is left, the latest failure is the query's") {
      val last = new NoClassDefFoundError("as planned")
      failed(0.seconds).failed(two, last, 5.seconds.toNanos).spared(both, 6.seconds.toNanos) shouldBe Left(last)
    }
  }
}
