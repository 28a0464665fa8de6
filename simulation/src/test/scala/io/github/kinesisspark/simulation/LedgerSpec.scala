package io.github.kinesisspark.simulation

import scala.collection.mutable

import org.scalatest.LoneElement
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.position.ShardPosition.{
  AfterSequenceNumber,
  AtSequenceNumber,
  AtTimestamp,
  ShardEnd,
  TrimHorizon
}
import io.github.kinesisspark.position._

class LedgerSpec extends AnyFunSpec with Matchers with LoneElement {

  /** One shard with four records, of which a query reads, and what was wrong with that. */
  private class Fixture(position: String = "TRIM_HORIZON") {
    private val query =
      QuerySettings(
        "one",
        Vector(SourceSettings(Vector("events"), None, Map("startingPosition" -> position))),
        Vector(RunSettings(Trigger.Continuous(None), 1L << 20, sink = None, Map.empty))
      )
    private val plan  = Plan.of(1)
    private val world = new World(
      plan.copy(settings =
        plan.settings.copy(
          streams = Vector("events" -> 1),
          queries = Vector(query),
          kinesis = Kinesis.Settings(arrivalsBackMillis = 0)
        )
      ),
      new Trace
    )
    val stream                             = world.stream("events")
    val wrong: mutable.ArrayBuffer[String] = mutable.ArrayBuffer.empty
    private val ledger                     = new Ledger(world, query, wrong += _)
    val source: SourceLedger               = ledger.sources.head
    def isComplete: Boolean                = ledger.isComplete
    val shard: Kinesis.Shard               = stream.open.head
    (0 until 4).foreach(i => stream.put(0, s"r$i"))

    def key(of: Kinesis.Shard): ShardKey                  = ShardKey(world.arnOf("events"), of.id)
    def rows(of: Kinesis.Shard, which: Int*): Vector[Row] =
      which.toVector.map(i => Row("events", of.id, of.records(i).number, of.records(i).text))
    def after(i: Int): ShardPosition = AfterSequenceNumber(SequenceNumber(shard.records(i).number.toString))
    def range(from: ShardPosition, to: ShardPosition): ShardRange = ShardRange(key(shard), from, to)
    def offset(shards: (Kinesis.Shard, ShardProgress)*): String   = OffsetJson.write(
      KinesisOffset(
        Map(world.arnOf("events") -> StreamOffset(1L, shards.map { case (of, progress) => of.id -> progress }))
      )
    )
    def at(position: ShardPosition): ShardProgress = ShardProgress(position)
    val begin: String                              = offset(shard -> ShardProgress(TrimHorizon, Some(TrimHorizon)))
    val initial: String                            = OffsetJson.write(KinesisOffset.initial)
    def planned(from: String, to: String): Unit    = source.planned(from, to, World.Epoch, isRealTime = false)

    def ran(to: String, tasks: Vector[ShardRange], read: Vector[Row]): Unit =
      source.ran(0, begin, to, tasks, read, isRealTime = false)
    def committed(batch: Int, read: Vector[Row]): Unit = source.committed(batch, read, isRealTime = false)
  }

  describe("a query that reads all records once") {
    it("has nothing wrong, and is complete") {
      new Fixture {
        planned(initial, begin)
        planned(begin, offset(shard -> at(after(3))))
        val all: Vector[Row] = rows(shard, 0, 1, 2, 3)
        source.readBy(Vector(range(TrimHorizon, after(3))), all)
        ran(offset(shard -> at(after(3))), Vector(range(TrimHorizon, after(3))), all)
        isComplete shouldBe false
        committed(0, all)
        wrong shouldBe empty
        isComplete shouldBe true
      }
    }
  }

