package io.github.kinesisspark.read.reader

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.position.ShardKey

class FanOutTelemetrySpec extends AnyFunSpec with Matchers {
  describe("telemetry of subscriptions") {
    it("shows a shard's newest subscription while the one before it is still closing") {
      val telemetry = new FanOutTelemetry(ShardTelemetry.ignored)
      val before    = telemetry.open(shard(0))
      before.live = true
      val after = telemetry.open(shard(0))
      after.live = true
      before.live = false
      before.close()
      telemetry.isLive(shard(0)) shouldBe Some(true)
      after.close()
      telemetry.isLive(shard(0)) shouldBe None
    }

    it("reports a change of a shard once, and counts refused calls by shard") {
      var changed   = Vector.empty[ShardKey]
      val shards    = new ShardTelemetry(_ => ())
      val telemetry = new FanOutTelemetry(shards, shard => changed :+= shard)
      val gauge     = telemetry.open(shard(0))
      gauge.live = true
      gauge.live = true
      telemetry.refused(shard(1))
      changed shouldBe Vector(shard(0))
      shards.of(shard(1)) shouldBe Some(ShardCounts(throttled = 1, rereadRecords = 0))
    }
  }
}
