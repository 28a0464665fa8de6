package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.aws.FailureReason
import io.github.kinesisspark.position.ShardPosition.{ShardEnd, TrimHorizon}
import io.github.kinesisspark.position.{ShardPosition, ShardRange}
import io.github.kinesisspark.read.plan.PlanningView.Goal
import io.github.kinesisspark.read.reader.{KinesisRecord, RecordBuffer, RecordTotals}

class PlanningViewSpec extends AnyFunSpec with Matchers with AfterNumbers {
  private val Patience  = 1.second
  private val shards    = Vector(shard(0), shard(1))
  private val goal      = Goal(Map.empty, Patience)
  private val silent    = emptyStatus(shard(1)).copy(millisBehind = Some(5000), millisSinceAnswer = Some(0))
  private val upToDate  = silent.copy(millisBehind = Some(0))
  private val unopened  = emptyStatus(shard(1)).copy(openingMillis = Some(0))
  private val holding   = buffered(0, records = 3)
  private val isUrgent  = true
  private val notUrgent = false

  private def buffered(n: Int, records: Int): ReaderStatus = emptyStatus(shard(n)).copy(
    position = after(records.toLong),
    records = records.toLong,
    bytes = records * 10L,
    oldestArrival = Some(1000),
    newestArrival = Some(1000L + records),
    millisBehind = Some(5000),
    millisSinceAnswer = Some(0)
  )

  private def view(elapsed: FiniteDuration, skew: Option[Long], statuses: ReaderStatus*) = {
    val reading = shards.map(_ -> (TrimHorizon: ShardPosition)).toMap
    PlanningView(
      reading,
      statuses.map(s => s.shard -> s).toMap,
      ShardClocks().begin(reading, _ => Nil, _ => false, 0).afterReports(statuses.map(s => s.shard -> s.reached), 0),
      WatermarkAlignment(skew),
      beganNanos = 0,
      elapsed.toNanos
    )
  }

  private def isDue(elapsed: FiniteDuration, statuses: ReaderStatus*)(urgent: Boolean) =
    view(elapsed, skew = None, statuses: _*).decide(goal, urgent).isDue

  describe("a planning with records") {
    it("plans once all readers have reported and begun, or after 2 seconds") {
      isDue(1.milli, holding, silent)(notUrgent) shouldBe true
      isDue(1.milli, holding, unopened)(notUrgent) shouldBe false
      isDue(1.milli, holding)(notUrgent) shouldBe false
      isDue(2001.millis, holding)(notUrgent) shouldBe true
    }

    it("waits until buffers are filled as wanted, at most for as long as that") {
      val full = goal.copy(fill = FillTarget(10.seconds, _.exists(_.isFull)))
      def decided(elapsed: FiniteDuration, status: ReaderStatus) = {
        val now = view(elapsed, None, status, silent).decide(full, notUrgent)
        (now.isDue, now.isFilling)
      }
      decided(1.second, holding) shouldBe ((false, true))
      decided(1.second, holding.copy(isFull = true)) shouldBe ((true, false))
      decided(10001.millis, holding) shouldBe ((true, false))
    }

    it("fills no buffers while a reader has still to begin") {
      val full = goal.copy(fill = FillTarget(10.seconds, _ => false))
      view(1.milli, None, holding, unopened).decide(full, notUrgent).isFilling shouldBe false
    }

    it("waits while a slower shard holds them back, and is the first batch all the same after the patience") {
      def decided(elapsed: FiniteDuration, goal: Goal) =
        view(elapsed, skew = Some(100), holding, silent).decide(goal, isUrgent)
      decided(2.seconds, goal).isDue shouldBe false
      decided(2.seconds, goal).hasNews shouldBe false
      decided(2.seconds, goal.copy(hasNewStreams = true)).isDue shouldBe true
    }
  }

  describe("a planning without records") {
    it("ends once all readers have nothing more, the patience is over, or somebody waits") {
      val first = upToDate.copy(shard = shard(0))
      isDue(1.milli, first, upToDate)(notUrgent) shouldBe true
      isDue(1.milli, first, silent)(notUrgent) shouldBe false
      isDue(1.milli, first, silent)(isUrgent) shouldBe true
      isDue(Patience, first, silent)(notUrgent) shouldBe true
    }

    it("waits 0.1 s at least for readers that have not reported, however urgent it is") {
      val impatient                        = goal.copy(patience = Duration.Zero)
      def decided(elapsed: FiniteDuration) = view(elapsed, None, upToDate).decide(impatient, isUrgent)
      decided(99.millis).isDue shouldBe false
      decided(99.millis).mostWait shouldBe Some(1.milli)
      decided(100.millis).isDue shouldBe true
    }

    it("ends after a pause if there is no shard to read") {
      val none = view(Patience, None).copy(reading = Map.empty).decide(goal, notUrgent)
      (none.isDue, none.isOver) shouldBe ((false, true))
    }
  }

