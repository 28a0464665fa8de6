package io.github.kinesisspark.read.plan

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.aws.FailureReason
import io.github.kinesisspark.position.ShardPosition.AfterSequenceNumber

class FillTargetSpec extends AnyFunSpec with Matchers {
  private val silent  = emptyStatus(shard(1)).copy(room = 1L << 20)
  private val reading = emptyStatus(shard(0)).copy(
    position = AfterSequenceNumber(number(9)),
    records = 1000,
    bytes = 100000,
    heap = 220000,
    room = 1L << 20,
    millisBehind = Some(10001)
  )

  describe("a query that ends with what there is has readers fill their buffers") {
    def isEnough(statuses: ReaderStatus*) = FillTarget.untilTheEnd.isEnough(statuses)

    it("until they hold all that is left") {
      isEnough(reading) shouldBe false
      isEnough(reading.copy(isComplete = true)) shouldBe true
      isEnough(reading, silent.copy(isComplete = true)) shouldBe false
    }

    it("until those that have more to read hold half of what they may together") {
      val other = reading.copy(shard = shard(1))
      isEnough(reading.copy(heap = (1L << 19) - 1)) shouldBe false
      isEnough(reading.copy(heap = 1L << 19)) shouldBe true
      isEnough(reading.copy(heap = 900L << 10, isFull = true), other.copy(heap = 123L << 10)) shouldBe false
      isEnough(reading.copy(heap = 900L << 10, isFull = true), other.copy(heap = 124L << 10)) shouldBe true
      isEnough(reading.copy(heap = 1L << 19), silent.copy(millisBehind = Some(0))) shouldBe true
      isEnough(reading.copy(heap = 1L << 19), silent.copy(isComplete = true)) shouldBe true
    }

    it("until none of those can read on") {
      isEnough(reading.copy(isFull = true)) shouldBe true
      isEnough(reading.copy(isFull = true), reading.copy(shard = shard(1))) shouldBe false
    }

    it("until one has failed, or can't begin") {
      val gone = ReaderFailure(FailureReason.NotFound, "KINESIS_NOT_FOUND", "gone")
      isEnough(reading, silent.copy(starved = true)) shouldBe true
      isEnough(reading, silent.copy(failure = Some(gone))) shouldBe true
    }
  }

  describe("a query that follows its shards has readers fill their buffers") {
    def isEnough(statuses: ReaderStatus*) = FillTarget.behind.isEnough(statuses)

    it("while all that have something are more than ten seconds behind") {
      isEnough(reading) shouldBe false
      isEnough(reading, silent) shouldBe false
      isEnough(reading, silent.copy(millisBehind = Some(0))) shouldBe false
      isEnough(reading.copy(isFull = true)) shouldBe true
    }

    it("not where one that has something is nearly up to date, or doesn't say") {
      isEnough(reading.copy(millisBehind = Some(10000))) shouldBe true
      isEnough(reading.copy(millisBehind = None)) shouldBe true
      isEnough(reading, reading.copy(shard = shard(1), millisBehind = Some(0))) shouldBe true
    }
  }
}
