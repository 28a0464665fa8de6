package io.github.kinesisspark.read.reader

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class DriverClockSpec extends AnyFunSpec with Matchers {
  describe("the driver's time in an executor") {
    it("is that of the message that was sent last, whichever comes last") {
      val clock = new DriverClock
      clock.update(driverNanos = 5100, nowNanos = 100)
      clock.update(driverNanos = 5050, nowNanos = 110)
      clock.at(120) shouldBe 5120
      clock.update(driverNanos = 5110, nowNanos = 130)
      clock.at(140) shouldBe 5120
    }
  }
}
