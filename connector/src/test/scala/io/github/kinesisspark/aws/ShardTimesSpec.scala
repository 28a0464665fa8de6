package io.github.kinesisspark.aws

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.position.{HashKeyRange, Shard}

class ShardTimesSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private val day = 24L * 3600 * 1000

  describe("opening and closing times of a chain of split shards") {
    it("are found within one second by at most 18 calls per change, also for short-lived shards") {
      forAll(Gen.choose(1, 6).flatMap(n => Gen.listOfN(n, Gen.choose(1L, day)))) { moments =>
        val changes = moments.sorted.toVector
        // Shard i is open from the (i-1)th change to the i-th.
        def openAt(t: Long) = Set(changes.count(_ <= t).toString)
        val shards          = (0 to changes.size).map { i =>
          Shard(i.toString, if (i == 0) Nil else Seq((i - 1).toString), HashKeyRange(0, 1), closed = i < changes.size)
        }
        var asked = 0
        val times = ShardTimes
          .find(0, day, Set(changes.size.toString)) { t =>
            asked += 1
            openAt(t)
          }
          .withShortLived(shards, 0)
        times.closed.keySet shouldBe shards.filter(_.closed).map(_.id).toSet
        changes.zipWithIndex.foreach { case (change, i) =>
          times.closed(i.toString) - change should (be >= -1000L and be <= 1000L)
          times.opened.getOrElse((i + 1).toString, 0L) - change should (be >= -1000L and be <= 1000L)
        }
        asked should be <= 1 + 18 * changes.size
      }
    }

    it("are found by a bounded number of calls after thousands of reshards, though not to the second") {
      def id(n: Long) = f"$n%06d"
      val count       = 5000
      val shards      = (0 to count).map { i =>
        Shard(id(i), if (i == 0) Nil else Seq(id(i - 1)), HashKeyRange(0, 1), closed = i < count)
      }
      var asked           = 0
      def openAt(t: Long) = {
        asked += 1
        Set(id((t / 10000L).min(count.toLong)))
      }
      val times = ShardTimes.find(0, day, Set(id(count)))(openAt).withShortLived(shards, 0)
      asked shouldBe ShardTimes.MostQuestions
      times.closed.keySet shouldBe shards.filter(_.closed).map(_.id).toSet
      shards.filter(_.closed).foreach { shard =>
        times.closed(shard.id) - (shard.id.toLong + 1) * 10000L should (be >= -1000L and be <= day / 128)
      }
    }
  }
}
