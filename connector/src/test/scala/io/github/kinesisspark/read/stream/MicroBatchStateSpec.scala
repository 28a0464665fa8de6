package io.github.kinesisspark.read.stream

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.position.{KinesisOffset, StreamOffset}
import io.github.kinesisspark.Generators.stream
import io.github.kinesisspark.read.plan.{BatchSlices, PlannedBatch, Stops}
import io.github.kinesisspark.read.stream.MicroBatchState._

class MicroBatchStateSpec extends AnyFunSpec with Matchers {
  private def offset(n: Long) = KinesisOffset(Map(stream -> StreamOffset(n, Nil)))
  private def batch(n: Long)  = PlannedBatch(offset(n), offset(n + 1), BatchSlices.none)

  private val planned   = Run(batch(1), None)
  private val made      = planned.copy(tasks = Some(Vector.empty))
  private val other     = Run(batch(0), Some(Vector.empty))
  private val bounded   = Bounded(Stops(Map.empty, 0))
  private val found     = Planned(planned.batch, nowNanos = 7)
  private val recovered = MicroBatchState.begin(nowNanos = 1)
  private val rerun     = recovered.after(TasksMade(other))
  private val planning  = recovered.after(Asked)
  private val idle      = planning.after(FoundNothingYet(nanos = 5)).after(NothingFound)
  private val running   = planning.after(found)
  private val ended     = running.after(Stopped)
  private val all       = Seq(recovered, rerun, planning, idle, running, ended)

  /** The phase after each call, in each state; none where the call is refused. */
  private def phases(call: Call) = all.map { state =>
    try Some(state.after(call).phase)
    catch { case _: IllegalStateException => None }
  }

  describe("a call of Spark is legal in these phases") {
    val no = Option.empty[Phase]
    for (
      (call, legal) <- Seq[(Call, Seq[Option[Phase]])](
        EndsSoon           -> Seq(Some(Recovered), no, no, no, no, no),
        Asked              -> Seq(Some(Planning), Some(Planning), no, Some(Planning), Some(Planning), no),
        bounded            -> Seq(no, no, Some(Planning), no, no, no),
        FoundNothingYet(5) -> Seq(no, no, Some(Planning), no, no, no),
        NothingFound       -> Seq(no, no, Some(Idle), no, no, no),
        found              -> Seq(no, no, Some(Running(planned)), no, no, no),
        Committed          -> Seq(no, no, no, Some(Idle), Some(Running(planned)), Some(Ended)),
        Stopped            -> Seq.fill(6)(Some(Ended)),
        TasksMade(made)    -> Seq(
          Some(Rerun(made)),
          Some(Rerun(other)),
          Some(Planning),
          Some(Idle),
          Some(Running(made)),
          Some(Ended)
        )
      )
    ) it(s"${call.productPrefix}, and refused in the others")(phases(call) shouldBe legal)

    it("and refused in others with its name and theirs") {
      the[IllegalStateException] thrownBy ended.after(Asked) should have message
        "Spark's calls are not in order: Asked while Ended"
    }
  }

  describe("a planning") {
    it("that finds a batch after all, when it looks again, makes it the batch that runs") {
      planning.after(FoundNothingYet(nanos = 5)).after(found).phase shouldBe Running(planned)
    }

    it("that finds nothing sets the pace, and that finds a batch the time of it and the next turn") {
      idle.pace should not be recovered.pace
      (idle.batches, idle.lastBatchNanos) shouldBe ((0, 1))
      running.pace shouldBe recovered.pace
      (running.batches, running.lastBatchNanos) shouldBe ((1, 7))
    }
  }

  describe("a run") {
    it("runs a batch of an earlier run until it plans") {
      all.map(_.isOfEarlierRun) shouldBe Seq(true, true, false, false, false, false)
    }
  }

  describe("a trigger that ends") {
    it("is known for the whole run, with its stops from the first planning on") {
      val ending = recovered.after(EndsSoon)
      (ending.isEnding, ending.stops) shouldBe ((true, None))
      val after = ending.after(TasksMade(other)).after(Asked).after(bounded).after(found).after(Committed)
      (after.isEnding, after.stops) shouldBe ((true, Some(bounded.stops)))
    }
  }

  describe("a batch's tasks") {
    it("are kept for as long as the batch runs, whether it was planned in this run or before") {
      running.after(TasksMade(made)).of(offset(1), offset(2)) shouldBe made
      rerun.of(offset(0), offset(1)) shouldBe other
    }

    it("of another batch leave the one that runs, and are made of the log each time") {
      for (state <- Seq(idle, running, ended)) state.after(TasksMade(other)) shouldBe state
      running.of(offset(0), offset(1)) shouldBe other.copy(tasks = None)
    }
  }

  describe("a commit") {
    it("is known until the next planning has looked") {
      for (state <- Seq(idle, running)) {
        state.hadBatch shouldBe false
        val asked = state.after(Committed).after(Asked)
        asked.hadBatch shouldBe true
        asked.after(FoundNothingYet(nanos = 5)).hadBatch shouldBe false
        asked.after(found).hadBatch shouldBe false
      }
    }

    it("leaves the batch that runs and its tasks") {
      running.after(TasksMade(made)).after(Committed).of(offset(1), offset(2)) shouldBe made
    }
  }
}