  describe("what is reported") {
    it("is a record that a task leaves out, reads twice, or reads out of order") {
      for (read <- Seq(Seq(0, 1, 3), Seq(0, 1, 2, 2, 3), Seq(0, 2, 1, 3), Seq(0, 1, 2)))
        new Fixture {
          source.readBy(Vector(range(TrimHorizon, after(3))), rows(shard, read: _*))
          withClue(read)(wrong should not be empty)
        }
    }

    it("is a record that an attempt leaves out before others that it takes") {
      new Fixture {
        val its: Vector[ShardRange] = Vector(range(TrimHorizon, after(2)), range(after(2), after(3)))
        Seq(Seq.empty, Seq(0), Seq(0, 1, 2), Seq(0, 1, 2, 3)).foreach(read =>
          source.readInPart(its, rows(shard, read: _*))
        )
        wrong shouldBe empty
        Seq(Seq(1), Seq(0, 2), Seq(0, 1, 3), Seq(0, 0)).foreach(read => source.readInPart(its, rows(shard, read: _*)))
        wrong should have size 4
      }
    }

    it("is a record that was there when a program began to wait for all") {
      new Fixture {
        planned(initial, begin)
        committed(0, rows(shard, 0, 1, 3))
        source.has(Map(key(shard) -> 2), "processAllAvailable() returns, and", "there when it was called")
        wrong shouldBe empty
        source.has(Map(key(shard) -> 4), "processAllAvailable() returns, and", "there when it was called")
        wrong.loneElement should include("has not read 1 records")
      }
    }

    it("is a record that is in two batches") {
      new Fixture {
        committed(0, rows(shard, 0, 1))
        committed(1, rows(shard, 1, 2))
        wrong.loneElement should include("comes again")
      }
    }

    it("is a batch that has other records when it runs again, and one whose tasks do not cover it") {
      new Fixture {
        val to: String = offset(shard -> at(after(3)))
        ran(to, Vector(range(TrimHorizon, after(3))), rows(shard, 0, 1, 2, 3))
        ran(to, Vector(range(TrimHorizon, after(3))), rows(shard, 0, 1, 3))
        ran(to, Vector(range(TrimHorizon, after(1))), rows(shard, 0, 1, 2, 3))
        wrong.mkString("\n") should (include("than when it ran before") and include("do not cover"))
      }
    }

    it("is a shard that goes back, is left out before its end, or begins before its parent has ended") {
      new Fixture {
        stream.split(shard)
        val child: Kinesis.Shard = stream.open.head
        planned(offset(shard -> at(after(2))), offset(shard -> at(after(1))))
        planned(offset(shard -> at(after(2))), offset(child -> at(TrimHorizon)))
        planned(offset(shard -> at(after(2))), offset(shard -> at(ShardEnd), child -> at(TrimHorizon)))
        wrong should have size 4
        Seq("goes back", "is left out", "begins before").foreach(what => wrong.mkString("\n") should include(what))
      }
    }

    it("is a shard that begins later than with the first record since the query's time") {
      new Fixture(s"AT_TIMESTAMP:${World.Epoch}") {
        private def begunAt(i: Int) =
          offset(
            shard -> ShardProgress(after(3), Some(AtSequenceNumber(SequenceNumber(shard.records(i).number.toString))))
          )
        val time: String = offset(shard -> at(AtTimestamp(shard.records.head.arrived)))
        planned(initial, time)
        planned(time, begunAt(0))
        wrong shouldBe empty
        planned(time, begunAt(1))
        wrong.loneElement should include("record 0 arrived in time")
      }
    }

    it("is a first batch that begins elsewhere than the query's options say, or lacks a shard") {
      val early = AtTimestamp(World.Epoch - 5000)
      val late  = AtTimestamp(World.Epoch + 5000)
      for (
        (position, right, wrongly) <- Seq(
          ("TRIM_HORIZON", TrimHorizon, Seq(AtTimestamp(World.Epoch), ShardEnd)),
          ("LATEST", AtTimestamp(World.Epoch), Seq(TrimHorizon, early, late)),
          (s"AT_TIMESTAMP:${early.epochMillis}", early, Seq(TrimHorizon, AtTimestamp(World.Epoch))),
          (s"""{"events": {"${Kinesis.shardId(0)}": "TRIM_HORIZON"}}""", TrimHorizon, Seq(AtTimestamp(World.Epoch)))
        )
      ) new Fixture(position) {
        planned(initial, offset(shard -> at(right)))
        withClue(position)(wrong shouldBe empty)
        wrongly.foreach(other => planned(initial, offset(shard -> at(other))))
        withClue(position)(wrong should have size wrongly.size.toLong)
        planned(initial, offset())
        wrong.last should include("has neither")
      }
    }

    it("is a child's record in a batch before its parent's last") {
      new Fixture {
        stream.split(shard)
        val child: Kinesis.Shard = stream.put(0, "r4")
        planned(initial, begin)
        committed(0, rows(shard, 0, 1, 2) ++ rows(child, 0))
        wrong.loneElement should include("is not read")
      }
    }
  }
}
