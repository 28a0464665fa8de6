package io.github.kinesisspark.testkit.subscription

import io.github.kinesisspark.testkit.model.ShardStore.Ahead
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class StepSpec extends AnyFunSpec with Matchers {

  private val due = Step.Due(beat = 200, free = 100, over = 1000)

  it("records are sent once the quota allows it, without waiting for the heartbeat") {
    Step.next(99, Ahead.Records, due) shouldBe Step.Wait(100)
    Step.next(100, Ahead.Records, due) shouldBe Step.Send
  }

  it("the end of a shard and a gap in it are sent at once") {
    Step.next(0, Ahead.End, due) shouldBe Step.Send
    Step.next(0, Ahead.Gap, due) shouldBe Step.Send
  }

  it("an event without records waits for the heartbeat") {
    Step.next(199, Ahead.Nothing, due) shouldBe Step.Wait(200)
    Step.next(200, Ahead.Nothing, due) shouldBe Step.Send
  }

  it("no wait goes beyond the end of the subscription") {
    Step.next(999, Ahead.Nothing, due.copy(beat = 2000)) shouldBe Step.Wait(1000)
    Step.next(999, Ahead.Records, due.copy(free = 2000)) shouldBe Step.Wait(1000)
  }
}
