package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._

class LongTriggerSpec extends AnyFunSpec with Matchers {

  describe("the trigger interval") {

    /** After triggers at these times that took so long, in ms. */
    def after(triggers: (Int, Int)*): TriggerClock = triggers.foldLeft(TriggerClock()) { case (clock, (at, lasting)) =>
      clock.planning(at.millis.toNanos).batchEnded((at + lasting).millis.toNanos)
    }

    it("is what lies between two plannings if the query has waited in between, and never less than before") {
      after(0 -> 100, 7000 -> 100).interval shouldBe Some(7.seconds)
      after(0 -> 100, 7000 -> 100, 17000 -> 100).interval shouldBe Some(10.seconds)
      after(0 -> 100, 7000 -> 100, 17000 -> 12000, 29000 -> 100, 37000 -> 10).interval shouldBe Some(10.seconds)
    }

    it("makes batches beyond the buffers longer that are over early, and shorter that are over late") {
      def second(lasting: FiniteDuration) = after(0 -> 100, 10000 -> 100, 20000 -> 100)
        .planning(30.seconds.toNanos)
        .wentBeyond
        .batchEnded((30.seconds + lasting).toNanos)
        .planning((30.seconds + lasting.max(10.seconds)).toNanos)
      second(4.seconds).stretch shouldBe 2.5
      second(100.millis).stretch shouldBe 8
      second(20.seconds).stretch shouldBe 1
      after(0 -> 100, 10000 -> 100, 20000 -> 100).stretch shouldBe 1
    }

    it("is unknown for a query that plans as soon as a batch is over") {
      after(0 -> 3000, 3010 -> 5000, 8020 -> 100, 8130 -> 10).interval shouldBe None
    }

    it("is kept while batches outlast it") {
      after(0 -> 100, 10000 -> 25000, 35010 -> 9000, 44020 -> 10).interval shouldBe Some(10.seconds)
    }

    it("is forgotten if a batch is planned early without a wait, which a trigger would not do") {
      after(0 -> 3000, 4000 -> 1000, 5010 -> 10).interval shouldBe None
    }
  }

  describe("a batch of shards that are behind") {
    val MB                                               = 1L << 20
    def behind(n: Int, bytes: Long, room: Long = 4 * MB) = LongTrigger.Behind(shard(n), bytes, room, 1000, 2000)
    def times(shards: LongTrigger.Behind*)               =
      LongTrigger.times(10.seconds, 1, shards.toVector, Vector.empty, Nil, WatermarkAlignment.off)

    it("goes so far beyond their buffers that the shards give it within a trigger's interval") {
      // 20 MiB and a quarter more, at 4 MiB a second of arrivals.
      times(behind(0, 4 * MB)) shouldBe Map(shard(0) -> 7250)
    }

    it("ends with the buffers if those hold what the shards give within the interval") {
      times(behind(0, 4 * MB, room = 30 * MB), behind(1, 30 * MB)) shouldBe Map.empty
    }

    it("ends with the buffer of a shard that holds nothing") {
      times(behind(0, 0)) shouldBe Map.empty
    }

    it("goes as far in shards that hold nothing for want of memory as in the one that ends first") {
      val all = LongTrigger.times(
        10.seconds,
        1,
        Vector(behind(0, 4 * MB), behind(1, 10 * MB)),
        Vector(shard(2)),
        Nil,
        WatermarkAlignment.off
      )
      all shouldBe Map(shard(0) -> 7250, shard(1) -> 3500, shard(2) -> 3500)
      LongTrigger.times(10.seconds, 1, Vector.empty, Vector(shard(2)), Nil, WatermarkAlignment.off) shouldBe empty
    }

    it("goes no further than maxShardSkew beyond the shard that ends first") {
      def aligned(toCome: Long*) = LongTrigger.times(
        10.seconds,
        1,
        Vector(behind(0, 4 * MB), behind(1, 10 * MB)),
        Vector.empty,
        toCome,
        WatermarkAlignment(Some(500))
      )
      aligned() shouldBe Map(shard(0) -> 4000, shard(1) -> 3500)
      aligned(2100) shouldBe Map(shard(0) -> 2600, shard(1) -> 2600)
      aligned(1000) shouldBe Map.empty
      aligned(WatermarkAlignment.Unknown) shouldBe Map.empty
    }
  }
}
