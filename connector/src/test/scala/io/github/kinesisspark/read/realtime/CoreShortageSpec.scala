package io.github.kinesisspark.read.realtime

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class CoreShortageSpec extends AnyFunSpec with Matchers {
  private def after(batches: (Boolean, FiniteDuration)*): CoreShortage = batches.foldLeft(CoreShortage.none) {
    case (sofar, (isShort, lasted)) => sofar.and(isShort, lasted.toNanos)
  }

  private def times(n: Int)(batches: (Boolean, FiniteDuration)*) = Seq.fill(n)(batches).flatten

  it("a shortage of cores lasts after three batches with too few, of at least ten seconds in all") {
    after(times(3)(true -> 4.seconds): _*).isLasting shouldBe true
    after(times(2)(true -> 1.hour): _*).isLasting shouldBe false
    after(times(9)(true -> 1.second): _*).isLasting shouldBe false
    after(times(10)(true -> 1.second): _*).isLasting shouldBe true
  }

  it("a shortage of cores lasts if fewer batches had enough cores than had too few, and not if equally many had") {
    after(times(15)(true -> 2.seconds, true -> 2.seconds, false -> 2.seconds): _*).isLasting shouldBe true
    after(times(1000)(true -> 2.seconds, false -> 2.seconds): _*).isLasting shouldBe false
  }

  it("a shortage of cores is over after as many batches with enough cores as with too few") {
    after(times(100)(true -> 1.second) ++ times(100)(false -> 1.second): _*) shouldBe CoreShortage.none
  }
}
