package io.github.kinesisspark.read.plan

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class LatestPositionSearchSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {

  /** A shard as arrival times, and a service that shows so many records from a time on. */
  private final class Shard(arrivals: Vector[Long], window: Int) {
    var looks = 0

    def from(time: Long): Vector[Long] = {
      looks += 1
      arrivals.dropWhile(_ < time).take(window)
    }

    def isTip(seen: Vector[Long]): Boolean = arrivals.endsWith(seen)

    /** The newest that the search comes to, and how many records it read one after the other for that. */
    def search(now: Long): (Long, Int) = {
      @annotation.tailrec
      def go(state: LatestPositionSearch, last: Vector[Long]): (Long, Int) = state.next match {
        case None       => (arrivals.last, arrivals.length - arrivals.lastIndexOf(last.last))
        case Some(time) =>
          val seen = from(time)
          if (seen.isEmpty) go(state.foundNothing(time), last)
          else if (isTip(seen)) (seen.last, 0)
          else go(state.foundMore(time, seen.last), seen)
      }
      val first = from(0)
      if (isTip(first)) (first.last, 0) else go(LatestPositionSearch(now, first.last), first)
    }
  }

  private val shards =
    for {
      gaps <- Gen.nonEmptyListOf(
        Gen.frequency(5 -> Gen.choose(0L, 50L), 2 -> Gen.choose(0L, 100000L), 1 -> Gen.choose(0L, 100000000L))
      )
      window <- Gen.choose(1, 20)
      idle   <- Gen.oneOf(Gen.choose(0L, 1000L), Gen.choose(0L, 100000000L))
    } yield (gaps.toVector.scanLeft(0L)(_ + _), window, idle)

  it("the search for the latest record finds it in at most 60 looks, and reads about a second's records") {
    forAll(shards, minSuccessful(500)) { case (arrivals, window, idle) =>
      val shard          = new Shard(arrivals, window)
      val (newest, read) = shard.search(arrivals.last + idle)
      newest shouldBe arrivals.last
      shard.looks should be <= 60
      if (read > 0) arrivals.takeRight(read).head should be >= arrivals.last - 2000 - idle.min(1000)
    }
  }

  it("the search for the latest record on a busy shard takes two looks") {
    val shard = new Shard(Vector.tabulate(100000)(_ * 10L), window = 1000)
    shard.search(999990)._1 shouldBe 999990
    shard.looks shouldBe 2
  }

  it("the search for the latest record on a shard idle for a year takes at most 30 looks") {
    val shard = new Shard(Vector.tabulate(100000)(_ * 10L), window = 1000)
    shard.search(365L * 86400000)._1 shouldBe 999990
    shard.looks should be <= 30
  }
}
