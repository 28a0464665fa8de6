package io.github.kinesisspark.read.stream

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.aws.FailureReason
import io.github.kinesisspark.position.ShardPosition.AfterSequenceNumber
import io.github.kinesisspark.read.reader.{KinesisRecord, ReaderFailure, ShardTip}

class AvailableNowSpec extends AnyFunSpec with Matchers {
  private val other   = emptyTip(shard(1)).copy(room = 1L << 20)
  private val reading = emptyTip(shard(0)).copy(
    position = AfterSequenceNumber(number(9)),
    records = 1000,
    bytes = 100000,
    room = 1L << 20
  )
  private def isWorth(others: ShardTip*) = AvailableNow.isWorthABatch(reading +: others)

  describe("AvailableNow makes a batch of what readers hold") {
    it("where that is all that is left, and not before") {
      isWorth() shouldBe false
      AvailableNow.isWorthABatch(Seq(reading.copy(isComplete = true))) shouldBe true
      isWorth(other.copy(isComplete = true)) shouldBe false
    }

    it("where one reader holds half of what it may, counted as memory counts it") {
      val overhead = 1000 * KinesisRecord.Overhead
      isWorth(reading.copy(bytes = (1L << 19) - overhead - 1)) shouldBe false
      isWorth(reading.copy(bytes = (1L << 19) - overhead)) shouldBe true
    }

    it("where a reader can't read on") {
      isWorth(reading.copy(isFull = true)) shouldBe true
      isWorth(other.copy(starved = true)) shouldBe true
      isWorth(
        other.copy(failure = Some(ReaderFailure(FailureReason.NotFound, "KINESIS_NOT_FOUND", "gone")))
      ) shouldBe true
    }
  }
}
