package io.github.kinesisspark.testkit.model

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class ArrivalTimesSpec extends AnyFunSpec with Matchers {

  it("arrival times stay in order if the clock is set back") {
    val times = new ArrivalTimes(from = 0, backMillis = 0, seed = 1)
    Vector(1000L, 900L, 1001L).map(times.next) shouldBe Vector(1000, 1000, 1001)
  }

  it("arrival times go back by up to the limit and not before the beginning, as the seed decides") {
    def drawn(seed: Long) = {
      val times = new ArrivalTimes(from = 0, backMillis = 100, seed)
      Vector.tabulate(1000)(i => i.toLong -> times.next(i.toLong))
    }
    drawn(1).foreach { case (now, arrived) =>
      arrived should be <= now
      arrived should be >= math.max(0, now - 100)
    }
    drawn(1).map(_._2).sliding(2).count(pair => pair(1) < pair(0)) should be > 300
    drawn(1) shouldBe drawn(1)
    drawn(1) should not be drawn(2)
  }
}
