package io.github.kinesisspark.read.plan

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class LatestPositionSearchSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {

  /** A shard as arrival times, and a service that shows so many records from a time on. */
  private final class Shard(arrivals: Vector[Long], window: Int) {
    var looks = 0

    /** Answers that the search read on, one after the other, and where it began that first. */
    var readOn   = 0
    var readFrom = Option.empty[Long]

    def from(time: Long): Vector[Long] = {
      looks += 1
      arrivals.dropWhile(_ < time).take(window)
    }

    def isTip(seen: Vector[Long]): Boolean = arrivals.endsWith(seen)

    /** The newest that the search comes to. */
    def search(now: Long): Long = {
      @annotation.tailrec
      def go(state: LatestPositionSearch, last: Vector[Long]): Long = state.next match {
        case None =>
          looks += 1
          readOn += 1
          readFrom = readFrom.orElse(Some(last.last))
          // Of equal times, the last was seen.
          val seen = arrivals.drop(arrivals.lastIndexOf(last.last) + 1).take(window)
          if (seen.isEmpty || isTip(seen)) arrivals.last
          else go(state.readMore(seen.last), seen)
        case Some(time) =>
          val seen = from(time)
          if (seen.isEmpty) go(state.foundNothing(time), last)
          else if (isTip(seen)) seen.last
          else go(state.foundMore(time, seen.last), seen)
      }
      val first = from(0)
      if (isTip(first)) first.last else go(LatestPositionSearch(now, first.last), first)
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

  it("the search for the latest record finds it in at most 60 looks, and reads on from about a second before it") {
    forAll(shards, minSuccessful(500)) { case (arrivals, window, idle) =>
      val shard = new Shard(arrivals, window)
      shard.search(arrivals.last + idle) shouldBe arrivals.last
      shard.looks should be <= 60
      shard.readFrom.foreach(_ should be >= arrivals.last - 2000 - idle.min(1000))
    }
  }

  it("the search for the latest record reads on once, in a shard that takes no more in a second than an answer brings") {
    forAll(Gen.choose(0, 1000), Gen.choose(0L, 100000L)) { (less, idle) =>
      val shard = new Shard(Vector.tabulate(100000 - less)(_.toLong), window = 1000)
      shard.search(99999 - less + idle) shouldBe 99999 - less
      shard.readOn should be <= 1
    }
  }

  it(
    "the search for the latest record takes at most 30 looks in a shard without limits, of whose last second it reads a fifth"
  ) {
    // 50 records in a millisecond.
    val shard = new Shard(Vector.tabulate(500000)(_ / 50L), window = 1000)
    shard.search(10300) shouldBe 9999
    shard.readOn should be <= 10
    shard.looks should be <= 30
  }

  it("the search for the latest record on a busy shard takes two looks") {
    val shard = new Shard(Vector.tabulate(100000)(_ * 10L), window = 1000)
    shard.search(999990) shouldBe 999990
    shard.looks shouldBe 2
  }

  it("the search for the latest record on a shard idle for a year takes at most 30 looks") {
    val shard = new Shard(Vector.tabulate(100000)(_ * 10L), window = 1000)
    shard.search(365L * 86400000) shouldBe 999990
    shard.looks should be <= 30
  }
}
