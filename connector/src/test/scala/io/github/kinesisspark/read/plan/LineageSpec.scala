package io.github.kinesisspark.read.plan

import scala.util.Random

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position._
import io.github.kinesisspark.position.ShardPosition._

class LineageSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private def shardOf(n: Int, closed: Boolean, parents: Int*) =
    Shard(shardId(n), parents.map(shardId), HashKeyRange(0, 1), closed)
  private def known(shards: (Int, ShardPosition)*) =
    shards.map { case (n, p) => shardId(n) -> ShardProgress(p) }.toMap
  private val reading = AfterSequenceNumber(number(1))

  describe("what enters next") {
    val split = Lineage(Seq(shardOf(0, closed = true), shardOf(1, closed = false, 0), shardOf(2, closed = false, 0)))

    it("is nothing while the parent is being read") {
      split.entering(known(0 -> reading)) shouldBe empty
    }

    it("is both halves of a split when the parent is read") {
      split.entering(known(0 -> ShardEnd)) shouldBe Vector(shardId(1), shardId(2))
    }

    it("is the other half, when only one has entered before") {
      split.entering(known(0 -> ShardEnd, 1 -> reading)) shouldBe Vector(shardId(2))
      split.entering(known(1 -> reading)) shouldBe Vector(shardId(2))
    }

    it("is a merge's child only after both parents") {
      val merge = Lineage(Seq(shardOf(0, closed = true), shardOf(1, closed = true), shardOf(2, closed = false, 0, 1)))
      merge.entering(known(0 -> ShardEnd, 1 -> reading)) shouldBe empty
      merge.entering(known(0 -> ShardEnd, 1 -> ShardEnd)) shouldBe Vector(shardId(2))
    }

    it("is a child whose parent is past retention") {
      Lineage(Seq(shardOf(5, closed = false, 3), shardOf(6, closed = false)))
        .entering(known(6 -> reading)) shouldBe Vector(shardId(5))
    }

    it("is never a shard whose descendants are being read") {
      val chain = Lineage(Seq(shardOf(0, closed = true), shardOf(1, closed = true, 0), shardOf(2, closed = false, 1)))
      chain.entering(known(2 -> reading)) shouldBe empty
    }

    it("is not a grandchild before its parent") {
      val chain = Lineage(Seq(shardOf(0, closed = true), shardOf(1, closed = true, 0), shardOf(2, closed = false, 1)))
      chain.entering(known(0 -> ShardEnd)) shouldBe Vector(shardId(1))
    }
  }

  describe("what leaves") {
    it("is a finished shard when all its children are in") {
      val split = Lineage(Seq(shardOf(0, closed = true), shardOf(1, closed = false, 0), shardOf(2, closed = false, 0)))
      split.retiring(known(0 -> ShardEnd, 1 -> reading)) shouldBe empty
      split.retiring(known(0 -> ShardEnd, 1 -> reading, 2 -> reading)) shouldBe Set(shardId(0))
      split.retiring(known(0 -> reading, 1 -> reading, 2 -> reading)) shouldBe empty
    }
  }

  describe("what is lost") {
    it("is an unfinished shard that is no longer listed") {
      Lineage(Seq(shardOf(1, closed = false))).lost(known(0 -> reading, 1 -> reading, 2 -> ShardEnd)) shouldBe Vector(
        shardId(0)
      )
    }
  }

  /** A stream's whole life against the simplest reader there can be: each step reshards, reads, lists or forgets. */
  describe("over a random history of reshards, listings and restarts") {
    it("every shard is read once, parents first, and the offset stays small") {
      forAll(Gen.choose(Long.MinValue, Long.MaxValue)) { seed =>
        val history = new History(new Random(seed))
        (0 until 60).foreach(_ => history.step())
        history.finish()
        history.read.toSet shouldBe history.all.map(_.id).toSet
        history.read.distinct.size shouldBe history.read.size
        for (s <- history.all; p <- s.parents) history.read.indexOf(p) should be < history.read.indexOf(s.id)
        // Nothing but open shards, and the last finished ones that wait for a listing.
        history.offset.streams(stream).shards.count(_._2.position != ShardEnd) shouldBe history.all.count(!_.closed)
        history.largestOffset should be <= history.mostAlive * 3 + 4
      }
    }
  }

  private final class History(random: Random) {
    var all: Vector[Shard]    = Vector(shardOf(0, closed = false), shardOf(1, closed = false))
    var read: Vector[String]  = Vector.empty
    var largestOffset: Int    = 0
    var mostAlive: Int        = 2
    private var listing       = all
    var offset: KinesisOffset = KinesisOffset.initial

    def step(): Unit = random.nextInt(6) match {
      case 0     => split()
      case 1     => merge()
      case 2     => listing = all
      case 3     => batch(_ => true)
      case 4 | 5 => batch(_ => random.nextBoolean())
    }

    /** Lists and reads until nothing moves. */
    def finish(): Unit = {
      var before = KinesisOffset.initial
      while (before != offset || read.toSet != all.map(_.id).toSet && random.nextInt(1000) != 0) {
        before = offset
        listing = all
        batch(_ => true)
      }
      batch(_ => true)
    }

    private def open = all.filter(!_.closed)

    private def split(): Unit = {
      val parent = open(random.nextInt(open.size))
      close(parent)
      all =
        all :+ shardOf(all.size, closed = false, index(parent)) :+ shardOf(all.size + 1, closed = false, index(parent))
      mostAlive = math.max(mostAlive, open.size)
    }

    private def merge(): Unit = if (open.size > 1) {
      val Seq(a, b) = random.shuffle(open).take(2): @unchecked
      close(a)
      close(b)
      all = all :+ shardOf(all.size, closed = false, index(a), index(b))
    }

    private def index(shard: Shard) = all.indexWhere(_.id == shard.id)

    private def close(shard: Shard): Unit = all = all.map(s => if (s.id == shard.id) s.copy(closed = true) else s)

    /** A closed shard that is chosen is read to its end, an open one a little further. */
    private def batch(chosen: ShardKey => Boolean): Unit = {
      val lineage  = Lineage(listing)
      val frontier = Frontier(
        offset,
        Map(stream -> Frontier.Stream(1L, lineage, lineage.roots.map(_ -> TrimHorizon)))
      )
      val moved = frontier.reading.collect {
        case (shard, _) if chosen(shard) && all.exists(s => s.id == shard.shardId && s.closed) => shard -> ShardEnd
        case (shard, _) if chosen(shard)                                                       => shard -> reading
      }
      val end    = frontier.end(moved)
      val ranges = offset.rangesTo(end)
      // The records of a shard are here one event: its being begun.
      read = read ++ ranges.filter(r => r.start == TrimHorizon).map(_.shard.shardId)
      offset = OffsetJson.read(OffsetJson.write(end))
      largestOffset = math.max(largestOffset, offset.streams(stream).shards.size)
    }
  }
}
