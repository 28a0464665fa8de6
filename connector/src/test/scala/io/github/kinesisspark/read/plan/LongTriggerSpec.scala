package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, AtTimestamp, TrimHorizon}
import io.github.kinesisspark.read.plan.PlanningView.Admitted

class LongTriggerSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private val MB      = 1L << 20
  private val trigger = LongTrigger(10.seconds, WatermarkAlignment.off)

  describe("the time in which bytes of a shard arrive") {
    it("follows the density of what was read, within what a shard can take and a sixteenth of it") {
      ArrivalDensity(MB / 2, 1000).millisOf(10 * MB) shouldBe 20000
      ArrivalDensity(8 * MB, 1000).millisOf(10 * MB) shouldBe 10000
      ArrivalDensity(8 * MB, 0).millisOf(10 * MB) shouldBe 10000
      ArrivalDensity.unknown.millisOf(10 * MB) shouldBe 10000
      ArrivalDensity(1, 1000000).millisOf(10 * MB) shouldBe 160000
    }

    it("is within a tenth of a shard's steady rate, whatever sizes its answers have") {
      forAll(Gen.choose(100000L, MB), Gen.nonEmptyListOf(Gen.choose(1L, 10 * MB))) { (perSecond, answers) =>
        val all = answers.foldLeft(ArrivalDensity.unknown)((d, bytes) => d.and(bytes, bytes * 1000 / perSecond))
        whenever(all.millis > 100)(all.millisOf(perSecond * 100) shouldBe (100000L +- 10000))
      }
    }

    it("follows a change of the density after 200 MB") {
      val dense  = ArrivalDensity.unknown.and(1000 * MB, 1000000)
      val sparse = (1 to 200).foldLeft(dense)((d, _) => d.and(MB, 4000))
      sparse.millisOf(MB) shouldBe (4000L +- 400)
    }
  }

  describe("a shard's part of a batch may end beyond its reader's buffer") {
    val density = ArrivalDensity(8L << 20, 8000)
    val reading = emptyStatus(shard(0)).copy(
      position = AfterSequenceNumber(number(9)),
      room = 4L << 20,
      density = density,
      reached = Some(70000),
      millisBehind = Some(30000)
    )
    val holding =
      reading.copy(records = 9, bytes = 9000, oldestArrival = Some(65000), newestArrival = Some(69000))

    def behind(status: ReaderStatus) =
      trigger.behind(Map(status.shard -> status), Map(status.shard -> status.all))

    def beyond(bytes: Long, oldest: Long, newest: Long) =
      Vector(LongTrigger.Behind(shard(0), density, bytes, 4L << 20, oldest, newest))

    it("where it is further behind than the next trigger, or full") {
      behind(holding) shouldBe beyond(9000, 65000, 69000)
      behind(holding.copy(millisBehind = Some(5000))) shouldBe empty
      behind(holding.copy(millisBehind = Some(5000), isFull = true)) shouldBe beyond(9000, 65000, 69000)
    }

    it("where it is behind and has been emptied by the batch before") {
      behind(reading) shouldBe beyond(0, 70000, 70000)
    }

    it("not where it waits for memory of others, or has no answer yet") {
      behind(reading.copy(starved = true)) shouldBe empty
      behind(emptyStatus(shard(0))) shouldBe empty
    }

    it("as far as others do where it holds nothing, because it waits for memory or for its first answer") {
      def isSilent(status: ReaderStatus) = trigger.holdingNothing(Map(status.shard -> status)).nonEmpty
      val unanswered                     = reading.copy(millisBehind = None, reached = None)
      isSilent(reading.copy(starved = true)) shouldBe true
      isSilent(unanswered) shouldBe true
      Seq(reading, holding, unanswered.copy(isComplete = true), unanswered.copy(records = 1))
        .foreach(isSilent(_) shouldBe false)
    }

    it("not where it holds nothing and begins at a time, and then it holds the others back") {
      val aligned   = trigger.copy(alignment = WatermarkAlignment(Some(10000)))
      val unbegun   = emptyStatus(shard(1)).copy(base = AtTimestamp(65000), position = AtTimestamp(65000))
      val slices    = BatchSlices(Map(shard(0) -> BatchSlices.Slice(TrimHorizon, holding.all, None)))
      val statuses  = Map(shard(0) -> holding, shard(1) -> unbegun)
      val questions = aligned.questions(statuses, Admitted(slices, Vector(shard(1) -> 65000L), Vector.empty))
      questions.map(_.times) shouldBe Some(Map(shard(0) -> 75000))
      Seq(unbegun, unbegun.copy(starved = true)).foreach { status =>
        aligned.holdingNothing(Map(shard(1) -> status)) shouldBe empty
      }
    }
  }

  describe("a batch of shards that are behind") {
    // 1 MiB a second.
    def behind(n: Int, bytes: Long, room: Long = 4 * MB, density: ArrivalDensity = ArrivalDensity(4 * MB, 4000)) =
      LongTrigger.Behind(shard(n), density, bytes, room, 1000, 2000)

    it("finds ends as close to the newest record as what arrived since is a second's write limit") {
      behind(0, 4 * MB).writeSecond shouldBe 250
      behind(0, MB / 2).writeSecond shouldBe 1000
      behind(0, 4 * MB).copy(newest = 6000).writeSecond shouldBe 1000
      behind(0, 4 * MB).copy(newest = 1000).writeSecond shouldBe 1
    }
    def times(shards: LongTrigger.Behind*) =
      trigger.times(shards.toVector, Vector.empty, Nil)

    val half = ArrivalDensity(4 * MB, 8000)

    it("takes what the shards give in one and a half intervals, at 2 MiB a second") {
      times(behind(0, 4 * MB)) shouldBe Map(shard(0) -> 31000)
      times(behind(0, 4 * MB, density = half)) shouldBe Map(shard(0) -> 61000)
    }

    it(
      "takes no more than two or less than one interval's read limit of a shard with any steady rate above 64 KiB a second"
    ) {
      forAll(Gen.choose(MB / 16, MB), Gen.choose(1, 600)) { (perSecond, seconds) =>
        val one = behind(0, MB, density = ArrivalDensity(perSecond * 100, 100000))
        val end = trigger.copy(interval = seconds.seconds).times(Vector(one), Vector.empty, Nil)
        end.get(shard(0)).foreach(_ * perSecond / 1000 should (be >= 2 * MB * seconds and be <= 5 * MB * seconds))
      }
    }

    it("ends with the buffers if those hold what the shards give within the interval") {
      times(behind(0, 4 * MB, room = 30 * MB), behind(1, 30 * MB)) shouldBe Map.empty
    }

    it("goes as far in shards that hold nothing for want of memory as in the one that ends first") {
      val all = trigger.times(
        Vector(behind(0, 4 * MB), behind(1, 4 * MB, density = half)),
        Vector(shard(2)),
        Nil
      )
      all shouldBe Map(shard(0) -> 31000, shard(1) -> 61000, shard(2) -> 31000)
      trigger.times(Vector.empty, Vector(shard(2)), Nil) shouldBe empty
    }

    it("goes no further than maxShardSkew beyond the shard that ends first") {
      def aligned(earliestPending: Long*) = trigger
        .copy(alignment = WatermarkAlignment(Some(500)))
        .times(Vector(behind(0, 4 * MB), behind(1, 4 * MB, density = half)), Vector.empty, earliestPending)
      aligned() shouldBe Map(shard(0) -> 31000, shard(1) -> 31500)
      aligned(2100) shouldBe Map(shard(0) -> 2600, shard(1) -> 2600)
      aligned(1000) shouldBe Map.empty
      aligned(WatermarkAlignment.Unknown) shouldBe Map.empty
    }
  }
}
