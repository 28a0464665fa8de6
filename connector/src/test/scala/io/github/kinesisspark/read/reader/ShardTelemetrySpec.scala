package io.github.kinesisspark.read.reader

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators.shard

class ShardTelemetrySpec extends AnyFunSpec with Matchers {
  describe("the counts of a shard") {
    it("are forgotten an hour after it was counted last, if it is not read any more") {
      val counts = ShardTelemetry.ignored
      (0 to 1).foreach(n => counts.reread(shard(n), records = 1))
      val now  = System.nanoTime()
      val hour = ShardTelemetry.Remembered.toNanos
      counts.forget(_ => false, now - 1)
      counts.shards should have size 2
      counts.forget(_ == shard(1), now + hour + 1)
      counts.shards shouldBe Set(shard(1))
    }
  }
}
