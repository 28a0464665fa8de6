package io.github.kinesisspark.it.aws

import java.time.Instant

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class UsageSpec extends AnyFunSpec with Matchers {
  private val start          = Instant.parse("2025-01-01T00:00:00Z")
  private def minute(n: Int) = start.plusSeconds(60L * n)
  private def meter          = Meter.from(start)
  private def shards(n: Int) = Holding(n, 0)

  describe("a meter") {
    it("counts nothing while no shard is open") {
      meter.used(minute(10)) shouldBe Usage.none
    }

    it("counts shards and consumers x shards by the minute") {
      meter.observed(Holding(4, 8), start).used(minute(10)) shouldBe Usage(40, 80)
    }

    it("counts the larger of two observations for the time between them") {
      val observed = meter.observed(shards(2), start).observed(shards(6), minute(1)).observed(shards(0), minute(3))
      observed.used(minute(3)) shouldBe Usage(6 + 12, 0)
      observed.used(minute(60)) shouldBe Usage(18, 0)
    }

    it("counts the last observation until the next one, however late that is") {
      meter.observed(shards(3), start).used(minute(20)) shouldBe Usage(60, 0)
    }
  }

  describe("a budget") {
    it("allows as many shard-minutes and consumer-shard-minutes together as it has, and not one more") {
      Budget(100).allows(Usage(60, 40)) shouldBe true
      Budget(100).allows(Usage(61, 40)) shouldBe false
    }
  }
}
