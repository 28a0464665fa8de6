package io.github.kinesisspark.it.soak

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import scala.concurrent.duration._

/** The soak's checker, given wrong histories. */
final class LedgerSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private def ledgerOf(entries: Entry*): Ledger = entries.foldLeft(Ledger.empty)(_ take _)
  private def one(numbers: Long*): Ledger       = ledgerOf(numbers.map(Entry(1, _))*)

  private def row(shard: Int, key: Int, number: Long) = Row(s"shard-$shard", s"$key$number", Entry(key, number))

  it("reads an entry as it was written") {
    val entry = Entry(7, 1L << 40)
    Entry.read(entry.data) shouldBe entry
  }

  describe("a ledger") {
    it("finds nothing wrong with keys that come in order, however they are mixed") {
      val history = ledgerOf(Entry(1, 1), Entry(2, 1), Entry(2, 2), Entry(1, 2), Entry(1, 3))
      history.unfinished(Map(1 -> 3L, 2 -> 2L)) shouldBe empty
      (history.wrongs, history.records) shouldBe ((Vector.empty, 5))
    }

    it("finds what is lost: at the beginning, in between, at the end, and a whole key") {
      one(3, 4, 8).unfinished(Map(1 -> 9L, 2 -> 2L)) shouldBe
        Vector(Wrong.Lost(1, 1, 2), Wrong.Lost(1, 5, 7), Wrong.Lost(1, 9, 9), Wrong.Lost(2, 1, 2))
    }

    it("finds what is doubled, at once and later") {
      one(1, 1).wrongs shouldBe Vector(Wrong.Doubled(Entry(1, 1)))
      one(1, 2, 3, 2).wrongs shouldBe Vector(Wrong.Doubled(Entry(1, 2)))
      one(1, 2, 2, 2).doubled shouldBe 2
    }

    it("finds what is reordered, which is then neither lost nor doubled") {
      val history = one(1, 4, 3, 2, 5)
      history.wrongs shouldBe Vector(Wrong.Reordered(Entry(1, 3), 4), Wrong.Reordered(Entry(1, 2), 4))
      (history.reordered, history.doubled) shouldBe ((2, 0))
      history.unfinished(Map(1 -> 5L)) shouldBe empty
    }

    it("finds that a reordered record is doubled when it comes once more") {
      one(1, 3, 2, 2).wrongs shouldBe Vector(Wrong.Reordered(Entry(1, 2), 3), Wrong.Doubled(Entry(1, 2)))
    }

    it("finds what nobody wrote") {
      one(1, 2).unfinished(Map(1 -> 1L)) shouldBe Vector(Wrong.Unwritten(1, 2))
    }

    it("accounts for any history: what came and what is lost make up all that was written") {
      forAll(Gen.listOf(Gen.choose(1L, 30L))) { numbers =>
        val history = one(numbers*)
        val lost    = history.unfinished(Map(1 -> 30L)).collect { case Wrong.Lost(_, from, to) => from to to }.flatten
        lost shouldBe (1L to 30L).filterNot(numbers.toSet)
        history.doubled shouldBe numbers.size - numbers.distinct.size
        val first = numbers.distinct
        history.reordered shouldBe first.indices.count(i => first.take(i).exists(_ > first(i)))
      }
    }
  }

  describe("a sink") {
    it("takes a batch once") {
      val sink = new LedgerSink
      val rows = Vector(row(1, 1, 1), row(2, 2, 1), row(1, 1, 2))
      sink.add(0, rows)
      sink.add(0, rows.sortBy(_.shardId))
      (sink.ledger.records, sink.ledger.wrongs, sink.batches, sink.replayed) shouldBe ((3, Vector.empty, 1, 1))
    }

    it("finds a batch that comes again with other rows, or in another order") {
      val rows = Vector(row(1, 1, 1), row(1, 1, 2))
      for (other <- Seq(rows.take(1), rows.reverse, rows :+ row(2, 2, 1))) {
        val sink = new LedgerSink
        sink.add(0, rows)
        sink.add(0, other)
        sink.ledger.wrongs shouldBe Vector(Wrong.Changed(0))
      }
    }

    it("finds a batch that comes again after a later one") {
      val sink = new LedgerSink
      sink.add(0, Vector(row(1, 1, 1)))
      sink.add(1, Vector(row(1, 1, 2)))
      sink.add(0, Vector(row(1, 1, 1)))
      sink.ledger.wrongs shouldBe Vector(Wrong.Changed(0))
    }

    it("tells when enough has come, or that it has not") {
      val sink = new LedgerSink
      sink.await(1, 1.milli) shouldBe false
      sink.add(0, Vector(row(1, 1, 1)))
      sink.await(1, 1.milli) shouldBe true
    }
  }
}
