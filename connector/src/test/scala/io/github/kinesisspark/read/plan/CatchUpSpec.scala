package io.github.kinesisspark.read.plan

import java.util.concurrent.TimeUnit.SECONDS

import scala.util.Random

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.reader.{KinesisRecord, ReadingTime, RecordBuffer, RecordTotals}
import io.github.kinesisspark.read.plan.CatchUpSpec._

/** Runs planning on real buffers through whole catch-ups of uneven shards, with readers at random speeds, restarts,
  * limits and approximate arrival times.
  */
class CatchUpSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  describe("a random catch-up of uneven shards") {
    it("reads every record, and none after records that are ahead of it by more than maxShardSkew") {
      forAll(seeds) { seed =>
        val catchUp = new CatchUp(new Random(seed))
        catchUp.run()
        catchUp.lateBy should be <= catchUp.skew + 2 * catchUp.jitter
        catchUp.left shouldBe 0
      }
    }

    it("makes progress while any shard with buffered records may advance") {
      forAll(seeds) { seed =>
        val catchUp = new CatchUp(new Random(seed))
        catchUp.run()
        catchUp.stalls shouldBe 0
      }
    }

    it("waits for a shard with failing reads no longer than the patience, and reads all other shards") {
      forAll(seeds) { seed =>
        val catchUp = new CatchUp(new Random(seed), failing = Set(0))
        catchUp.run()
        catchUp.left shouldBe catchUp.leftOf(0)
        catchUp.stalls shouldBe 0
        catchUp.longestWait should be <= Patience + SECONDS.toNanos(1)
      }
    }

    it("without alignment reads records late in most runs, which proves that the test can detect it") {
      val late = (0 until 20).map { seed =>
        val catchUp = new CatchUp(new Random(seed.toLong), aligned = false)
        catchUp.run()
        catchUp.lateBy > catchUp.skew + 2 * catchUp.jitter
      }
      late.count(identity) should be > 10
    }
  }
}

object CatchUpSpec {
  private val Patience = SECONDS.toNanos(30)

  /** A stream that is there already, and a query that reads it. */
  private final class CatchUp(random: Random, failing: Set[Int] = Set.empty, aligned: Boolean = true) {
    val skew: Long   = 1L + random.nextInt(2000)
    val jitter: Long = random.nextInt(20).toLong

    private val shards = Vector.tabulate(1 + failing.size + random.nextInt(5))(new Simulated(_))
    private val limits = Admission.Limits(
      Option.when(random.nextBoolean())(1L + random.nextInt(100)),
      Option.when(random.nextInt(3) == 0)(1L + random.nextInt(3000))
    )
    private val spacing =
      BoundarySpacing.of(
        limits != Admission.Limits.none,
        1,
        Option.when(aligned)(skew),
        shards.size * (1 + random.nextInt(1000))
      )
    private val alignment = if (aligned) WatermarkAlignment(Some(skew)) else WatermarkAlignment.off
    private var clocks    = ShardClocks()
    private var planning  = false
    private var now       = 0L
    private var newest    = Long.MinValue
    private var waited    = 0L

    var lateBy: Long      = Long.MinValue
    var stalls: Int       = 0
    var longestWait: Long = 0

    def left: Int                  = shards.map(_.left).sum
    def leftOf(n: Int): Int        = shards(n).left
    private def open               = shards.filter(s => s.left > 0 && !failing(s.n))
    private def dawdles(): Boolean = random.nextInt(3) == 0

    def run(): Unit = {
      var steps = 0
      while (open.nonEmpty && steps < 100000) {
        steps += 1
        now += SECONDS.toNanos(1) / 10
        // A restart takes back the patience that has been had.
        if (failing.isEmpty && random.nextInt(200) == 0) restart()
        // Nobody is silent for as long as the patience, but those that are to be.
        shards.foreach(s => if (!failing(s.n) && (!dawdles() || waited > Patience / 4)) s.read())
        plan()
      }
    }

    private def restart(): Unit = {
      clocks = ShardClocks()
      planning = false
      shards.foreach(_.reopen())
    }

