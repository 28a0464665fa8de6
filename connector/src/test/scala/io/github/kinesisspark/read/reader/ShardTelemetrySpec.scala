package io.github.kinesisspark.read.reader

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators.shard
import io.github.kinesisspark.aws.FakeTime

class ShardTelemetrySpec extends AnyFunSpec with Matchers {
  describe("the counts of a shard") {
    it("are forgotten an hour after it was counted last, if it is not read any more") {
      val time   = new FakeTime
      val counts = ShardTelemetry.ignored(time.runtime)
      (0 to 1).foreach(n => counts.reread(shard(n), records = 1))
      time.runtime.waits.sleep(ShardTelemetry.Remembered)
      counts.forget(_ => false)
      counts.shards should have size 2
      time.runtime.waits.sleep(1.milli)
      counts.forget(_ == shard(1))
      counts.shards shouldBe Set(shard(1))
    }
  }
}
