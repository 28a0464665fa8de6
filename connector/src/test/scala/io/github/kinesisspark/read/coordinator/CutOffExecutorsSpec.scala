package io.github.kinesisspark.read.coordinator

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.{ShardKey, StreamArn}
import io.github.kinesisspark.read.coordinator.StubChannel.status
import io.github.kinesisspark.read.plan.{ExecutorId, ReaderStatus}

class CutOffExecutorsSpec extends AnyFunSpec with Matchers {
  private val first  = ExecutorId("1", "host-1")
  private val second = ExecutorId("2", "host-2")

  /** Shards 0 and 1 are read on the first executor, the others on the second. */
  private def among(statuses: ReaderStatus*) =
    CutOffExecutors.among(statuses, shard => Some(if (shard == shard0 || shard == shard1) first else second))

  private val shard0 = shard(0)
  private val shard1 = shard(1)

  private def silentFor(millis: Long, of: Int) = status(shard(of), records = 0).copy(millisSinceAnswer = Some(millis))

  describe("an executor that Kinesis doesn't answer while it answers others") {
    it("is one none of whose readers has had an answer for 20 s") {
      among(silentFor(20001, 0), silentFor(20001, 1), silentFor(0, 2)) shouldBe Set(first)
      among(silentFor(20000, 0), silentFor(20000, 1), silentFor(0, 2)) shouldBe empty
      among(silentFor(20001, 0), silentFor(0, 1), silentFor(0, 2)) shouldBe empty
    }

    it("is also one whose readers wait for their first answers") {
      val opening = status(shard(0), records = 0).copy(millisSinceAnswer = None, openingMillis = Some(20001))
      among(opening, silentFor(0, 2)) shouldBe Set(first)
    }

    it("is none where no other has answers") {
      among(silentFor(20001, 0)) shouldBe empty
      among(silentFor(20001, 0), silentFor(20001, 2)) shouldBe empty
    }

    it("is not one whose stream answers no other") {
      val other = ShardKey(StreamArn("arn:aws:kinesis:eu-west-1:000000000000:stream/other"), "shardId-000000000002")
      among(silentFor(20001, 0), status(other, records = 0)) shouldBe empty
    }

    it("is none whose readers make no calls, for lack of memory or as all is read") {
      val full     = silentFor(60000, 0).copy(isFull = true)
      val starved  = silentFor(60000, 0).copy(starved = true)
      val complete = silentFor(60000, 0).copy(isComplete = true)
      for (one <- Seq(full, starved, complete)) among(one, silentFor(0, 2)) shouldBe empty
    }
  }
}
