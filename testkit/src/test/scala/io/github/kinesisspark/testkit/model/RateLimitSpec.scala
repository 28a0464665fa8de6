package io.github.kinesisspark.testkit.model

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class RateLimitSpec extends AnyFunSpec with Matchers {

  it("a rate limit grants a second's quota at once, and then as time passes") {
    val used = (1 to 5).foldLeft(RateLimit.full(5, 0))((limit, _) => limit.take(1, 0).get)
    used.take(1, 0) shouldBe None
    used.take(1, 199) shouldBe None
    used.take(1, 200) should not be empty
  }

  it("a rate limit grants one call above a second's quota, and refuses calls until that is paid back") {
    val owing = RateLimit.full(1000, 0).take(10000, 0).get
    owing.take(1, 9000) shouldBe None
    owing.take(1, 9001) should not be empty
  }

  it("a read limit refuses reads for five seconds after a 10 MiB answer") {
    val mib  = 1024L * 1024
    val read = RateLimit.full(2 * mib, 0).charge(10 * mib, 0)
    read.isFree(4999) shouldBe false
    read.isFree(5000) shouldBe true
  }

  it("a read limit grants reads until a second's quota is exceeded") {
    val mib  = 1024L * 1024
    val read = RateLimit.full(2 * mib, 0).charge(mib, 0)
    read.isFree(0) shouldBe true
    read.charge(mib, 0).isFree(0) shouldBe false
    read.charge(mib, 0).isFree(1) shouldBe true
  }

  it("a rate limit saves up at most one second's quota") {
    val limit = RateLimit.full(5, 0).take(5, 3600000).get
    limit.take(1, 3600000) shouldBe None
  }

  it("a rate limit keeps its balance if the clock is set back") {
    RateLimit.full(5, 1000).take(5, 500).get.take(1, 400) shouldBe None
  }

  it("a rate limit knows to the millisecond when it is free again") {
    val limit = RateLimit.full(1000, 0)
    for (amount <- Seq(1L, 999L, 1000L, 1001L, 5000L); now <- Seq(0L, 1L, 700L)) {
      val spent = limit.charge(amount, 0)
      val from  = spent.freeFrom(now)
      spent.isFree(from) shouldBe true
      if (from > now) spent.isFree(from - 1) shouldBe false
    }
    limit.charge(1000, 0).freeFrom(0) shouldBe 1
    limit.charge(3000, 0).freeFrom(0) shouldBe 3000
  }
}
