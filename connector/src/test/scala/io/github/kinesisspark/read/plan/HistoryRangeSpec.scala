package io.github.kinesisspark.read.plan

import scala.util.Random

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position._
import io.github.kinesisspark.position.ShardPosition._

class HistoryRangeSpec extends AnyFunSpec with Matchers with AfterNumbers with ScalaCheckPropertyChecks {
  private def listed(id: Int, parents: Int*) =
    Shard(shardId(id), parents.map(shardId), HashKeyRange(0, 1), closed = false)
  private def at(positions: (Int, ShardPosition)*) = positions.map { case (id, position) =>
    shardId(id) -> position
  }.toMap
  private def piece(id: Int, a: ShardPosition, b: ShardPosition) = HistoryRange.Piece(shardId(id), a, b)

  describe("the range of history between two sets of positions") {
    it("is every record in between once, in any history of reshards") {
      forAll(seeds, minSuccessful(500)) { seed =>
        val random       = new Random(seed)
        val stream       = new StreamModel(random, shards = 1 + random.nextInt(4))
        def live(): Unit = (0 until random.nextInt(40)).foreach { _ =>
          stream.pass()
          random.nextInt(10) match {
            case 0 => stream.split()
            case 1 => stream.merge()
            case 2 => stream.double()
            case _ => stream.put()
          }
        }
        def now() = stream.open
          .map(s => s.id -> s.records.lastOption.fold[ShardPosition](TrimHorizon)(r => after(r.number)))
          .toMap
        live()
        val start  = now()
        val before = stream.all.flatMap(_.records).map(_.number).toSet
        live()
        val end     = now()
        val between = stream.all.flatMap(_.records).map(_.number).filterNot(before)
        live()
        val found =
          HistoryRange.between(Lineage(stream.listing), start, end).getOrElse(fail("said to be in the wrong order"))
        found.unlisted shouldBe empty
        found.pieces.flatMap { piece =>
          stream
            .records(piece.shardId)
            .map(_.number)
            .filter(n => piece.start.isBefore(after(n)) && !piece.end.isBefore(after(n)))
        }.sorted shouldBe between.sorted
        // Parents come first.
        val places = found.pieces.map(_.shardId)
        for (p <- found.pieces; parent <- Lineage(stream.listing).parentsOf(p.shardId) if places.contains(parent))
          places.indexOf(parent) should be < places.indexOf(p.shardId)
        if (between.nonEmpty) HistoryRange.between(Lineage(stream.listing), end, start) shouldBe a[Left[_, _]]
      }
    }

    it("is empty between equal positions") {
      val lineage = Lineage(Seq(listed(0), listed(1, 0), listed(2, 0)))
      val here    = at(0 -> after(5))
      HistoryRange.between(lineage, here, here) shouldBe Right(HistoryRange.Found(Vector.empty, Vector.empty))
    }

    it("is finished parents from their start, and children up to the end") {
      val lineage = Lineage(Seq(listed(0), listed(1, 0), listed(2, 0)))
      HistoryRange.between(lineage, at(0 -> after(5)), at(1 -> after(9), 2 -> TrimHorizon)) shouldBe
        Right(HistoryRange.Found(Vector(piece(0, after(5), ShardEnd), piece(1, TrimHorizon, after(9))), Vector.empty))
    }

    it("is refused with the shards whose end precedes the start") {
      val lineage = Lineage(Seq(listed(0), listed(1, 0)))
      HistoryRange.between(lineage, at(0 -> after(5)), at(0 -> after(4))) shouldBe Left(Vector(shardId(0)))
      HistoryRange.between(lineage, at(1 -> after(9)), at(0 -> after(4))) shouldBe Left(Vector(shardId(0), shardId(1)))
    }

    it("names shards that are not listed, which may be past retention, and has their pieces") {
      val lineage = Lineage(Seq(listed(1, 0)))
      HistoryRange.between(lineage, at(0 -> after(5)), at(1 -> after(9))) shouldBe Right(
        HistoryRange.Found(
          Vector(piece(1, TrimHorizon, after(9)), piece(0, after(5), ShardEnd)),
          unlisted = Vector(shardId(0))
        )
      )
      HistoryRange.between(lineage, at(1 -> TrimHorizon), at(0 -> after(5))) shouldBe Left(
        Vector(shardId(0), shardId(1))
      )
    }
  }

  it("positions cover a history once they name each shard without a named ancestor or descendant") {
    val lineage = Lineage(Seq(listed(0), listed(1, 0), listed(2, 1), listed(3)))
    HistoryRange.uncovered(lineage, at(1 -> after(5))) shouldBe Vector(shardId(3))
    HistoryRange.uncovered(lineage, at(1 -> after(5), 3 -> TrimHorizon)) shouldBe empty
  }
}
