package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardPosition.{ShardEnd, TrimHorizon}
import io.github.kinesisspark.position.KinesisOffset
import io.github.kinesisspark.read.plan.TriggerPolicy.{AvailableNow, Decision, Once, Unbounded}

class TriggerPolicySpec extends AnyFunSpec with Matchers with AfterNumbers {
  private val always  = TriggerPolicy(Unbounded, BatchLimits.none, None)
  private val stops   = Stops(Map(shard(0) -> after(9), shard(1) -> ShardEnd), atMillis = 5000)
  private val ending  = always.copy(bounds = AvailableNow(stops))
  private val once    = always.copy(bounds = Once(stops))
  private val limited = always.copy(limits = BatchLimits(Admission.Limits(Some(10), None), None))
  private val least   = always.copy(limits = BatchLimits(Admission.Limits.none, Some(100L -> 1.minute)))
  private val begun   = PlanningState(KinesisOffset.initial, Map.empty)

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
  private val slice  = BatchSlices.Slice(TrimHorizon, holding.all, Some(holding.boundaries))
  private val slices = BatchSlices(Map(shard(0) -> slice))

  private def viewOf(statuses: ReaderStatus*) =
    PlanningView.withoutReaders(Map(shard(0) -> TrimHorizon)).copy(statuses = statuses.map(s => s.shard -> s).toMap)

  private def decided(
      policy: TriggerPolicy,
      mayWait: Boolean = true,
      status: ReaderStatus = holding,
      sinceBatch: FiniteDuration = 1.second
  ): Decision =
    policy.decide(viewOf(status), fairnessOffset = 1, mayWait, sinceBatch)

  describe("a planning waits for news") {
    it("for as long as it may without bounds, and without end where the query ends") {
      always.goal(begun, 1.second).map(_.patience) shouldBe Some(1.second)
      ending.goal(begun, 1.second).map(_.patience) shouldBe Some(Duration.Inf)
    }

    it("until buffers are filled, unless a batch has limits") {
      always.goal(begun, 1.second).map(_.fill) shouldBe Some(FillTarget.behind)
      ending.goal(begun, 1.second).map(_.fill) shouldBe Some(FillTarget.untilTheEnd)
      limited.goal(begun, 1.second).map(_.fill) shouldBe Some(FillTarget.none)
    }

    it("until the readers stand at the stops, and not at all in one batch up to them") {
      always.goal(begun, 1.second).map(_.stops) shouldBe Some(Map.empty)
      ending.goal(begun, 1.second).map(_.stops) shouldBe Some(stops.byShard)
      once.goal(begun, 1.second) shouldBe None
    }
  }

  describe("a batch") {
    it("ends where readers are, within the limits") {
      decided(always) shouldBe Decision.Ends(slices)
      decided(limited) shouldBe Decision.Ends(slices)
    }

    it("ends beyond the buffers where the trigger outlasts them, but not with limits or bounds") {
      val slow = Some(LongTrigger(10.seconds, WatermarkAlignment.off))
      decided(always.copy(extension = slow)) should matchPattern {
        case Decision.Probe(`slices`, questions: LongTrigger.Questions) if questions.times.keySet == Set(shard(0)) =>
      }
      decided(limited.copy(extension = slow)) shouldBe Decision.Ends(slices)
      decided(ending.copy(extension = slow)) shouldBe Decision.Ends(slices)
    }

    it("with few records waits, unless the delay is over, a reader is full, or somebody waits for it") {
      decided(least) shouldBe Decision.Wait
      decided(least, sinceBatch = 1.minute) shouldBe Decision.Ends(slices)
      decided(least, status = holding.copy(heap = holding.room)) shouldBe Decision.Ends(slices)
      decided(least, mayWait = false) shouldBe Decision.Ends(slices)
    }

    it("with few records waits for no more of a shard that has ended, as its children come after it") {
      val ended = viewOf(holding.copy(position = ShardEnd))
      least.decide(
        ended,
        fairnessOffset = 1,
        mayWait = true,
        1.second
      ) should not be Decision.Wait
      decided(least.copy(bounds = AvailableNow(stops))) shouldBe Decision.Ends(slices)
    }
  }

  describe("a batch that takes all up to the stops") {
    it("ends there, regardless of limits, and asks nothing") {
      val all = once.copy(limits = limited.limits, extension = Some(LongTrigger(10.seconds, WatermarkAlignment.off)))
      decided(all) shouldBe Decision.Ends(BatchSlices.none)
      all.ends(BatchSlices.none, viewOf()) shouldBe Map(shard(0) -> after(9))
      all.completeTo(BatchSlices.none, viewOf(), (_, millis) => 7000L - millis)(shard(0), after(9)) shouldBe Some(5000L)
    }

    it("is not of a query that follows its shards, whose batches end where readers are") {
      always.ends(slices, viewOf(holding)) shouldBe Map(shard(0) -> after(5))
    }
  }

  describe("stops") {
    it("leave the shards that are not at their ends, and none that was opened since") {
      stops.left(Map(shard(0) -> after(8), shard(1) -> after(3), shard(2) -> TrimHorizon)) shouldBe
        Map(shard(0) -> after(9), shard(1) -> ShardEnd)
      stops.left(Map(shard(0) -> after(9), shard(1) -> ShardEnd)) shouldBe empty
    }

    it("complete an open shard to the time they were fixed, once it is there") {
      stops.completeTo(shard(0), after(9)) shouldBe Some(5000L)
      stops.completeTo(shard(0), after(8)) shouldBe None
      stops.completeTo(shard(1), ShardEnd) shouldBe None
    }

    it("complete a shard no further where the answer in which its reader stopped had the newest record") {
      val stopped = emptyStatus(shard(0)).copy(
        position = after(9),
        records = 9,
        isComplete = true,
        millisBehind = Some(0),
        millisSinceAnswer = Some(100)
      )
      val view = viewOf(stopped)
      val last = view.admit(Admission.Limits.none, fairnessOffset = 1).slices
      ending.completeTo(last, view, (_, millis) => 7000L - millis)(shard(0), after(9)) shouldBe Some(5000L)
    }

    it("end the batch where the record that its reader was to come to is gone") {
      val gone = emptyStatus(shard(0)).copy(millisBehind = Some(0))
      gone.hasLostStop shouldBe true
      ending.ends(BatchSlices.none, viewOf(gone)) shouldBe Map(shard(0) -> after(9))
    }
  }
}