    private def plan(): Unit = {
      if (!planning) clocks = clocks.begin(shards.map(s => s.key -> s.buffer.base).toMap, _ => Nil, _ => true, now)
      planning = true
      clocks = clocks.afterReports(shards.map(s => s.key -> s.time.reached), now)
      val buffered = shards.map(s => BatchEnds.BufferedRange(s.all, s.ahead, s.status.cut(_)))
      if (alignment.blocks(buffered.map(_.ahead), isStarved = false)) {
        waited += SECONDS.toNanos(1) / 10
        longestWait = longestWait.max(waited)
      } else {
        waited = 0
        val ends = BatchEnds(limits, alignment, random.nextInt(1000).toLong, Vector.empty)
        val cuts = shards.zip(ends.of(buffered)).collect { case (s, Some(cut)) => s.key -> cut }.toMap
        if (buffered.exists(_.all.records > 0) && !cuts.values.exists(_.records > 0)) stalls += 1
        take(cuts)
        // A batch may take longer than the patience.
        if (random.nextInt(20) == 0) now += 2 * Patience
        planning = false
      }
    }

    private def take(cuts: Map[ShardKey, CutPoint]): Unit = {
      assert(limits.maxRecords.forall(cuts.values.map(_.records).sum <= _))
      assert(limits.maxBytes.forall(cuts.values.map(_.bytes).sum <= _) || cuts.values.map(_.records).sum == 1)
      val taken = cuts.toVector.flatMap { case (shard, cut) => shards(index(shard)).take(cut) }
      // Late is what a watermark of the batches before would find late.
      if (newest != Long.MinValue) taken.foreach(r => lateBy = lateBy.max(newest - r.arrivalMillis))
      newest = (taken.map(_.arrivalMillis) :+ newest).max
      clocks = clocks.admit(for ((shard, cut) <- cuts; time <- cut.newestArrival) yield shard -> time)
    }

    private def index(shard: ShardKey) = shard.shardId.takeRight(6).toInt

    private final class Simulated(val n: Int) {
      val key: ShardKey   = shard(n)
      private val gap     = 1 + random.nextInt(200)
      private val records = Vector.tabulate(random.nextInt(200)) { i =>
        val arrival = 100000L + i * gap + random.nextInt(jitter.toInt + 1)
        KinesisRecord(number(i + 1L), "key", new Array[Byte](random.nextInt(50)), arrival)
      }
      private var read_        = 0
      private var taken        = 0
      private var behind       = Option.empty[Long]
      var time: ReadingTime    = ReadingTime.unknown
      var buffer: RecordBuffer = RecordBuffer.at(TrimHorizon)

      def left: Int = records.size - taken

      def read(): Unit = {
        val answer = records.slice(read_, read_ + random.nextInt(40)).toArray
        read_ += answer.length
        behind = Some(if (read_ == records.size) 0L else 1 + (records.last.arrivalMillis - at(read_ - 1)).max(0L))
        time = time.after(RecordTotals.of(answer), behind.get)
        buffer = buffer.append(
          answer,
          RecordTotals.of(answer),
          answer.lastOption.fold(buffer.tip)(r => AfterSequenceNumber(r.sequenceNumber))
        )
      }

      def reopen(): Unit = {
        read_ = taken
        behind = None
        time = ReadingTime.unknown
        buffer = RecordBuffer.at(buffer.base)
      }

      def all: CutPoint = CutPoint(buffer.tip, buffer.records, buffer.bytes, buffer.newestArrival, None)

      def status: ReaderStatus = statusOf(key, buffer, spacing)
        .copy(reached = time.reached, density = time.density, millisBehind = behind)

      def ahead: WatermarkAlignment.Ahead = WatermarkAlignment.Ahead(
        buffer.oldestArrival,
        buffer.newestArrival,
        if (behind.contains(0L)) None else clocks.earliestPending(key, Option.when(buffer.records == 0)(Patience), now)
      )

      def take(cut: CutPoint): Vector[KinesisRecord] = {
        val own = records.slice(taken, taken + cut.records.toInt)
        buffer.slice(buffer.base, cut.position).map(_.toVector) shouldHold own
        taken += own.size
        buffer = buffer.dropTo(cut.position).get
        own
      }

      private def at(index: Int) = if (index < 0) records.head.arrivalMillis else records(index).arrivalMillis
    }
  }

  private implicit final class Holding(found: Option[Vector[KinesisRecord]]) {
    def shouldHold(expected: Vector[KinesisRecord]): Unit = assert(found.contains(expected))
  }
}
