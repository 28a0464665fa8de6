package io.github.kinesisspark.read.reader

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.position.ShardKey

class PoolTelemetrySpec extends AnyFunSpec with Matchers {
  private val records = Array(1, 2).map(n => KinesisRecord(number(n.toLong), "key", Array[Byte](1, 2, 3), 0))
  private val totals  = RecordTotals.of(records)

  describe("the counts of a pool of readers") {
    it("add up over shards, and are there by shard") {
      val telemetry = new PoolTelemetry(_ => ())
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
      val telemetry = new PoolTelemetry(changed :+= _)
      telemetry.read(shard(0), totals)
      changed shouldBe empty
      telemetry.reread(shard(0), records)
      telemetry.polled.throttled(shard(1))
      telemetry.subscribed.open(shard(2)).live = true
      changed shouldBe Vector(shard(0), shard(1), shard(2))
    }

    it("of all shards have those that are read by subscription and have counted nothing yet") {
      val telemetry = new PoolTelemetry(_ => ())
      telemetry.read(shard(0), totals)
      telemetry.subscribed.open(shard(1)).live = true
      telemetry.allCounts(reading = Vector(shard(1), shard(2))).map { case (shard, counts) =>
        shard -> counts.isSubscribed
      } should contain theSameElementsAs Seq(shard(0) -> None, shard(1) -> Some(true))
    }

    it("have subscriptions by fan-out alone") {
      val telemetry = new PoolTelemetry(_ => ())
      telemetry.totals(bufferedBytes = 0, isFanOut = false).subscriptions shouldBe None
      telemetry.totals(bufferedBytes = 0, isFanOut = true).subscriptions should not be empty
    }
  }
}
