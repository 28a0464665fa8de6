package io.github.kinesisspark.read.realtime

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class StarvationSpec extends AnyFunSpec with Matchers {
  private def after(batches: (Boolean, FiniteDuration)*): Starvation = batches.foldLeft(Starvation.none) {
    case (sofar, (starved, lasted)) => sofar.and(starved, lasted.toNanos)
  }

  private def times(n: Int)(batches: (Boolean, FiniteDuration)*) = Seq.fill(n)(batches).flatten

  it("starvation lasts if three batches of at least ten seconds in all were starved") {
    after(times(3)(true -> 4.seconds): _*).isLasting shouldBe true
    after(times(2)(true -> 1.hour): _*).isLasting shouldBe false
    after(times(9)(true -> 1.second): _*).isLasting shouldBe false
    after(times(10)(true -> 1.second): _*).isLasting shouldBe true
  }

  it("starvation lasts if fewer batches were sufficient than starved, and not if equally many were") {
    after(times(15)(true -> 2.seconds, true -> 2.seconds, false -> 2.seconds): _*).isLasting shouldBe true
    after(times(1000)(true -> 2.seconds, false -> 2.seconds): _*).isLasting shouldBe false
  }

  it("starvation is reset after as many sufficient batches as starved ones") {
    after(times(100)(true -> 1.second) ++ times(100)(false -> 1.second): _*) shouldBe Starvation.none
  }
}
