package io.github.kinesisspark.read.catalog

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class ServiceTimesSpec extends AnyFunSpec with Matchers {
  private def nanos(since: FiniteDuration) = since.toNanos

  private val begun = ServiceTimes.none.answered(1000000, nanos(10.seconds))

  describe("the service's clock by its answers") {
    it("continues by the driver's, before and after an answer") {
      begun.at(nanos(10.seconds)) shouldBe 1000000L
      begun.at(nanos(12.seconds)) shouldBe 1002000L
      begun.at(nanos(8.seconds)) shouldBe 998000L
    }

    it("is as the newest answer has it") {
      val corrected = begun.answered(1009000, nanos(20.seconds))
      corrected.at(nanos(21.seconds)) shouldBe 1010000L
      corrected.at(nanos(19.seconds)) shouldBe 1008000L
    }

    it("is as the answers before had it for times before an answer that came after the driver's machine has slept") {
      val awake = begun.answered(1010000, nanos(20.seconds)).answered(4620000, nanos(30.seconds))
      awake.at(nanos(29.seconds)) shouldBe 1019000L
      awake.at(nanos(30.seconds)) shouldBe 4620000L
      val later = awake.answered(4630000, nanos(40.seconds))
      later.at(nanos(29.seconds)) shouldBe 1019000L
      later.at(nanos(39.seconds)) shouldBe 4629000L
    }
  }
}
