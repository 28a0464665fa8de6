package io.github.kinesisspark.testkit.subscription

import io.github.kinesisspark.testkit.model.ShardStore.Ahead
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class StepSpec extends AnyFunSpec with Matchers {

  private val due = Step.Due(beat = 200, free = 100, over = 1000)

  it("tells records as soon as the quota lets it, and waits for no heartbeat") {
    Step.next(99, Ahead.Records, due) shouldBe Step.Wait(100)
    Step.next(100, Ahead.Records, due) shouldBe Step.Tell
  }

  it("tells the end of a shard, and a gap in it, at once") {
    Step.next(0, Ahead.End, due) shouldBe Step.Tell
    Step.next(0, Ahead.Gap, due) shouldBe Step.Tell
  }

  it("tells nothing new before the heartbeat") {
    Step.next(199, Ahead.Nothing, due) shouldBe Step.Wait(200)
    Step.next(200, Ahead.Nothing, due) shouldBe Step.Tell
  }

  it("ends when its life is over, whatever lies ahead, and never waits longer") {
    Seq(Ahead.Records, Ahead.Nothing, Ahead.Gap, Ahead.End).foreach(Step.next(1000, _, due) shouldBe Step.Complete)
    Step.next(999, Ahead.Nothing, due.copy(beat = 2000)) shouldBe Step.Wait(1000)
    Step.next(999, Ahead.Records, due.copy(free = 2000)) shouldBe Step.Wait(1000)
  }
}
