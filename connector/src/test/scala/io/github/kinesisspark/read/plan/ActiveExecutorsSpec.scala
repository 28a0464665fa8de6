package io.github.kinesisspark.read.plan

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class ActiveExecutorsSpec extends AnyFunSpec with Matchers {
  private val Cores  = 4
  private val Buffer = 256L << 20

  it("the number of reading executors follows from batch bytes per core and shards per buffer, and is never 0") {
    ActiveExecutors.needed(shards = 1, batchBytes = 0, Cores, Buffer) shouldBe 1
    ActiveExecutors.needed(shards = 1, batchBytes = 4L << 20, Cores, Buffer) shouldBe 1
    ActiveExecutors.needed(shards = 1, batchBytes = (4L << 20) + 1, Cores, Buffer) shouldBe 2
    ActiveExecutors.needed(shards = 1024, batchBytes = 0, Cores, Buffer) shouldBe 1
    ActiveExecutors.needed(shards = 10000, batchBytes = 0, Cores, Buffer) shouldBe 10
  }

  it("the number of reading executors grows at once, and shrinks after a minute with too many") {
    val grown = ActiveExecutors.none.next(3, 0, 1.minute)
    grown.size shouldBe 3
    def after(time: FiniteDuration, crew: ActiveExecutors, needed: Int) = crew.next(needed, time.toNanos, 1.minute)
    val ample                                                           = after(1.second, grown, 1)
    ample.size shouldBe 3
    after(59.seconds, ample, 1).size shouldBe 3
    after(61.seconds, ample, 1).size shouldBe 1
    after(61.seconds, after(30.seconds, ample, 3), 1).size shouldBe 3
    after(2.seconds, ample, 5).size shouldBe 5
  }
}
