package io.github.kinesisspark.read.stream

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.position.{KinesisOffset, StreamOffset}
import io.github.kinesisspark.Generators.stream
import io.github.kinesisspark.read.plan.PlannedBatch
import io.github.kinesisspark.read.stream.BatchState._

class BatchStateSpec extends AnyFunSpec with Matchers {
  private def offset(n: Long) = KinesisSourceOffset(KinesisOffset(Map(stream -> StreamOffset(n, Nil))))
  private val planned         = Batch(offset(1), offset(2), PlannedBatch(Map.empty), None)
  private val made            = planned.copy(tasks = Some(Vector.empty))
  private val other           = Batch.ofLog(offset(0), offset(1)).copy(tasks = Some(Vector.empty))
  private val recovered       = BatchState.begin
  private val idle            = Idle(hadBatch = false)
  private val running         = Running(planned, hadBatch = false)

  private def refused(state: BatchState, call: Call) =
    an[IllegalStateException] should be thrownBy state.after(call)

  describe("a planning") {
    it("that finds nothing leaves no batch, and that finds one makes it the batch that runs") {
      for (state <- Seq(recovered, idle, running)) {
        state.after(NothingFound) shouldBe idle
        state.after(Planned(planned)) shouldBe running
      }
    }

    it("after the source was stopped is refused, as is a commit") {
      refused(Ended, NothingFound)
      refused(Ended, Planned(planned))
      refused(Ended, Committed)
    }
  }

  describe("a batch's tasks") {
    it("are kept for as long as the batch runs") {
      running.after(TasksMade(made)).of(offset(1), offset(2)) shouldBe made
    }

    it("come before the first planning where a run begins with a batch of the log") {
      recovered.after(TasksMade(other)) shouldBe Running(other, hadBatch = false)
    }

    it("of another batch leave the one that runs, and are made of the log each time") {
      for (state <- Seq(idle, running, Ended)) state.after(TasksMade(other)) shouldBe state
      running.of(offset(0), offset(1)) shouldBe Batch.ofLog(offset(0), offset(1))
    }
  }

  describe("a commit") {
    it("is known until the next planning") {
      for (state <- Seq(recovered, idle, running)) {
        state.hadBatch shouldBe false
        val after = state.after(Committed)
        after.hadBatch shouldBe true
        after.after(NothingFound).hadBatch shouldBe false
        after.after(Planned(planned)).hadBatch shouldBe false
      }
    }

    it("leaves the batch that runs and its tasks") {
      running.after(Committed).of(offset(1), offset(2)) shouldBe planned
      running.after(Committed).after(TasksMade(made)).after(Committed).of(offset(1), offset(2)) shouldBe made
    }
  }

  describe("a source that is stopped") {
    it("may be stopped in each state, and twice") {
      for (state <- Seq(recovered, idle, running, Ended)) state.after(Stopped) shouldBe Ended
    }
  }
}
