package io.github.kinesisspark.read.stream

import scala.concurrent.duration._

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.position.ShardPosition.ShardEnd
import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.read.catalog.{Probe, ShardEnds}
import io.github.kinesisspark.read.plan.{CutPoint, LongTrigger, ReaderStatus, WatermarkAlignment}
import io.github.kinesisspark.runtime.VirtualTime

class BeyondBuffersSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks with AfterNumbers {

  /** The arrivals of a shard, whose records have the numbers from 1 on, and how often it was looked at. */
  private final class Shard(arrivals: Vector[Long], now: Long, isClosed: Boolean = false) extends BeyondBuffers.Looks {
    var looks = 0
    var tips  = 0

    override def first(at: Long): Option[Probe.Record] = {
      looks += 1
      withClue("a time that the service refuses: ")(at should be <= now)
      arrivals.zipWithIndex.find(_._1 >= at).map { case (arrival, i) =>
        Probe.Record(number(i.toLong + 1), arrival, 100)
      }
    }

    override def newest(from: ShardPosition, until: Long): ShardEnds.Extent = {
      tips += 1
      val tip  = after(arrivals.size.toLong)
      val left = from.isBefore(tip)
      ShardEnds.Extent(
        if (isClosed) ShardEnd else if (left) tip else from,
        if (left) arrivals.lastOption else None
      )
    }

    def search(time: Long, low: Long, apart: Long = 1000): Option[Long] =
      BeyondBuffers.search(time, low, now, apart)(first).map(_.arrivalMillis)

    /** Where a batch ends that goes up to a time, and what arrived last before that.
      *
      * @param skew `maxShardSkew`
      */
    def end(
        time: Long,
        status: ReaderStatus = reading,
        skew: Option[Long] = Some(10000)
    ): Option[(ShardPosition, Long)] =
      BeyondBuffers
        .end(status, time, now, questions.copy(alignment = WatermarkAlignment(skew)))(this)
        .map(end => end.position -> end.newestArrival.get)
  }

  private val questions =
    LongTrigger.Questions(
      Map(shard(0) -> 1L, shard(1) -> 1L),
      oldest = 1000,
      apart = 1000,
      within = 15.seconds,
      alignment = WatermarkAlignment(Some(10000))
    )

  /** A reader that holds ten records, the last of which arrived at 1 s. */
  private val reading = emptyStatus(shard(0)).copy(
    position = after(10),
    records = 10,
    newestArrival = Some(1000),
    reached = Some(1000)
  )

  describe("the ends of a batch beyond its readers' buffers") {
    it("are looked for as long as the trigger's interval, and then the search says so") {
      val time  = new VirtualTime()
      val check = BeyondBuffers.deadline(questions, time.runtime.clock)
      time.pass(15.seconds)
      check()
      time.pass(1.milli)
      (the[KinesisException] thrownBy check()).bareMessage shouldBe
        "2 shards were not looked into within the trigger's interval, 15 seconds."
    }

    it("are no later than maxShardSkew after the last record of a shard that ends, as its children come next") {
      def part(position: ShardPosition, newest: Option[Long]) = CutPoint(position, 0, 0, newest, None)
      val statuses = (0 to 3).map(n => shard(n) -> reading.copy(shard = shard(n))).toMap +
        (shard(4) -> reading.copy(shard = shard(4), newestArrival = Some(59000), reached = Some(60000))) +
        (shard(5) -> emptyStatus(shard(5)))
      val ended    = part(ShardEnd, Some(50000))
      val early    = part(after(20), Some(60000))
      val late     = part(after(30), Some(180000))
      val repeated = part(after(25), Some(60010))
      def aligned(skew: Option[Long], ends: Map[ShardKey, CutPoint]) = {
        var asked = Map.empty[ShardKey, Long]
        val found = BeyondBuffers.aligned(ends, statuses, questions.copy(alignment = WatermarkAlignment(skew))) {
          times =>
            asked = times
            times.transform((_, _) => repeated)
        }
        (asked, found)
      }
      val ends = Map(shard(0) -> ended, shard(1) -> early, shard(2) -> late, shard(3) -> late, shard(4) -> late)
      val (asked, found) = aligned(Some(10000), ends)
      asked shouldBe Map(shard(2) -> 60000L, shard(3) -> 60000L)
      found shouldBe Map(shard(0) -> ended, shard(1) -> early, shard(2) -> repeated, shard(3) -> repeated)
      aligned(None, ends) shouldBe ((Map.empty, ends))
      aligned(Some(10000), ends - shard(0)) shouldBe ((Map.empty, ends - shard(0)))
      // Without a record or an answer, nothing is known of when its children begin.
      val unknown = shard(5) -> part(ShardEnd, None)
      aligned(Some(10000), Map(unknown, shard(2) -> late)) shouldBe ((Map.empty, Map(unknown)))
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

    it("is the newest record, where that arrived more than maxShardSkew before the wanted time") {
      val shard = new Shard(Vector.tabulate(501)(_ * 100L), now = 400000)
      shard.end(time = 180000) shouldBe Some(after(501) -> 50000L)
      shard.end(time = 61000) shouldBe Some(after(501) -> 50000L)
      new Shard(Vector.tabulate(501)(_ * 100L), now = 150000).end(time = 180000) shouldBe Some(after(501) -> 50000L)
    }

    it(
      "is within a second of the newest record, without another look, where that is less long ago or maxShardSkew is off"
    ) {
      val shard = new Shard(Vector.tabulate(501)(_ * 100L), now = 400000)
      shard.end(time = 58000).map(_._2).get should (be >= 49000L and be <= 50000L)
      shard.end(time = 180000, skew = None).map(_._2).get should (be >= 49000L and be <= 50000L)
      shard.tips shouldBe 0
    }

    it("is the end of its shard, where that was closed more than maxShardSkew before the wanted time") {
      val shard = new Shard(Vector.tabulate(501)(_ * 100L), now = 400000, isClosed = true)
      shard.end(time = 180000) shouldBe Some(ShardEnd -> 50000L)
      shard.end(time = 20000) shouldBe Some(after(201) -> 20000L)
    }

    it("is the newest record, where all that is left arrived before the times that are searched") {
      val records    = new Shard(Vector.tabulate(11)(_ * 100L), now = 400000)
      val unanswered = emptyStatus(shard(0)).copy(position = after(2))
      records.end(time = 180000, unanswered) shouldBe Some(after(11) -> 1000L)
      records.end(time = 180000) shouldBe Some(after(11) -> 1000L)
    }

    it("is none, where the reader stands at the newest record") {
      val records = new Shard(Vector.tabulate(10)(_ * 100L), now = 400000)
      records.end(time = 180000) shouldBe None
      records.end(time = 180000, emptyStatus(shard(0)).copy(position = after(10))) shouldBe None
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
