package io.github.kinesisspark.read.stream

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.position.{KinesisOffset, StreamOffset}
import io.github.kinesisspark.Generators.stream
import io.github.kinesisspark.read.plan.{Bounds, PlannedBatch}
import io.github.kinesisspark.read.stream.MicroBatchState._

class MicroBatchStateSpec extends AnyFunSpec with Matchers {
  private def offset(n: Long) = KinesisSourceOffset(KinesisOffset(Map(stream -> StreamOffset(n, Nil))))
  private val planned         = Batch(offset(1), offset(2), PlannedBatch(Map.empty), None)
  private val made            = planned.copy(tasks = Some(Vector.empty))
  private val other           = Batch.ofLog(offset(0), offset(1)).copy(tasks = Some(Vector.empty))
  private val found           = Planned(planned, nowNanos = 7)
  private val nothing         = NothingFound(nanos = 5)
  private val recovered       = MicroBatchState.begin(nowNanos = 1)
  private val idle            = recovered.after(Asked).after(nothing)
  private val running         = recovered.after(Asked).after(found)
  private val ended           = running.after(Stopped)

  private def refused(state: MicroBatchState, call: Call) =
    an[IllegalStateException] should be thrownBy state.after(call)

  describe("a planning") {
    it("that finds nothing leaves no batch, and that finds one makes it the batch that runs") {
      for (state <- Seq(recovered, idle, running)) {
        state.after(Asked) shouldBe state
        state.after(nothing).phase shouldBe Idle
        state.after(found).phase shouldBe Running(planned)
      }
    }

    it("that finds a batch after all, when it looks again, makes it the batch that runs") {
      running.after(Asked).after(nothing).after(found).phase shouldBe Running(planned)
    }

    it("that finds nothing sets the pace, and that finds a batch the time of it and the next turn") {
      idle.pace should not be recovered.pace
      (idle.batches, idle.lastBatchNanos) shouldBe ((0, 1))
      running.pace shouldBe recovered.pace
      (running.batches, running.lastBatchNanos) shouldBe ((1, 7))
    }

    it("after the source was stopped is refused, as are its findings and a commit") {
      for (call <- Seq(Asked, nothing, found, Bounded(Bounds(Map.empty, 0)), Committed)) refused(ended, call)
      the[IllegalStateException] thrownBy ended.after(Asked) should have message
        "Spark's calls are not in order: Asked while Ended"
    }
  }

  describe("a trigger that ends") {
    it("is known for the whole run, with its bounds from the first planning on") {
      val bounds = Bounds(Map.empty, 0)
      val ending = recovered.after(EndsSoon)
      (ending.isEnding, ending.bounds) shouldBe ((true, None))
      val bounded = ending.after(TasksMade(other)).after(Asked).after(Bounded(bounds)).after(found).after(Committed)
      (bounded.isEnding, bounded.bounds) shouldBe ((true, Some(bounds)))
    }

    it("is refused once a batch was planned, or none was found, and after the source was stopped") {
      for (state <- Seq(idle, running, ended)) refused(state, EndsSoon)
    }
  }

  describe("a batch's tasks") {
    it("are kept for as long as the batch runs") {
      running.after(TasksMade(made)).of(offset(1), offset(2)) shouldBe made
    }

    it("come before the first planning where a run begins with a batch of the log") {
      recovered.after(TasksMade(other)).phase shouldBe Running(other)
    }

    it("of another batch leave the one that runs, and are made of the log each time") {
      for (state <- Seq(idle, running, ended)) state.after(TasksMade(other)) shouldBe state
      running.of(offset(0), offset(1)) shouldBe Batch.ofLog(offset(0), offset(1))
    }
  }

  describe("a commit") {
    it("is known until the next planning") {
      for (state <- Seq(recovered, idle, running)) {
        state.hadBatch shouldBe false
        val after = state.after(Committed)
        after.hadBatch shouldBe true
        after.after(Asked).hadBatch shouldBe true
        after.after(nothing).hadBatch shouldBe false
        after.after(found).hadBatch shouldBe false
      }
    }

    it("leaves the batch that runs and its tasks") {
      running.after(Committed).of(offset(1), offset(2)) shouldBe planned
      running.after(Committed).after(TasksMade(made)).after(Committed).of(offset(1), offset(2)) shouldBe made
    }
  }

  describe("a source that is stopped") {
    it("may be stopped in each phase, and twice") {
      for (state <- Seq(recovered, idle, running, ended)) state.after(Stopped).phase shouldBe Ended
    }
  }
}