  describe("a planned batch") {
    val records    = (1 to 4).map(n => KinesisRecord(number(n.toLong), "key", new Array[Byte](7), 1000)).toArray
    val boundaries = Boundaries.none(BoundarySpacing(32, None)).add(new RecordBuffer.Packed(records), 0, 4)
    val status     = buffered(0, records = 4).copy(boundaries = boundaries)
    val range      = ShardRange(shard(0), TrimHorizon, after(4))

    def admitted(limits: Admission.Limits = Admission.Limits.none) =
      view(1.milli, None, status, silent).admit(limits, fairnessOffset = 1)

    it("ends where readers stand, or at a boundary within the limits") {
      admitted().slices.moved shouldBe Vector(shard(0) -> after(4))
      admitted(Admission.Limits(Some(3), None)).slices.moved shouldBe Vector(shard(0) -> after(3))
    }

    it("goes no further ahead of a slower shard than the skew, unless that shard's reader has failed") {
      val ahead                      = status.copy(millisBehind = Some(0))
      def moved(other: ReaderStatus) =
        view(1.milli, skew = Some(100), ahead, other).admit(Admission.Limits.none, fairnessOffset = 1).slices.moved
      moved(silent) shouldBe empty
      moved(silent.copy(failure = Some(ReaderFailure(FailureReason.NotFound, "KINESIS_NOT_FOUND", "gone")))) should
        not be empty
    }

    it("goes no further than the skew after a shard that ends in it, as that one's children come next") {
      // A record each 5 s, from 45 s to 250 s.
      val arrivals = (0 to 41).map(n => KinesisRecord(number(n + 1L), "key", new Array[Byte](7), 45000L + n * 5000L))
      val others   = statusOf(
        shard(1),
        RecordBuffer.at(TrimHorizon).append(arrivals.toArray, RecordTotals.of(arrivals.toArray), after(42)),
        BoundarySpacing(0, Some(5000))
      ).copy(millisBehind = Some(60000), reached = Some(250000))
      val ended =
        buffered(0, records = 3).copy(position = ShardEnd, newestArrival = Some(50000), isComplete = true)
      def taken(ended: ReaderStatus, skew: Option[Long] = Some(10000)) =
        view(1.milli, skew, ended, others).admit(Admission.Limits.none, fairnessOffset = 1).slices.ends
      taken(ended)(shard(0)).position shouldBe ShardEnd
      taken(ended)(shard(1)).newestArrival.get should (be >= 50000L and be <= 60000L)
      taken(ended.copy(position = after(3)))(shard(1)).newestArrival shouldBe Some(250000)
      taken(ended, skew = None)(shard(1)).newestArrival shouldBe Some(250000)
    }

    it("takes the end of a shard without records alone, and at once, where nothing is known of its children's times") {
      val ended = emptyStatus(shard(0)).copy(position = ShardEnd, isComplete = true, millisBehind = Some(0))
      val now   = view(1.milli, skew = Some(100), ended, buffered(1, records = 3).copy(reached = Some(1003)))
      now.decide(goal, notUrgent).isDue shouldBe true
      now.admit(Admission.Limits.none, fairnessOffset = 1).slices.moved shouldBe Vector(shard(0) -> ShardEnd)
      now.leftBehind shouldBe empty
    }

    it("leaves a shard behind that is behind and has brought nothing for 30 s") {
      def left(elapsed: FiniteDuration, other: ReaderStatus, skew: Option[Long] = Some(100)) =
        view(elapsed, skew, status, other).leftBehind
      left(29.seconds, silent) shouldBe empty
      left(31.seconds, silent) shouldBe Vector(shard(1))
      left(3.seconds, silent.copy(starved = true)) shouldBe Vector(shard(1))
      left(31.seconds, silent, skew = None) shouldBe empty
      left(31.seconds, upToDate) shouldBe empty
      left(31.seconds, buffered(1, records = 1)) shouldBe empty
      view(31.seconds, Some(100), status).leftBehind shouldBe Vector(shard(1))
    }

    it("is divided at boundaries into ranges of about the same bytes") {
      admitted().slices.split(Seq(range), leastTasks = 2) shouldBe Seq(
        ShardRange(shard(0), TrimHorizon, after(2)) -> 20L,
        ShardRange(shard(0), after(2), after(4))    -> 20L
      )
    }

    it("stays whole where it ends later than its reader stands, or comes from the log after a restart") {
      val later  = after(9)
      val longer =
        admitted().slices.extended(Map(shard(0) -> status.all.copy(position = later)), Map(shard(0) -> status))
      longer.moved shouldBe Vector(shard(0) -> later)
      longer.split(Seq(range.copy(end = later)), leastTasks = 2).map(_._1) shouldBe Seq(range.copy(end = later))
      BatchSlices.none.split(Seq(range), leastTasks = 2).map(_._1) shouldBe Seq(range)
    }
  }
}
