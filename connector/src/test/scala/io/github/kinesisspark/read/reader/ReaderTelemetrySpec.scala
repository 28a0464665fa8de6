package io.github.kinesisspark.read.reader

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.aws.FakeTime
import io.github.kinesisspark.position.ShardKey

class ReaderTelemetrySpec extends AnyFunSpec with Matchers {
  private val records = Array(1, 2).map(n => KinesisRecord(number(n.toLong), "key", Array[Byte](1, 2, 3), 0))
  private val totals  = RecordTotals.of(records)

  describe("the counts of readers") {
    it("add up over shards, and are there by shard") {
      val telemetry = new ReaderTelemetry
      for (n <- 0 to 1) telemetry.read(shard(n), totals)
      telemetry.reread(shard(1), records)
      telemetry.deliver(UserRecordCount.none.copy(records = 2))
      telemetry.deliver(UserRecordCount.none.copy(records = 3))
      val all = telemetry.totals(bufferedBytes = 7, isFanOut = false)
      all.reads shouldBe ReadCount(reads = 2, records = 4, bytes = totals.bytes * 2)
      (all.bufferedBytes, all.rereadRecords, all.rereadBytes, all.delivered.records) shouldBe ((7, 2, totals.bytes, 5))
      telemetry.counts(Vector(shard(1), shard(2))).map { case (shard, counts) =>
        (shard, counts.reads.records, counts.rereadRecords)
      } shouldBe Vector((shard(1), 2, 2))
    }

    it("name a shard that changed, unless by a delivery") {
      var changed   = Vector.empty[ShardKey]
      val telemetry = new ReaderTelemetry(changed :+= _)
      telemetry.read(shard(0), totals)
      changed shouldBe empty
      telemetry.reread(shard(0), records)
      telemetry.throttledPoll(shard(1))
      val gauge = telemetry.open(shard(2))
      gauge.live = true
      gauge.live = true
      telemetry.refusedSubscription(shard(3))
      changed shouldBe Vector(shard(0), shard(1), shard(2), shard(3))
    }

    it("of all shards have those that are read by subscription and have counted nothing yet") {
      val telemetry = new ReaderTelemetry
      telemetry.read(shard(0), totals)
      telemetry.open(shard(1)).live = true
      telemetry.allCounts(reading = Vector(shard(1), shard(2))).map { case (shard, counts) =>
        shard -> counts.isSubscribed
      } should contain theSameElementsAs Seq(shard(0) -> None, shard(1) -> Some(true))
    }

    it("have subscriptions by fan-out alone") {
      val telemetry = new ReaderTelemetry
      telemetry.totals(bufferedBytes = 0, isFanOut = false).subscriptions shouldBe None
      telemetry.totals(bufferedBytes = 0, isFanOut = true).subscriptions should not be empty
    }

    it("are forgotten an hour after a shard was counted last, if it is not read any more") {
      val time      = new FakeTime
      val telemetry = new ReaderTelemetry()(time.runtime)
      def counted   = telemetry.allCounts(reading = Vector.empty).map(_._1).toSet
      (0 to 1).foreach(n => telemetry.reread(shard(n), records))
      time.runtime.waits.sleep(ReaderTelemetry.Remembered)
      telemetry.forget(_ => false)
      counted should have size 2
      time.runtime.waits.sleep(1.milli)
      telemetry.forget(_ == shard(1))
      counted shouldBe Set(shard(1))
    }

    it("have refused calls by shard") {
      val telemetry = new ReaderTelemetry
      telemetry.throttledPoll(shard(1))
      telemetry.refusedSubscription(shard(1))
      telemetry.counts(Vector(shard(1))) shouldBe Vector(shard(1) -> ShardCounts(throttled = 2, rereadRecords = 0))
    }

    it("show a shard's newest subscription while the one before it is still closing") {
      val telemetry    = new ReaderTelemetry
      def isSubscribed = telemetry.counts(Vector(shard(0))).flatMap(_._2.isSubscribed)
      val before       = telemetry.open(shard(0))
      before.live = true
      val after = telemetry.open(shard(0))
      after.live = true
      before.live = false
      before.close()
      isSubscribed shouldBe Vector(true)
      after.close()
      isSubscribed shouldBe empty
    }
  }
}
