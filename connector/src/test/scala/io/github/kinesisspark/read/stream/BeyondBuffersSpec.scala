package io.github.kinesisspark.read.stream

import scala.concurrent.duration._

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.read.catalog.Probe
import io.github.kinesisspark.read.plan.LongTrigger
import io.github.kinesisspark.runtime.VirtualTime

class BeyondBuffersSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {

  /** The arrivals of a shard, and how often it was looked at. */
  private final class Shard(arrivals: Vector[Long], now: Long) {
    var looks = 0

    def search(time: Long, low: Long, apart: Long = 1000): Option[Long] = BeyondBuffers
      .search(time, low, now, apart) { at =>
        looks += 1
        withClue("a time that the service refuses: ")(at should be <= now)
        arrivals.zipWithIndex.find(_._1 >= at).map { case (arrival, i) =>
          Probe.Record(number(i.toLong + 1), arrival, 100)
        }
      }
      .map(_.arrivalMillis)
  }

  describe("the ends of a batch beyond its readers' buffers") {
    it("are looked for as long as the trigger's interval, and then the search says so") {
      val time      = new VirtualTime()
      val questions = LongTrigger.Questions(Map(shard(0) -> 1L, shard(1) -> 1L), oldest = 0, apart = 1000, 15.seconds)
      val look      = BeyondBuffers.inTime(questions, time.runtime.clock)((_, _) => None)
      time.pass(15.seconds)
      look(shard(0), 1L) shouldBe None
      time.pass(1.milli)
      (the[KinesisException] thrownBy look(shard(1), 1L)).bareMessage shouldBe
        "2 shards were not looked into within the trigger's interval, 15 seconds."
    }
  }

  describe("the end of a batch beyond a reader's buffer") {
    it("is the first record that arrived at the wanted time, found by one look") {
      val shard = new Shard(Vector.tabulate(1000)(_ * 100L), now = 200000)
      shard.search(time = 50050, low = 1000) shouldBe Some(50100)
      shard.looks shouldBe 1
    }

    it(
      "is within a second of the newest record, found by two looks, where the wanted time is in the future and records keep coming"
    ) {
      val shard = new Shard(Vector.tabulate(1000)(_ * 100L), now = 100000)
      shard.search(time = 500000, low = 1000) shouldBe Some(99000)
      shard.looks shouldBe 2
    }

    it("is as close to the newest record as it is to be, where all of them arrived within a second") {
      val shard = new Shard(Vector.tabulate(1000)(100000L + _), now = 109000)
      shard.search(time = 500000, low = 100100, apart = 40).get should be >= 100959L
      shard.looks should be <= 15
    }

    it(
      "is within a second of the newest record in at most 40 looks, where nothing has arrived since, for however long"
    ) {
      val shards = for {
        gaps <- Gen.nonEmptyListOf(Gen.frequency(5 -> Gen.choose(0L, 500L), 1 -> Gen.choose(0L, 10000000L)))
        idle <- Gen.oneOf(Gen.choose(0L, 5000L), Gen.choose(0L, 100000000L))
        time <- Gen.choose(0L, 200000000L)
      } yield (gaps.toVector.scanLeft(0L)(_ + _), idle, time)
      forAll(shards, minSuccessful(500)) { case (arrivals, idle, time) =>
        val now   = arrivals.last + idle
        val shard = new Shard(arrivals, now)
        val found = shard.search(time, low = arrivals.head)
        shard.looks should be <= 40
        found match {
          case Some(end) if time < now - 1000 && arrivals.last >= time => end shouldBe arrivals.find(_ >= time).get
          case Some(end)                                               => end should be >= arrivals.last - 3000
          case None => arrivals.last - arrivals.head should be <= 3000L
        }
      }
    }
  }
}
