package io.github.kinesisspark.testkit.subscription

import io.github.kinesisspark.testkit.FaultEffect._
import io.github.kinesisspark.testkit.model.{RecordLog, ServiceError}
import io.github.kinesisspark.testkit.{EventFault, FaultEffect}
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import scala.concurrent.duration._

class EventFaultsSpec extends AnyFunSpec with Matchers {

  private val event = SubscriptionEvent(RecordLog.Slices.empty, Some("7"), 0, None)
  private val end   = SubscriptionEvent(RecordLog.Slices.empty, None, 0, Some(Vector.empty))

  private def play(event: SubscriptionEvent, faults: EventFault*) = EventFaults.play(event, "7", faults.toVector)

  it("an event without a fault is unchanged") {
    play(event) shouldBe Turn.Say(event)
    play(end) shouldBe Turn.Say(end)
    end.isEnd shouldBe true
  }

  it("a fault of the shard's end removes continuation, children or both, and it is no longer an end") {
    play(end, EndWithContinuation) shouldBe Turn.Say(end.copy(continuation = Some("7")))
    play(end, ContinuationMissing) shouldBe Turn.Say(end.copy(children = None))
    play(end, EndWithheld) shouldBe Turn.Say(event)
    Seq(EndWithContinuation, ContinuationMissing, EndWithheld).foreach { fault =>
      play(end, fault) match {
        case Turn.Say(said) => said.isEnd shouldBe false
        case other          => fail(s"$other")
      }
    }
  }

  it("a fault of an event replaces it by silence, completion, reset or error") {
    play(event, FaultEffect.Silence) shouldBe Turn.Silence
    play(event, AbruptEnd) shouldBe Turn.Complete
    play(event, FaultEffect.ResetStream) shouldBe Turn.ResetStream
    play(event, FaultEffect.ResetConnection) shouldBe Turn.ResetConnection
    play(event, ErrorEvent("A", "b")) shouldBe Turn.Fail(ServiceError("A", "b"))
  }

  it("several faults of an event are combined") {
    play(end, EndWithheld, CorruptFrame) shouldBe Turn.Garble(event)
    play(event, DelayEvent(1.second), AbruptEnd) shouldBe Turn.Complete
    EventFaults.delayMillis(Vector(DelayEvent(1.second), AbruptEnd, DelayEvent(2.seconds))) shouldBe 3000
  }
}
