package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.runtime.VirtualTime

/** How often an idle source plans beside another one, on a clock that the test moves. */
class IdlePaceSpec extends AnyFunSpec with Matchers {

  /** How many plannings a minute has, and what share of it they take, of as much work each. */
  private def minute(work: FiniteDuration): (Int, Double) = {
    val time  = new VirtualTime
    var pace  = IdlePace.begin
    var count = 0
    while (time.elapsed < 1.minute) {
      val began = time.elapsed
      time.pass(work)
      pace = pace.after((time.elapsed - began).toNanos)
      time.pass(pace.pause + IdlePace.SparkWaits)
      count += 1
    }
    count -> work * count.toDouble / time.elapsed
  }

  describe("an idle source beside another one") {
    it("holds up nobody while a planning costs next to nothing") {
      IdlePace.begin.after(1.milli.toNanos).after(1.milli.toNanos).pause shouldBe Duration.Zero
      minute(100.micros)._1 should be > 5900
    }

    for (work <- Seq(2.millis, 20.millis, 100.millis))
      it(s"plans for a tenth of the time where a planning takes $work") {
        minute(work)._2 should (be > 0.09 and be < 0.11)
      }

    it("plans at least once a second beside what plannings take") {
      minute(500.millis)._1 shouldBe 40 +- 2
    }
  }

  it("a single planning that takes long doesn't hold up the next") {
    IdlePace.begin.after(1.second.toNanos).pause shouldBe Duration.Zero
    IdlePace.begin.after(1.second.toNanos).after(0).pause shouldBe Duration.Zero
  }
}
