package io.github.kinesisspark.write.pack

import scala.util.Random

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators.seeds
import io.github.kinesisspark.Histories
import io.github.kinesisspark.aggregation.{AggregatedRecord, UserRecords}
import io.github.kinesisspark.config.StreamRef
import io.github.kinesisspark.position.{HashKey, HashKeyRange, Shard}
import io.github.kinesisspark.write.send.{Entry, RowId}

/** Aggregates random rows for a stream with continuous splits and merges, answers in any order and lost answers.
  * Compares the rows written with those that this connector's source and the KCL read.
  */
class StreamPackingSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private def runs(tries: Int)(check: Random => Any) =
    forAll(seeds, minSuccessful(Histories.of(tries)))(seed => check(new Random(seed)): Unit)

  describe("aggregated rows") {
    it("are read at least once by the source and the KCL through reshards and lost answers, and counted once") {
      runs(150) { random =>
        val run = new Run(random, ordered = random.nextBoolean(), reshards = true)
        run.finish()
        run.seenBySource.distinct.sorted shouldBe run.all
        run.seenByKcl.distinct.sorted shouldBe run.all
      }
    }

    it("are read once on a stream without reshards or lost answers, from fewer records than rows") {
      runs(50) { random =>
        val run = new Run(random, ordered = random.nextBoolean(), reshards = false, losses = 0)
        run.finish()
        run.seenBySource.sorted shouldBe run.all
        run.seenByKcl.sorted shouldBe run.all
        if (run.all.size > 100) run.log.size should be < run.all.size
      }
    }

    it("keep their order per hash key apart from repeats, if ordered") {
      runs(150) { random =>
        val run = new Run(random, ordered = true, reshards = true)
        run.finish()
        for (seen <- Seq(run.seenBySource, run.seenByKcl))
          seen.distinct.groupBy(run.hashKeyOf).values.foreach(rows => rows shouldBe rows.sorted)
      }
    }

    it("keep their order per partition key, whatever their hash keys, if ordered and no shard is known") {
      runs(50) { random =>
        val run = new Run(random, ordered = true, reshards = true, deaf = random.nextBoolean(), blind = true)
        run.finish()
        for (seen <- Seq(run.seenBySource, run.seenByKcl))
          seen.distinct.groupBy(run.partitionKeyOf).values.foreach(rows => rows shouldBe rows.sorted)
      }
    }

    it("are all read by the source and the KCL though half of the shard listings are stale") {
      runs(100) { random =>
        val run = new Run(random, ordered = random.nextBoolean(), reshards = true, stale = 0.5)
        run.finish()
        run.seenBySource.distinct.sorted shouldBe run.all
        run.seenByKcl.distinct.sorted shouldBe run.all
      }
    }

    it(
      "are all read by the source and the KCL from a server that ignores explicit hash keys"
    ) {
      runs(50) { random =>
        val run = new Run(random, ordered = random.nextBoolean(), reshards = false, deaf = true)
        run.finish()
        run.seenBySource.distinct.sorted shouldBe run.all
        run.seenByKcl.distinct.sorted shouldBe run.all
      }
    }

    it("are reported as rejected if their record is refused for good, and all others are read") {
      runs(50) { random =>
        val run = new Run(random, ordered = random.nextBoolean(), reshards = true, rejections = 0.05)
        run.finish()
        (run.seenByKcl ++ run.rejected).distinct.sorted shouldBe run.all
      }
    }
  }

  describe("a packer of aggregated records") {
    it("has at most one record in flight per shard, if ordered") {
      val shards = UserRecords.shards.sample.get
      val packer = new StreamPacking(maxBytes, ordered = true, shards)
      (0 until 500).foreach(n => packer.add(entry(n, 50, None)))
      packer.flush()
      val sent = packer.underWay.map(_.shard.get.id).toVector
      sent.distinct.size shouldBe sent.size
    }

    it("has at most one record in flight per partition key if ordered and no shard is known") {
      val packer = new StreamPacking(maxBytes, ordered = true, Vector.empty)
      val sent   = Seq(0, 50, 100).flatMap(row => packer.add(entry(row, 50, Some(BigInt(row)))))
      sent.map(_.row.row) shouldBe Seq(0)
      packer.add(entry(1, 50, Some(0))).map(_.row.row) shouldBe Seq(1)
      packer.rejected(sent.head).map(_.row.row) shouldBe Seq(50)
    }

    it("sends rows that wait for a new plan in their order, though they waited for several shards, if ordered") {
      val halves  = Vector(HashKeyRange(0, HashKey.Last / 2), HashKeyRange(HashKey.Last / 2 + 1, HashKey.Last))
      val shards  = halves.zipWithIndex.map { case (keys, n) => Shard(f"shardId-$n%012d", Nil, keys, closed = false) }
      val packer  = new StreamPacking(maxBytes, ordered = true, shards)
      val hashKey = Vector(HashKey.Last, BigInt(0))
      // Of one partition key, by turns for either shard, each too large to be packed.
      val sent = (0 until 6).flatMap(n => packer.add(entry(50 * n, 1000, Some(hashKey(n % 2)))))
      sent.map(_.row.row) shouldBe Seq(0, 50)
      // No shard has both hash keys.
      packer.taken(sent.head, shards.head.id) shouldBe empty
      var next  = packer.taken(sent.last, shards.head.id)
      var order = Vector.empty[Long]
      while (next.nonEmpty) {
        order ++= next.map(_.row.row)
        next = next.flatMap(packer.taken(_, shards.head.id))
      }
      order shouldBe Vector(100, 150, 200, 250)
    }

    it("packs by the current shards after a merge that repeated no row") {
      val left   = Shard("shardId-000000000000", Nil, HashKeyRange(0, HashKey.Last / 2), closed = false)
      val right  = Shard("shardId-000000000001", Nil, HashKeyRange(HashKey.Last / 2 + 1, HashKey.Last), closed = false)
      val merged = Shard("shardId-000000000002", Seq(left.id, right.id), HashKeyRange.all, closed = false)
      val packer = new StreamPacking(maxBytes, ordered = false, Vector(left, right))
      val sent   = packer.add(entry(0, 1000, None))
      packer.relist(Vector(left, right).map(_.copy(closed = true)) :+ merged)
      packer.taken(sent.head, merged.id)
      packer.add(entry(1, 10, Some(0)))
      packer.add(entry(2, 10, Some(HashKey.Last)))
      packer.flush()
      packer.underWay.map(_.records.size).toVector shouldBe Vector(2)
    }

    it("counts the memory of the records that it has not sent, so that a flush adds none") {
      val one = Shard("shardId-000000000000", Nil, HashKeyRange.all, closed = false)
      for (ordered <- Seq(false, true)) withClue(s"ordered = $ordered: ") {
        val packer                   = new StreamPacking(50 << 10, ordered, Vector(one))
        val (earlier, later)         = Vector.tabulate(40)(entry(_, 100, None)).splitAt(20)
        def dataOf(rows: Seq[Entry]) = rows.map(_.data.length.toLong).sum
        // Without the records that were sent, whose memory is counted elsewhere.
        def flushed(rows: Vector[Entry]) = {
          rows.flatMap(packer.add) shouldBe empty
          val before = packer.heldBytes
          before should be > Entry.weightOf(rows) + dataOf(rows)
          val sent = packer.flush()
          packer.heldBytes + Entry.weightOf(sent) should be <= before
          sent
        }
        val first  = flushed(earlier)
        val second = flushed(later)
        second should have size (if (ordered) 0 else 1)
        if (ordered) packer.heldBytes should be > Entry.weightOf(earlier ++ later) + dataOf(later)
        val next = first.flatMap(packer.taken(_, one.id)) ++ second
        next.flatMap(packer.taken(_, one.id)) shouldBe empty
        packer.heldBytes shouldBe 0
      }
    }

    it("needs a new listing only if an answer names an unknown shard") {
      val one    = Shard("shardId-000000000000", Nil, HashKeyRange.all, closed = false)
      val packer = new StreamPacking(maxBytes, ordered = false, Vector(one))
      val sent   = packer.add(entry(0, 1000, None))
      packer.knows(one.id) shouldBe true
      packer.knows("shardId-000000000001") shouldBe false
      packer.taken(sent.head, one.id)
      packer.rows shouldBe 1
    }
  }

  private val maxBytes = 500

  private def entry(row: Int, size: Int, hashKey: Option[BigInt]) = {
    val data = java.nio.ByteBuffer.allocate(4 + size).putInt(row).array
    new Entry(StreamRef.ByName("events"), s"key-${row % 50}", hashKey, data, RowId("run", 0, row.toLong))
  }

  private final class Run(
      random: Random,
      ordered: Boolean,
      reshards: Boolean,
      losses: Double = 0.1,
      stale: Double = 0,
      deaf: Boolean = false,
      blind: Boolean = false,
      rejections: Double = 0
  ) {
    private val rows = Vector.tabulate(1 + random.nextInt(600)) { row =>
      val hashKey = Option.when(random.nextInt(5) == 0)(BigInt(128, random.self))
      entry(row, if (random.nextInt(40) == 0) 800 else random.nextInt(60), hashKey)
    }
    private var shards   = Vector(Shard(id(0), Nil, HashKeyRange.all, closed = false))
    private var listings = Vector.empty[Vector[Shard]]
    (0 until random.nextInt(5)).foreach(_ => split())
    private val packing  = new StreamPacking(maxBytes, ordered, listed)
    private var underWay = Vector.empty[Entry]

    /** Each record with the shard that took it in, in order. */
    var log      = Vector.empty[(Shard, Entry)]
    var rejected = Vector.empty[Int]

    val all: Vector[Int]                 = rows.indices.toVector
    def hashKeyOf(row: Int): BigInt      = rows(row).hashKey
    def partitionKeyOf(row: Int): String = rows(row).partitionKey
    def seenBySource: Vector[Int]        = log.flatMap { case (shard, record) => rowsOf(record, shard.hashKeys) }
    def seenByKcl: Vector[Int]           = log.flatMap { case (shard, record) =>
      UserRecords.toKcl(record.data, shard.hashKeys).map(r => rowOf(r._1.data))
    }

    def finish(): Unit = {
      rows.foreach { row =>
        settle(packing.add(row))
        if (random.nextInt(20) == 0) reshard()
        if (random.nextInt(50) == 0) settle(packing.flush())
        while (underWay.sizeIs > 8 || (underWay.nonEmpty && random.nextInt(3) == 0)) answer()
      }
      while (packing.heldRows > 0) {
        settle(packing.flush())
        withClue("rows wait for nothing: ")(underWay should not be empty)
        log.size should be < 50 * rows.size + 100
        answer()
        if (random.nextInt(30) == 0) reshard()
      }
      underWay shouldBe empty
      packing.heldBytes shouldBe 0
      packing.awaitsAnswers shouldBe false
      packing.rows shouldBe rows.size - rejected.size
    }

    private def rowsOf(record: Entry, keys: HashKeyRange) = AggregatedRecord.read(record.data) match {
      case several: AggregatedRecord.Aggregated => several.within(keys).map(user => rowOf(user.record.data))
      case _                                    => Vector(rowOf(record.data))
    }

    private def settle(sent: Vector[Entry]): Unit = underWay ++= sent

    private def answer(): Unit = {
      val record = underWay(random.nextInt(underWay.size))
      if (random.nextDouble() < losses) take(record): Unit
      underWay = underWay.filterNot(_ eq record)
      if (random.nextDouble() < rejections) {
        rejected ++= rowsOf(record, HashKeyRange.all)
        settle(packing.rejected(record))
      } else {
        val shard = take(record)
        if (!packing.knows(shard)) packing.relist(listed)
        settle(packing.taken(record, shard))
      }
    }

    private def listed =
      if (blind) Vector.empty
      else if (listings.nonEmpty && random.nextDouble() < stale) listings(random.nextInt(listings.size))
      else shards

    private def take(record: Entry): String = {
      val hashKey = if (deaf) HashKey.of(record.partitionKey) else record.hashKey
      val taker   = shards.find(s => !s.closed && s.hashKeys.contains(hashKey)).get
      log :+= ((taker, record))
      taker.id
    }

    private def reshard(): Unit = if (reshards) {
      listings :+= shards
      if (random.nextBoolean()) split() else merge()
    }

    private def split(): Unit = {
      val open   = shards.filterNot(_.closed)
      val parent = open(random.nextInt(open.size))
      val middle = (parent.hashKeys.start + parent.hashKeys.end) / 2
      if (middle < parent.hashKeys.end)
        replace(
          Vector(parent),
          HashKeyRange(parent.hashKeys.start, middle),
          HashKeyRange(middle + 1, parent.hashKeys.end)
        )
    }

    private def merge(): Unit = {
      val open = shards.filterNot(_.closed).sortBy(_.hashKeys.start)
      if (open.size > 1) {
        val at = random.nextInt(open.size - 1)
        replace(open.slice(at, at + 2), HashKeyRange(open(at).hashKeys.start, open(at + 1).hashKeys.end))
      }
    }

    private def replace(parents: Vector[Shard], ranges: HashKeyRange*): Unit = {
      val children = ranges.zipWithIndex.map { case (range, i) =>
        Shard(id(shards.size + i), parents.map(_.id), range, closed = false)
      }
      shards = shards.map(s => if (parents.contains(s)) s.copy(closed = true) else s) ++ children
    }

    private def id(n: Int) = f"shardId-$n%012d"

    private def rowOf(data: Array[Byte]) = java.nio.ByteBuffer.wrap(data).getInt
  }
}
