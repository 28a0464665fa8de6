package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, ShardEnd, TrimHorizon}
import io.github.kinesisspark.position.{KinesisOffset, ShardPosition}
import io.github.kinesisspark.read.plan.TriggerPolicy.Decision

class TriggerPolicySpec extends AnyFunSpec with Matchers {
  private val always  = TriggerPolicy(None, BatchLimits.none, None)
  private val bounds  = Bounds(Map(shard(0) -> after(9), shard(1) -> ShardEnd), atMillis = 5000)
  private val ending  = always.copy(bounds = Some(bounds))
  private val limited = always.copy(limits = BatchLimits(Admission.Limits(Some(10), None), None))
  private val least   = always.copy(limits = BatchLimits(Admission.Limits.none, Some(100L -> 1.minute)))
  private val begun   = PlanningState(KinesisOffset.initial, Map.empty)

  private def after(n: Int): ShardPosition = AfterSequenceNumber(number(n.toLong))

  /** Far behind, and full. */
  private val holding = emptyStatus(shard(0)).copy(
    position = after(5),
    records = 5,
    bytes = 5000,
    room = 4L << 20,
    isFull = true,
    oldestArrival = Some(1000),
    newestArrival = Some(2000),
    millisBehind = Some(60000)
  )
  private val slice = PlannedBatch.Slice(TrimHorizon, holding.all, Some(holding.boundaries))
  private val batch = PlannedBatch(Map(shard(0) -> slice))

  private def decided(
      policy: TriggerPolicy,
      mayWait: Boolean = true,
      isNearlyFull: Boolean = false,
      sinceBatch: FiniteDuration = 1.second
  ): Decision = {
    val reading = Map(shard(0) -> (TrimHorizon: ShardPosition))
    val view    = PlanningView(reading, Map(shard(0) -> holding), ShardClocks(), WatermarkAlignment.off, 0, 0)
    policy.decide(view, fairnessOffset = 1, mayWait, isNearlyFull, sinceBatch)
  }

  describe("a planning waits for news") {
    it("for as long as it may without bounds, and without end where the query ends") {
      always.goal(begun, 1.second).patience shouldBe 1.second
      ending.goal(begun, 1.second).patience shouldBe Duration.Inf
    }

    it("until buffers are filled, unless a batch has limits") {
      always.goal(begun, 1.second).fill shouldBe FillTarget.behind
      ending.goal(begun, 1.second).fill shouldBe FillTarget.untilTheEnd
      limited.goal(begun, 1.second).fill shouldBe FillTarget.none
    }
  }

  describe("a batch") {
    it("ends where readers are, within the limits") {
      decided(always) shouldBe Decision.Ends(batch)
      decided(limited) shouldBe Decision.Ends(batch)
    }

    it("ends beyond the buffers where the trigger outlasts them, but not with limits or bounds") {
      val slow = Some(LongTrigger(10.seconds, WatermarkAlignment.off))
      decided(always.copy(extension = slow)) should matchPattern {
        case Decision.Probe(`batch`, questions: LongTrigger.Questions) if questions.times.keySet == Set(shard(0)) =>
      }
      decided(limited.copy(extension = slow)) shouldBe Decision.Ends(batch)
      decided(ending.copy(extension = slow)) shouldBe Decision.Ends(batch)
    }

    it("with few records waits, unless the delay is over, readers are full, or somebody waits for it") {
      decided(least) shouldBe Decision.Wait
      decided(least, sinceBatch = 1.minute) shouldBe Decision.Ends(batch)
      decided(least, isNearlyFull = true) shouldBe Decision.Ends(batch)
      decided(least, mayWait = false) shouldBe Decision.Ends(batch)
      decided(least.copy(bounds = Some(bounds))) shouldBe Decision.Ends(batch)
    }
  }

  describe("bounds") {
    it("leave the shards that are not at their ends, and none that was opened since") {
      bounds.left(Map(shard(0) -> after(8), shard(1) -> after(3), shard(2) -> TrimHorizon)) shouldBe
        Map(shard(0) -> after(9), shard(1) -> ShardEnd)
      bounds.left(Map(shard(0) -> after(9), shard(1) -> ShardEnd)) shouldBe empty
    }

    it("complete an open shard to the time they were fixed, once it is there") {
      bounds.completeTo(shard(0), after(9)) shouldBe Some(5000L)
      bounds.completeTo(shard(0), after(8)) shouldBe None
      bounds.completeTo(shard(1), ShardEnd) shouldBe None
    }

    it("end the batch where the record that its reader was to come to is gone") {
      val gone = emptyStatus(shard(0)).copy(millisBehind = Some(0))
      gone.hasLostStop shouldBe true
      ending.ends(PlannedBatch.ofLog, Map(shard(0) -> gone)) shouldBe Map(shard(0) -> after(9))
    }
  }
}
