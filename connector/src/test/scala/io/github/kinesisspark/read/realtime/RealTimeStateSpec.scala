package io.github.kinesisspark.read.realtime

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.position.KinesisOffset
import io.github.kinesisspark.read.plan.PlanningState
import io.github.kinesisspark.read.realtime.RealTimeState._

class RealTimeStateSpec extends AnyFunSpec with Matchers {
  private val batch   = Batch(PlanningState(KinesisOffset.initial, Map.empty), nanos = 1)
  private val idle    = RealTimeState.begin
  private val running = idle.after(Begins(batch))
  private val ended   = running.after(Stopped)
  private val over    = Ends(isShortOfCores = true, elapsedNanos = 5.seconds.toNanos)

  describe("a real-time batch") {
    it("begins after the one before, or again, and ends once") {
      for (state <- Seq(idle, running)) state.after(Begins(batch)).batch shouldBe batch
      running.after(over).phase shouldBe Idle
      an[IllegalStateException] should be thrownBy running.after(over).after(over)
      the[IllegalStateException] thrownBy idle.batch should have message "no real-time batch was planned"
    }

    it("whose tasks found no core counts towards the shortage of cores when it ends") {
      val after = (1 to 3).foldLeft(idle)((state, _) => state.after(Begins(batch)).after(over))
      after.shortage.isLasting shouldBe true
      running.shortage shouldBe CoreShortage.none
    }
  }

  describe("a source that is stopped") {
    it("may be stopped in each phase, and twice, and begins and ends no batch after that") {
      for (state <- Seq(idle, running, ended)) state.after(Stopped).phase shouldBe Ended
      for (call <- Seq(Begins(batch), over)) an[IllegalStateException] should be thrownBy ended.after(call)
    }
  }
}
